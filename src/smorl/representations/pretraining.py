"""The contract of what is trained before a run: its settings, its data, its trainer.

A kind of perception has settings, a `PerceptionConfig` with fields of its own, and what they build.
Who trains a perception, or lets a run train one first, knows only this.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from smorl.devices import DeviceName
from smorl.ranges import within
from smorl.representations.base import Perception

if TYPE_CHECKING:
    from smorl.runs.folder import RunDir
    from smorl.runs.reporter import Reporter

HELD_OUT_SEED = 1_000_000  # of the first episode that no training sees
DATA = "data"  # in a run folder: what the run has collected itself


class Stopped(Exception):
    """Leaves the collection when the user asked to stop."""


@dataclass(frozen=True)
class Source:
    """Where the data comes from: a folder collected earlier, or None for the run's own."""

    folder: Path | None = None
    keep: bool = False  # leave the run's own data on the disk at the end
    video: Path | None = None  # a person's own pictures; see `smorl.representations.own_video`


def remove_data(run: Path) -> None:
    """Remove the run's own data; a resume would collect the very same again."""
    shutil.rmtree(run / DATA, ignore_errors=True)


class PerceptionTrainer(Protocol):
    """A perception run: `start`, then `train`; between the two it can be asked to stop."""

    run: RunDir
    stop_requested: bool

    @property
    def iteration(self) -> int:
        """Gradient steps made so far."""
        ...

    def start(self) -> bool:
        """Get the data and the newest good checkpoint; say whether there was one.

        Raises `Stopped` if it was asked to stop while it collected.
        """
        ...

    def train(self) -> dict[str, Any] | None:
        """Run to the end and return the result; None if `stop_requested` ended it."""
        ...

    def clean(self) -> None:
        """Remove the run's own data once nothing needs it any more."""
        ...


@dataclass(frozen=True)
class PerceptionConfig(ABC):
    """Settings that every kind has; the same settings give the same weights."""

    env: str = "smorl/VisualRearrange2-v0"  # whose pictures it learns from
    seed: int = 0  # decides everything random
    threads: int = 2  # CPU threads of physics and of the learner
    device: DeviceName = "cpu"  # where networks compute (docs/speed.md)
    checkpoint_minutes: float = 2.0  # minutes between checkpoints

    def __post_init__(self) -> None:
        within(self, {
            "seed": (0, 2**63), "threads": (1, 1024), "checkpoint_minutes": (0, 10_000),
        })  # fmt: skip

    @property
    @abstractmethod
    def frames(self) -> int:
        """How many frames training goes through."""

    @property
    @abstractmethod
    def seconds(self) -> float:
        """How long training takes on one core of an ordinary machine, about."""

    @abstractmethod
    def fitted(self, source: Source) -> Self:
        """Return settings that say what the data is, where it exists: a run describes itself."""

    @abstractmethod
    def trainer(
        self, run: RunDir, reporter: Reporter, source: Source, command: str
    ) -> PerceptionTrainer:
        """Return who trains it in a run folder, or goes on there."""

    @abstractmethod
    def untrained(self, actions: int) -> Perception:
        """Return one with random weights, to measure speed with; `actions` is their length."""
