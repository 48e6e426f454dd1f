"""The first stage of a run that sees pixels: get a perception, and keep a copy in its folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from smorl.config import to_json
from smorl.errors import InvalidInput
from smorl.perception.scalor.weights import (
    FILE,
    PerceptionWeights,
    load_perception,
    load_weights,
    save_weights,
)
from smorl.training.perception import PerceptionTrainer
from smorl.training.perception_data import Source
from smorl.training.perception_settings import PerceptionConfig
from smorl.training.run_dir import RunDir
from smorl.training.settings import RunConfig
from smorl.training.trainer import Reporter

PERCEPTION = "perception.safetensors"  # the copy that belongs to the run
FOLDER = "perception"  # the perception's own run folder, where it is trained first

Train = Callable[[PerceptionTrainer], dict | None]


def obtain_perception(
    config: RunConfig, path: Path, preset: PerceptionConfig | None, train: Train, reporter: Reporter
) -> PerceptionWeights | None:
    """Return the perception of the run in `path`, trained first if need be (Alg. 2, lines 1-3).

    `preset` is what to train if `config.perception` names a preset; `train(trainer)` runs it and
    returns None if it was asked to stop, and then so does this function.
    """
    own = path / PERCEPTION
    if own.exists():
        return load_weights(own)
    if config.perception is None:
        raise InvalidInput(
            f"method {config.method} sees pixels and needs a perception: --perception scalor-2 "
            "trains one first, shipped:scalor-2 or a perception run reuse one."
        )
    if preset is None:
        weights = load_perception(config.perception)
        save_weights(own, weights)
        return weights
    command = f"smorl perception train {config.perception} --seed {config.seed}"
    with RunDir.open(path / FOLDER, to_json(preset), command) as run:
        if run.result is None:
            trainer = PerceptionTrainer(preset, run, reporter, Source(), command)
            result = train(trainer)
            if result is None:
                return None
            run.write_result(result)
            trainer.clean()
    temporary = own.with_name(f".tmp-{own.name}-{os.getpid()}")
    shutil.copyfile(path / FOLDER / FILE, temporary)
    temporary.replace(own)
    return load_weights(own)
