"""What `import smorl` offers; docs/library.md shows it in use. The command line calls this too.

Nothing here prints except progress, which `progress=False` switches off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from smorl.config import override
from smorl.devices import DeviceName
from smorl.errors import InvalidInput
from smorl.plugins import trust_named
from smorl.presets import get_preset
from smorl.presets.perception import get_perception_preset
from smorl.representations.base import Perception
from smorl.representations.pretraining import PerceptionConfig, Source
from smorl.trained.loading import LoadedRun, load_run
from smorl.training.settings import RunConfig, customised


def train(
    preset: str | RunConfig,
    *,
    seed: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **overrides: Any,
) -> dict[str, Any] | None:
    """Train an agent in the run folder `out`, or resume it there; return its result.

    `preset` is a name of `smorl presets` or a whole `RunConfig`. Settings are overridden by name,
    dots written as two underscores: `train("gt-rearrange-2", learner__lr=1e-3)`. Ctrl-C saves and
    returns None; the same call goes on.
    """
    from smorl.library.running import run_training

    trust_named(_texts(overrides).values())
    config = make_config(preset, seed, overrides)
    name = preset if isinstance(preset, str) else config.method
    path = Path(out) if out is not None else default_folder(name, config)
    command = f"smorl.train({name!r}, seed={config.seed}, out={str(path)!r})"
    return run_training(config, path, command, quiet=not progress).result


def load(
    name: str | Path,
    env: str | None = None,
    *,
    threads: int | None = 1,
    device: DeviceName = "cpu",
) -> LoadedRun:
    """Open a run folder, a file of `smorl export` or `shipped:visual-rearrange-1` to act.

    `env` names another environment to act in than its own. `threads` is how many threads torch
    may use in this process (None: as it is): these networks are small, and more threads only wait
    for each other. It computes on `device`, wherever it was trained.
    """
    use_threads(threads)
    trust_named([] if env is None else [env])
    return load_run(name, env, device=device)


def load_perception(name: str | Path, *, threads: int | None = 1) -> Perception:
    """Open `shipped:scalor-2`, a perception run or its weights file; `.track(frames)` uses it."""
    from smorl.representations.perceptions import load_perception as load_weights

    use_threads(threads)
    return load_weights(name)


def train_perception(
    preset: str | PerceptionConfig,
    *,
    video: str | Path | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **overrides: Any,
) -> dict[str, Any] | None:
    """Train SCALOR on random-policy data, or on a person's own `video`; return its result.

    `video` is a folder of pictures, a film or an .npz file (`smorl.representations.own_video`).
    """
    from smorl.library.running import run_perception

    build = get_perception_preset(preset).build() if isinstance(preset, str) else preset
    trust_named(_texts(overrides).values())
    config = override(build, _texts(overrides))
    source = Source(video=None if video is None else Path(video))
    name = preset if isinstance(preset, str) else "perception"
    path = Path(out) if out is not None else Path("runs") / f"{name}-seed{config.seed}"
    command = f"smorl.train_perception({name!r}, out={str(path)!r})"
    return run_perception(config.fitted(source), path, source, command, not progress).result


def use_threads(threads: int | None) -> None:
    """Set how many threads torch uses in this process; None leaves it alone."""
    if threads is not None:
        if threads < 1:
            raise InvalidInput(f"threads is {threads}; use 1 or more.")
        torch.set_num_threads(threads)


def make_config(preset: str | RunConfig, seed: int | None, overrides: dict[str, Any]) -> RunConfig:
    """Return the settings of a run: a preset's, changed by name."""
    base = get_preset(preset).build() if isinstance(preset, str) else preset
    given = _texts(overrides) | ({} if seed is None else {"seed": str(seed)})
    if given.get("perception") == "shipped":  # the one that comes with the package
        given["perception"] = f"shipped:{base.perception}"
    return customised(base, given)


def default_folder(name: str, config: RunConfig) -> Path:
    """Return where a run goes if nobody says: runs that differ in the reward do not share."""
    suffix = "-tracking" if config.goals.reward == "tracking" else ""
    return Path("runs") / f"{name}{suffix}-seed{config.seed}"


def _texts(overrides: dict[str, Any]) -> dict[str, str]:
    """Turn keyword arguments into the text of options: `learner__lr=1e-3` is `learner.lr`."""
    return {name.replace("__", "."): str(value) for name, value in overrides.items()}
