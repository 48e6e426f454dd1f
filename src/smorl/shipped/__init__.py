"""Trained weights that come with the package, by name.

Perception, `shipped:scalor-2`: `scalor-2.safetensors` as `smorl perception train` wrote it.
Agents, `shipped:visual-rearrange-1`: `agents/visual-rearrange-1.safetensors`, made by
`smorl export` and named after their presets. results/ holds the evaluations and the commands.
"""

from pathlib import Path

from smorl.errors import InvalidInput, did_you_mean

PREFIX = "shipped:"
SUFFIX = ".safetensors"
_HERE = Path(__file__).parent
_AGENTS = _HERE / "agents"


def names(folder: Path | None = None) -> list[str]:
    """Return the names of perceptions that exist, e.g. `scalor-2`."""
    return _names(_HERE if folder is None else folder)


def agent_names(folder: Path | None = None) -> list[str]:
    """Return the names of agents that exist, e.g. `visual-rearrange-1`."""
    return _names(_AGENTS if folder is None else folder)


def is_shipped(name: str) -> bool:
    """Say whether a run is named by `shipped:...`."""
    return name.startswith(PREFIX)


def resolve(name: str, folder: Path | None = None) -> Path:
    """Return the weights file of `shipped:scalor-2`, or raise saying which ones exist."""
    folder = _HERE if folder is None else folder
    return _resolve(name, folder, "weights", "`smorl perception train` makes others.")


def resolve_agent(name: str, folder: Path | None = None) -> Path:
    """Return the file of `shipped:visual-rearrange-1`, or raise saying which ones exist."""
    folder = _AGENTS if folder is None else folder
    return _resolve(name, folder, "agents", "`smorl train` makes others.")


def _names(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def _resolve(name: str, folder: Path, kind: str, remedy: str) -> Path:
    short, known = name.removeprefix(PREFIX), _names(folder)
    if short not in known:
        listed = ", ".join(PREFIX + n for n in known) or "none"
        raise InvalidInput(
            f"no {kind} called {name!r} come with the package.{did_you_mean(short, known)} "
            f"These do: {listed}. {remedy}"
        )
    return folder / f"{short}{SUFFIX}"
