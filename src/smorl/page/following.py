"""Follow a run that is still training: its learning curve, and its newest checkpoint."""

from __future__ import annotations

import csv
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.errors import SmorlError
from smorl.runs.folder import RunDir

# Seconds between two looks at the folder.
_PERIOD = 3.0
_MOST_ROWS = 5000


@dataclass(frozen=True)
class Progress:
    """How far a run is: its newest checkpoint in env steps, None before the first.

    The learning curve is `steps` (t,) and `distances` (t,), the mean final puck distance in metres
    of each evaluation so far.
    """

    checkpoint: int | None
    steps: np.ndarray
    distances: np.ndarray
    finished: bool


def look_at(path: Path) -> Progress:
    """Read how far the run in a folder is; whatever is half-written is left for next time."""
    folder = RunDir.load(path)
    checkpoints = [int(p.name) for p in folder.checkpoints.glob("*") if p.name.isdecimal()]
    rows = _rows(folder.evaluations)
    return Progress(
        max(checkpoints, default=None),
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        folder.result is not None,
    )


def _rows(table: Path) -> list[tuple[float, float]]:
    found = []
    if not table.is_file():
        return found
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            try:
                found.append((float(row["env_steps"]), float(row["object_distance"])))
            except (KeyError, TypeError, ValueError):
                continue
    return found[-_MOST_ROWS:]


class Follower:
    """Looks at a run folder now and then: tells of its progress, and of every new checkpoint."""

    def __init__(
        self,
        path: Path,
        renewed: Callable[[], None],
        tell: Callable[[Progress], None],
        period: float = _PERIOD,
    ) -> None:
        self._path, self._renewed, self._tell, self._period = path, renewed, tell, period
        self._known = look_at(path)
        tell(self._known)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="page-follow", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._stopping.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._stopping.wait(self._period):
            try:
                progress = look_at(self._path)
            except (OSError, SmorlError):
                continue  # the folder is being written, or is gone: look again later
            if progress.checkpoint != self._known.checkpoint:
                self._renewed()
            self._known = progress
            self._tell(progress)
