"""What every training does besides learning: go on where it was, save now and then, stop when told.

A training can be cut at any moment. It then goes on from its newest whole checkpoint and does bit
for bit what it would have done.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from smorl.formats import check_kinds, understood
from smorl.runs.boards import NO_BOARDS, Boards
from smorl.runs.checkpoint import Checkpoint, load_latest, save_checkpoint
from smorl.runs.folder import RunDir
from smorl.runs.identity import KEY, identity, require_same_run
from smorl.runs.log import RunLogger
from smorl.runs.reporter import Reporter
from smorl.runs.timer import Timer

Snapshot: TypeAlias = tuple[dict[str, torch.Tensor], dict[str, np.ndarray], dict[str, Any]]
_KINDS = {"log": {"metrics": int, "evaluations": int}}


class Resumable(ABC):
    """A training in a run folder; who learns says what a checkpoint holds and what comes next."""

    def __init__(
        self,
        run: RunDir,
        reporter: Reporter,
        columns: Sequence[str],
        *,
        minutes: float,
        perception: str | None = None,
        boards: Boards = NO_BOARDS,
    ) -> None:
        """`columns` of evaluations, `minutes` between checkpoints, the hash of its perception."""
        self.run, self.reporter = run, reporter
        self.logger = RunLogger(run, columns, boards)
        self.stop_requested = False  # set from outside; honoured between two steps
        self._minutes, self._perception = minutes, perception
        self._seconds: dict[str, float] = {}  # wall clock, by what it was spent on

    @abstractmethod
    def _position(self) -> int:
        """Return how far it is; later checkpoints have larger numbers."""

    @abstractmethod
    def _snapshot(self) -> Snapshot:
        """Return tensors, arrays and JSON that `_restore` makes the same state of."""

    def _restore(
        self, what: str, kinds: Mapping[str, Any], load: Callable[[Checkpoint], None]
    ) -> bool:
        """Hand the newest good checkpoint to `load`; False if there is none.

        It must be one of this very run, and its JSON of these `kinds`; `what` it should be is for
        the error if it is not.
        """
        checkpoint = load_latest(self.run.checkpoints)
        if checkpoint is None:
            self.logger.truncate(None)
            return False
        for sentence in checkpoint.damaged:
            self.reporter.note(sentence)
        require_same_run(self.run.path, checkpoint, self.run.config, self._perception)
        with understood(checkpoint.path, what):
            check_kinds(checkpoint.state, {**_KINDS, **kinds}, "state")
            load(checkpoint)
        self.logger.truncate(checkpoint.state["log"])
        return True

    def _go_on(self, step: Callable[[], bool]) -> bool:
        """Call `step` until it has nothing left to do, and save now and then.

        False: it was asked to stop, and everything is saved.
        """
        saved = time.monotonic()
        while step():
            self.run.require_in_place()
            due = time.monotonic() - saved > 60 * self._minutes
            if self.stop_requested or due:
                self.checkpoint()
                saved = time.monotonic()
            if self.stop_requested:
                return False
        return True

    def checkpoint(self) -> None:
        """Save everything, atomically."""
        with self._timed("checkpoint"):
            self._save(self.run.checkpoints)

    def _save(self, folder: Path, keep: int = 2) -> Path:
        """Save everything in a checkpoint of `folder`; return its path."""
        self.run.require_in_place()
        tensors, arrays, state = self._snapshot()
        own = {"log": self.logger.position(), KEY: identity(self.run.config, self._perception)}
        return save_checkpoint(folder, self._position(), tensors, arrays, state | own, keep)

    def _save_diverged(self) -> Path:
        """Keep what has diverged apart, for people; return where."""
        return self._save(self.run.path / "diverged", keep=1)

    def _timed(self, name: str) -> Timer:
        return Timer(self._seconds, name)
