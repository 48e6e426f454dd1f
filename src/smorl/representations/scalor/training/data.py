"""The data of a perception run: its own, collected once into the run folder, or one given."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smorl.errors import InvalidInput, RunConflict
from smorl.files import TEMPORARY, make_folder
from smorl.representations.own_video import load_video
from smorl.representations.pretraining import DATA, Source, Stopped
from smorl.representations.scalor.training.contact import Toucher, collect_contact
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.weights import load_weights
from smorl.representations.video import Progress, Sequences, collect, describe
from smorl.representations.video_files import load_sequences, obtain_sequences, save_sequences
from smorl.runs.reporter import Reporter

PUSHES = "pushes"
PUSHER = "pusher.safetensors"  # the model that collected the second round


def fitted(config: ScalorTrainingConfig, source: Source) -> ScalorTrainingConfig:
    """Return settings that say what the data is, where it exists."""
    if source.folder is not None:
        data = load_sequences(source.folder, verify=False)
    elif source.video is not None:
        data = load_video(source.video, config.scalor.image_size)
        config = replace(config, env=data.env)
    else:
        return config
    lengths = tuple(min(length, data.steps + 1) for length in config.optimise.lengths)
    return replace(
        config,
        data=replace(config.data, episodes=data.episodes, steps=data.steps, contact=0.0),
        optimise=replace(config.optimise, lengths=lengths),
    )


def open_sequences(
    config: ScalorTrainingConfig,
    run: Path,
    source: Source,
    reporter: Reporter,
    stopped: Callable[[], bool],
) -> Sequences:
    """Return the data, collecting it first if this run has none; `Stopped` ends that early."""
    if source.folder is not None:
        return _given(config, source.folder)
    if source.video is not None:
        return load_video(source.video, config.scalor.image_size)
    own, settings = run / DATA, config.data
    for leftover in own.glob(f"{TEMPORARY}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    make_folder(own)
    episodes = settings.episodes - settings.pushed
    if not (own / "sequences").exists():
        reporter.note(f"Collecting {episodes} episodes of {settings.steps} steps.")
    return obtain_sequences(
        own / "sequences",
        config.env,
        episodes,
        settings.steps,
        config.seed,
        threads=config.threads,
        progress=_progress(reporter, stopped),
        image_size=config.scalor.image_size,
    )


def open_pushes(
    config: ScalorTrainingConfig,
    run: Path,
    data: Sequences,
    reporter: Reporter,
    stopped: Callable[[], bool],
) -> Sequences:
    """Return the second round of data, in which the model in `PUSHER` pushes its objects about.

    It is collected if it is not there (any more), always the same; as random motion where the
    model finds no hand.
    """
    folder = run / DATA / PUSHES
    if folder.exists():
        return load_sequences(folder)
    settings, weights = config.data, load_weights(run / PUSHER)
    toucher = Toucher.fit(weights, data)
    common: dict[str, Any] = {
        "episodes": settings.pushed,
        "steps": settings.steps,
        "threads": config.threads,
        "progress": _progress(reporter, stopped),
        "image_size": config.scalor.image_size,
    }
    if toucher is None:
        reporter.note("No hand is seen to move things yet: more random motion instead of pushes.")
        more = collect(config.env, seed=config.seed + 1, **common)
    else:
        reporter.note(f"Collecting {settings.pushed} episodes in which things are pushed.")
        more = collect_contact(config.env, weights.tracker(), toucher, seed=config.seed, **common)
    save_sequences(folder, more)
    return load_sequences(folder, verify=False)


def together(one: Sequences, two: Sequences) -> Sequences:
    """Return both rounds as one, the random one first."""
    images = np.concatenate((one.images, two.images))
    return Sequences(one.env, one.seed, images, np.concatenate((one.actions, two.actions)))


def require_same_data(run: Path, recorded: dict[str, Any], data: Sequences) -> None:
    """Raise if a run was started with other data than it would go on with."""
    if recorded != describe(data):
        raise RunConflict(
            f"Run {run} was started with other data ({recorded}), not with {describe(data)}; give "
            "the same --data to resume it."
        )


def _progress(reporter: Reporter, stopped: Callable[[], bool]) -> Progress:
    def progress(done: int, total: int) -> None:
        if stopped():
            raise Stopped
        reporter.note(f"{done} of {total} episodes collected.")

    return progress


def _given(config: ScalorTrainingConfig, folder: Path) -> Sequences:
    data = load_sequences(folder)
    if data.env != config.env:
        raise InvalidInput(
            f"--data {folder} was collected in {data.env}, this run is about {config.env}; "
            f"give other data, or --env {data.env}."
        )
    return data
