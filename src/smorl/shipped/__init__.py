"""Trained perception that comes with the package, by name: `shipped:scalor-2`.

Every file is `<name>.safetensors`, as `smorl perception train` wrote it; results/ holds its
evaluation and the command that made it.
"""

from pathlib import Path

from smorl.errors import InvalidInput, did_you_mean

PREFIX = "shipped:"
SUFFIX = ".safetensors"


def names(folder: Path | None = None) -> list[str]:
    """Return the names that exist, e.g. `scalor-2`."""
    folder = Path(__file__).parent if folder is None else folder
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def is_shipped(name: str) -> bool:
    """Say whether a run is named by `shipped:...`."""
    return name.startswith(PREFIX)


def resolve(name: str, folder: Path | None = None) -> Path:
    """Return the weights file of `shipped:scalor-2`, or raise saying which ones exist."""
    folder = Path(__file__).parent if folder is None else folder
    short, known = name.removeprefix(PREFIX), names(folder)
    if short not in known:
        listed = ", ".join(PREFIX + n for n in known) or "none"
        raise InvalidInput(
            f"no weights called {name!r} come with the package.{did_you_mean(short, known)} "
            f"These do: {listed}. `smorl perception train` makes others."
        )
    return folder / f"{short}{SUFFIX}"
