"""A user's own parts, named as text so that a run can record them: `module:name`.

`module` is importable (the current folder counts) or the path of a Python file; `name` is an
environment id, a method or the settings of a learner in it.

Importing runs code, and names come out of files as well: a run folder or weights that somebody
sent. So a module is imported only if the user has named it (`trust`), or if it is already.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from smorl.errors import InvalidInput, NotTrusted, did_you_mean

_SHIPPED = "shipped"  # `shipped:scalor-2` names a file of the package, no module
_trusted: set[str] = set()


def is_plugin(name: str) -> bool:
    """Say whether a name is of the form `module:name`."""
    return ":" in name and not name.startswith(f"{_SHIPPED}:")


def trust(module: str) -> None:
    """Allow to import a module, named as in `module:name`, in this process: it is the user's."""
    _trusted.add(_key(module))


def trust_named(names: Iterable[str]) -> None:
    """Trust the modules of all parts among `names`, which the user has written."""
    for name in names:
        if is_plugin(name):
            trust(name.rpartition(":")[0])


def trust_command_line(words: Iterable[str]) -> None:
    """Trust the parts that a command line names: `--env parts.py:Env-v0`, `method=a:X,b:Y`.

    A word that is the name of a file or folder names that one, whatever it looks like: a folder
    that came from elsewhere has a name that somebody else has chosen.
    """
    for word in words:
        trust_named(part for part in re.split("[=,]", word) if not _exists(part))


def load_module(name: str) -> ModuleType:
    """Import a module by its dotted name, or by the path of its file, if the user trusts it."""
    path = Path(name)
    if not _is_allowed(name):
        raise NotTrusted(
            f"{name!r:.200} is Python code of somebody's own, and using it here would run it. If "
            f"you trust who made it, say so: --trust {name}, or in Python smorl.trust({name!r})."
        )
    if path.suffix == ".py":
        return _load_file(path)
    if not all(part.isidentifier() for part in name.split(".")):
        raise _no_module(name)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{name}.".startswith(f"{error.name}."):
            raise  # something that the module itself needs is missing
        raise _no_module(name) from error


def load(name: str) -> Any:
    """Return what `module:name` names."""
    module, _, attribute = name.rpartition(":")
    found = load_module(module)
    if not hasattr(found, attribute):
        hint = did_you_mean(attribute, [known for known in vars(found) if known[0] != "_"])
        raise InvalidInput(f"{module} has no {attribute!r}.{hint}")
    return getattr(found, attribute)


def _is_allowed(name: str) -> bool:
    """What is imported runs nothing new, and our learners are ours; the others need trust."""
    own = name.startswith("smorl.learners.")
    return own or name in sys.modules or _key(name) in _trusted


def _no_module(name: str) -> InvalidInput:
    return InvalidInput(
        f"there is no module {name!r:.200}; it must be importable from here, or be given as the "
        "path of a file: folder/file.py."
    )


def _key(module: str) -> str:
    """Return one text for all ways to write a path."""
    return str(Path(module).absolute()) if module.endswith(".py") else module


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # a name that cannot be
        return False


def _load_file(path: Path) -> ModuleType:
    name = f"smorl_plugin_{path.resolve().as_posix().replace('/', '_').removesuffix('.py')}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not _exists(str(path)) or not path.is_file():
        raise InvalidInput(f"{path} is no Python file; check the path.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
