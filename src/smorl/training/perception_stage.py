"""The first stage of a run that sees pixels: get a perception, and keep a copy in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from smorl import shipped
from smorl.config import to_json
from smorl.envs.contract import spaces_of
from smorl.envs.factory import make_envs
from smorl.errors import InvalidInput, did_you_mean
from smorl.methods import get_method
from smorl.representations.base import Perception
from smorl.representations.perceptions import (
    FILE,
    keep_perception,
    load_perception,
    read_perception,
)
from smorl.representations.pretraining import (
    PerceptionConfig,
    PerceptionTrainer,
    Source,
    remove_data,
)
from smorl.runs.folder import RunDir
from smorl.runs.reporter import Reporter
from smorl.training.settings import PERCEPTION, RunConfig

FOLDER = "perception"  # the perception's own run folder, where it is trained first

Train = Callable[[PerceptionTrainer], dict | None]


def check_perception(config: RunConfig, path: Path, presets: Iterable[str]) -> None:
    """Raise now, before anything is written, if the run in `path` could not see.

    `presets` are the names of perceptions that can be trained first.
    """
    name, method = config.perception, get_method(config.method)
    if name is not None and not method.needs_perception:
        sees = "trains a VAE of its own" if method.trains_vae else "sees no pixels"
        raise InvalidInput(
            f"method {config.method} {sees}, so --perception {name} has no use; leave it out, or "
            "choose a visual preset."
        )
    if method.visual:
        envs = make_envs(config.env, 1, 1, goal_images=False, view=config.view)
        method.check(spaces_of(envs))
        envs.close()
    if not method.needs_perception:
        return
    known = list(presets)
    if (path / PERCEPTION).exists() or name in known:
        return
    if name is None:
        raise InvalidInput(
            f"method {config.method} sees pixels and needs a perception: --perception scalor-2 "
            "trains one first, shipped:scalor-2 or a perception run reuse one."
        )
    if not shipped.is_shipped(name) and not Path(name).exists():
        raise InvalidInput(
            f"--perception {name} is neither a preset nor a run.{did_you_mean(name, known)} "
            f"Presets that are trained first: {', '.join(known)}."
        )
    load_perception(name)


def obtain_perception(
    config: RunConfig, path: Path, preset: PerceptionConfig | None, train: Train, reporter: Reporter
) -> Perception | None:
    """Return the perception of the run in `path`, trained first if need be (Alg. 2, lines 1-3).

    `config` has passed `check_perception`. `preset` is what to train if `config.perception` names a
    preset; `train(trainer)` runs it and returns None if it was asked to stop, and then so does
    this function.
    """
    own, source = path / PERCEPTION, config.perception
    if own.exists():
        return read_perception(own)
    if preset is not None:
        command = f"smorl perception train {config.perception} --seed {config.seed}"
        if not _trained(path / FOLDER, preset, command, train, reporter):
            return None
        source = path / FOLDER / FILE
    assert source is not None, "checked before"
    return keep_perception(source, own)


def _trained(
    folder: Path, preset: PerceptionConfig, command: str, train: Train, reporter: Reporter
) -> bool:
    """Train a perception in a run folder of its own, or find it trained; False if stopped."""
    with RunDir.open(folder, to_json(preset), command) as run:
        if run.result is not None:
            remove_data(folder)  # a kill right after the end leaves them behind
            return True
        trainer = preset.trainer(run, reporter, Source(), command)
        result = train(trainer)
        if result is None:
            return False
        run.write_result(result)
        trainer.clean()
        return True
