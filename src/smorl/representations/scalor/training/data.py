"""The data of a perception run: its own, collected once into the run folder, or one given."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.errors import InvalidInput
from smorl.files import TEMPORARY, make_folder
from smorl.representations.own_video import load_video
from smorl.representations.scalor.training.contact import Toucher, collect_contact
from smorl.representations.scalor.training.settings import PerceptionConfig
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.video import Progress, Sequences, collect
from smorl.representations.video_files import load_sequences, obtain_sequences, save_sequences
from smorl.runs.reporter import Reporter

FOLDER, PUSHES = "data", "pushes"


class Stopped(Exception):
    """Leaves the collection when the user asked to stop."""


@dataclass(frozen=True)
class Source:
    """Where the data comes from: a folder collected earlier, or None for the run's own."""

    folder: Path | None = None
    keep: bool = False  # leave the run's own data on the disk at the end
    video: Path | None = None  # a person's own pictures; see `smorl.representations.own_video`


def open_sequences(
    config: PerceptionConfig,
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
    own, settings = run / FOLDER, config.data
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


def pushes(config: PerceptionConfig, run: Path, source: Source) -> Sequences | None:
    """Return the second round of the run's own data, if it has been collected."""
    folder = run / FOLDER / PUSHES
    if source.folder is not None or source.video is not None or not folder.exists():
        return None
    return load_sequences(folder)


def collect_pushes(
    config: PerceptionConfig,
    run: Path,
    weights: PerceptionWeights,
    data: Sequences,
    reporter: Reporter,
    stopped: Callable[[], bool],
) -> Sequences:
    """Collect the second round with the model so far; random motion where it finds no hand."""
    settings, toucher = config.data, Toucher.fit(weights, data)
    folder, progress = run / FOLDER / PUSHES, _progress(reporter, stopped)
    if toucher is None:
        reporter.note("No hand is seen to move things yet: more random motion instead of pushes.")
        more = collect(
            config.env,
            settings.pushed,
            settings.steps,
            config.seed + 1,
            threads=config.threads,
            progress=progress,
            image_size=config.scalor.image_size,
        )
    else:
        reporter.note(f"Collecting {settings.pushed} episodes in which things are pushed.")
        more = collect_contact(
            config.env,
            weights.tracker(),
            toucher,
            settings.pushed,
            settings.steps,
            config.seed,
            threads=config.threads,
            progress=progress,
            image_size=config.scalor.image_size,
        )
    save_sequences(folder, more)
    return load_sequences(folder, verify=False)


def together(one: Sequences, two: Sequences | None) -> Sequences:
    """Return both rounds as one, the random one first."""
    if two is None:
        return one
    pairs = ((one.images, two.images), (one.actions, two.actions))
    return Sequences(one.env, one.seed, *(np.concatenate(pair) for pair in pairs))


def _progress(reporter: Reporter, stopped: Callable[[], bool]) -> Progress:
    def progress(done: int, total: int) -> None:
        if stopped():
            raise Stopped
        reporter.note(f"{done} of {total} episodes collected.")

    return progress


def remove_sequences(run: Path) -> None:
    """Remove the run's own data; a resume would collect the very same again."""
    shutil.rmtree(run / FOLDER, ignore_errors=True)


def _given(config: PerceptionConfig, folder: Path) -> Sequences:
    data = load_sequences(folder)
    if data.env != config.env:
        raise InvalidInput(
            f"--data {folder} was collected in {data.env}, this run is about {config.env}; "
            f"give other data, or --env {data.env}."
        )
    return data
