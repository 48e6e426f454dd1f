"""A user's own parts, named as text so that a run can record them: `module:name`.

`module` is importable (the current folder counts) or the path of a Python file; `name` is an
environment id, a method or the settings of a learner in it.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from smorl.errors import InvalidInput, did_you_mean


def is_plugin(name: str) -> bool:
    """Say whether a name is of the form `module:name`."""
    return ":" in name


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, or by the path of its file."""
    path = Path(name)
    if path.suffix == ".py":
        return _load_file(path)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
            raise  # something that the module itself needs is missing
        raise InvalidInput(
            f"there is no module {name!r}; it must be importable from here, or be given as the "
            "path of a file: folder/file.py."
        ) from error


def load(name: str) -> Any:
    """Return what `module:name` names."""
    module, _, attribute = name.rpartition(":")
    found = load_module(module)
    if not hasattr(found, attribute):
        hint = did_you_mean(attribute, [known for known in vars(found) if known[0] != "_"])
        raise InvalidInput(f"{module} has no {attribute!r}.{hint}")
    return getattr(found, attribute)


def _load_file(path: Path) -> ModuleType:
    name = f"smorl_plugin_{path.resolve().as_posix().replace('/', '_').removesuffix('.py')}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidInput(f"{path} is no Python file; check the path.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
