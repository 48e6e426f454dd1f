"""Trained perceptions by name, and the one table of which kinds there are.

The parts of a kind are imported when they are asked for: who reads its files when a file says that
it holds such weights, the settings of its tracker when a run has some.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from smorl import shipped
from smorl.errors import InvalidInput
from smorl.files import copy_file
from smorl.representations.base import Perception
from smorl.runs.tensor_file import kind_of

FILE = "weights.safetensors"  # in the folder of a perception run


@dataclass(frozen=True)
class Kind:
    """Where the parts of a kind of perception are, each as `module:name`."""

    read: str  # a function of a path and maybe its content that returns a `Perception`
    tracker: str  # the settings of its encoder, a dataclass of `TrackerSettings`
    study: str = ""  # a module that spoils and judges such perceptions, if there is one


KINDS = {
    "scalor": Kind(
        read="smorl.representations.scalor.weights:load_weights",
        tracker="smorl.representations.scalor.tracking.settings:TrackerConfig",
        study="smorl.representations.scalor.training.foretelling",
    )
}
_FIRST = next(iter(KINDS))


@dataclass(frozen=True)
class TrackerSettings:
    """How a run uses a trained perception; every kind has fields of its own."""

    @classmethod
    def of_kind(cls, kind: str | None) -> type[TrackerSettings]:
        """Return the settings of a kind of perception; of the first one if nothing is said."""
        name = _FIRST if kind is None else kind
        if name not in KINDS:
            raise InvalidInput(f"tracker.kind {name!r} is unknown. Known: {', '.join(KINDS)}.")
        return _load(KINDS[name].tracker)

    @classmethod
    def usual(cls) -> TrackerSettings:
        """Return the settings of a run that says nothing about them."""
        return cls.of_kind(None)()

    @classmethod
    def without(cls) -> dict[str, TrackerSettings]:
        """Return the usual settings with one part that is ours switched off, by its name."""
        return {}


def read_perception(path: Path, data: bytes | None = None) -> Perception:
    """Read a weights file, verified; `data` is its content, if it lies within another file."""
    # What says nothing of its kind is for the first one to refuse, in words.
    kind = KINDS.get(kind_of(path, data) or "", KINDS[_FIRST])
    return _load(kind.read)(path, data)


def keep_perception(name: str | Path, path: Path) -> Perception:
    """Copy the file of a perception to `path`, whole or not at all, and read it there."""
    load_perception(name)  # verified before it is kept
    copy_file(file_of(name), path)
    return read_perception(path)


def load_perception(name: str | Path) -> Perception:
    """Load `shipped:scalor-2`, the weights of a run folder, or a weights file."""
    return read_perception(file_of(name))


def settings_for(name: str | Path) -> type[TrackerSettings]:
    """Return the settings of the encoder of a perception, by its name."""
    return _load(_kind(name).tracker)


def studied(name: str | Path) -> Any:
    """Return the module that spoils, judges and saves perceptions of this one's kind."""
    kind = _kind(name)
    if not kind.study:
        raise InvalidInput(f"{name}: perceptions of this kind have no self-check to study.")
    return import_module(kind.study)


def _kind(name: str | Path) -> Kind:
    return KINDS.get(kind_of(file_of(name)) or "", KINDS[_FIRST])


def file_of(name: str | Path) -> Path:
    """Return the weights file that a name stands for; raise if there is none."""
    if shipped.is_shipped(str(name)):
        return shipped.resolve(str(name))
    path = Path(name)
    if path.is_dir():
        if not (path / FILE).is_file():
            known = (path / "config.json").is_file()
            remedy = (
                "it is not finished, or not a perception run; `smorl perception train` makes them"
                if known
                else "it is not a run; `smorl perception train` makes one"
            )
            raise InvalidInput(f"{path} has no {FILE}: {remedy}.")
        path = path / FILE
    elif not path.exists():
        listed = ", ".join(shipped.PREFIX + n for n in shipped.names()) or "none yet"
        raise InvalidInput(
            f"{path} is not a run: there is nothing of that name. `smorl perception train` makes "
            f"runs; shipped with the package: {listed}."
        )
    return path


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
