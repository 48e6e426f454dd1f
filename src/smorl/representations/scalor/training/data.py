"""The data of a perception run: its own, collected once into the run folder, or one given."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smorl.errors import InvalidInput
from smorl.files import TEMPORARY, make_folder
from smorl.representations.own_video import load_video
from smorl.representations.scalor.training.settings import PerceptionConfig
from smorl.representations.video import Sequences
from smorl.representations.video_files import load_sequences, obtain_sequences
from smorl.runs.reporter import Reporter

FOLDER = "data"


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
    if not (own / "sequences").exists():
        reporter.note(f"Collecting {settings.episodes} episodes of {settings.steps} steps.")

    def progress(done: int, total: int) -> None:
        if stopped():
            raise Stopped
        reporter.note(f"{done} of {total} episodes collected.")

    return obtain_sequences(
        own / "sequences",
        config.env,
        settings.episodes,
        settings.steps,
        config.seed,
        threads=config.threads,
        progress=progress,
        image_size=config.scalor.image_size,
    )


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
