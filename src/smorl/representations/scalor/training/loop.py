"""The training of perception (Alg. 2, lines 1 to 3): collect, climb the ELBO, fit, evaluate.

One run folder holds all stages. Data is collected once and reused on a resume; training can be
cut at any iteration and continues bit for bit; a diagnosis at fixed moments restarts it with
another seed when it went wrong; at the end everything perception needs is in one weights file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from smorl.errors import Diverged
from smorl.representations.perceptions import FILE
from smorl.representations.pretraining import Source, remove_data
from smorl.representations.scalor.tracking.diagnostics import NOT_FINITE, Finding, diagnose
from smorl.representations.scalor.training import diagnosis
from smorl.representations.scalor.training.data import (
    PUSHER,
    open_pushes,
    open_sequences,
    require_same_data,
    together,
)
from smorl.representations.scalor.training.finder import with_finder
from smorl.representations.scalor.training.fit import fit_weights
from smorl.representations.scalor.training.report import measure_weights, summary
from smorl.representations.scalor.training.self_check import check, judge
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.training.state import PerceptionState, Window
from smorl.representations.scalor.training.step import train_step
from smorl.representations.scalor.weights import save_weights
from smorl.representations.video import Sequences, describe, median_background
from smorl.runs.checkpoint import Checkpoint
from smorl.runs.folder import RunDir
from smorl.runs.reporter import Reporter
from smorl.runs.resumable import Resumable, Snapshot

_KINDS = {
    "attempt": int,
    "iteration": int,
    "frames": int,
    "window": {"count": int, "sums": {str: int | float}},
    "recent": {str: int | float},
    "attempts": [{"attempt": int, "iteration": int, "healthy": bool, "findings": [str]}],
    "seconds": {str: int | float},
    "data": {},
    "pushes": bool,
}


class ScalorTrainer(Resumable):
    """A run: its data, its state, its folder. `start`, then `train`."""

    random: Sequences  # the first round of data
    data: Sequences  # all that training uses now
    state: PerceptionState
    background: np.ndarray

    def __init__(
        self,
        config: ScalorTrainingConfig,
        run: RunDir,
        reporter: Reporter,
        source: Source,
        command: str,
    ) -> None:
        super().__init__(run, reporter, diagnosis.CHECK_COLUMNS, minutes=config.checkpoint_minutes)
        self.config, self.source, self.command = config, source, command
        self.attempts: list[dict[str, Any]] = []  # the last diagnosis of every attempt
        self._checks = diagnosis.check_iterations(config.optimise.iterations)
        self._pushed = False  # whether the checkpoint had the second round of data
        self._touches = max(1, round(config.data.contact_from * config.optimise.iterations))

    @property
    def iteration(self) -> int:
        """Gradient steps made so far in this attempt."""
        return self.state.iteration

    def start(self) -> bool:
        """Get the data and the newest good checkpoint; say whether there was one."""
        torch.set_num_threads(self.config.threads)
        with self._timed("collect"):
            self.random = self.data = open_sequences(
                self.config, self.run.path, self.source, self.reporter, lambda: self.stop_requested
            )
            self.background = median_background(self.data.images)
            self.state = PerceptionState.create(self.config, 0, *self._shape)
        resumed = self._restore("a perception run", _KINDS, self._load)
        if self._pushed:
            self._add_pushes()
        return resumed

    def _load(self, checkpoint: Checkpoint) -> None:
        saved = checkpoint.state
        require_same_data(self.run.path, saved["data"], self.random)
        self.state = PerceptionState.load(self.config, checkpoint, *self._shape)
        self.attempts, self._seconds = saved["attempts"], saved["seconds"]
        self._pushed = saved["pushes"]

    @property
    def _shape(self) -> tuple[np.ndarray, int]:
        """What the model must know of the data: the background, the length of an action."""
        return self.background, self.data.actions.shape[-1]

    def train(self) -> dict[str, Any] | None:
        """Run to the end and return the result; None if `stop_requested` ended it."""
        while True:
            if not self._climb():
                return None
            result = self._finish()
            if result is not None:
                return result

    def _climb(self) -> bool:
        """Train the model to its last iteration; False if `stop_requested` ended it."""

        def iterate() -> bool:
            if self.state.iteration >= self.config.optimise.iterations:
                return False
            with self._timed("train"):
                self._advance()
            return True

        if not self._go_on(iterate):
            return False
        self.checkpoint()
        return True

    def clean(self) -> None:
        """Remove the run's own data once nothing needs it any more."""
        if not self.source.keep:
            remove_data(self.run.path)

    def _advance(self) -> None:
        """Make one iteration and what is due after it: a row, a diagnosis, a restart."""
        state = self.state
        if state.iteration >= self._touches:
            self._push()
        terms = train_step(self.config, state, self.data)
        if not all(map(math.isfinite, terms.values())):
            self._diverged([name for name, value in terms.items() if not math.isfinite(value)])
            return
        state.iteration += 1
        state.window.add(terms)
        if state.iteration % self.config.log_every == 0 or state.iteration in self._checks:
            self._log()
        if state.iteration in self._checks:
            self._diagnose()
        state = self.state  # a diagnosis may have started the next attempt
        self.reporter.update(state.frames, state.iteration, state.recent.get("objects"))

    def _push(self) -> None:
        """Add the second round of data, in which the model so far pushes its objects about."""
        own = self.source.folder is None and self.source.video is None
        if not own or not self.config.data.pushed or self.data is not self.random:
            return
        self.checkpoint()
        pusher = self.run.path / PUSHER
        if not pusher.exists():
            save_weights(pusher, fit_weights(self.config, self.state, self.random, self.command))
        self._add_pushes()

    def _add_pushes(self) -> None:
        where = (self.config, self.run.path, self.random, self.reporter)
        self.data = together(self.random, open_pushes(*where, lambda: self.stop_requested))

    def _log(self) -> None:
        state = self.state
        state.recent = state.window.means()
        state.window = Window()
        row = {"attempt": state.attempt, "iteration": state.iteration}
        self.logger.metrics(row | state.recent)
        self.logger.timing(row | self._seconds)

    def _diagnose(self) -> None:
        """Look at the model on training data; a fatal finding starts the next attempt."""
        state = self.state
        statistics = diagnosis.look_at(state, self.data, self.background)
        findings = diagnose(statistics, state.iteration / self.config.optimise.iterations)
        row = {"attempt": state.attempt, "iteration": state.iteration, **statistics.row()}
        self.logger.evaluation({**row, "findings": " ".join(f.sentence for f in findings)})
        self._record(findings)

    def _record(self, findings: list[Finding]) -> None:
        """Note findings, remember them, and restart if one is fatal and attempts are left."""
        state = self.state
        now = diagnosis.entry(state, findings)
        self.attempts = [*self.attempts[: state.attempt], now]
        for finding in findings:
            self.reporter.note(f"Iteration {state.iteration}: {finding}")
        if not now["healthy"] and state.attempt < self.config.restarts:
            self.state = PerceptionState.create(self.config, state.attempt + 1, *self._shape)
            self.reporter.note(
                f"Training starts again with another seed (attempt {self.state.attempt + 1} of at "
                f"most {self.config.restarts + 1})."
            )
            self.checkpoint()

    def _diverged(self, names: list[str]) -> None:
        path = self._save_diverged()
        attempt, iteration = self.state.attempt, self.state.iteration
        self._record([NOT_FINITE])
        if self.state.attempt == attempt:
            raise Diverged(
                f"training diverged at iteration {iteration} ({', '.join(names)} is not finite) "
                f"after {attempt + 1} attempts; the state is in {path}. "
                f"Try a smaller --optimise.lr in a new run folder."
            )

    def _finish(self) -> dict[str, Any] | None:
        """Fit what matching and goals need, write the weights, evaluate what was written.

        None: the self-check found that no agent could learn from it, and another attempt began.
        """
        self.reporter.note("Encoding the training data: appearance, threshold, prior, finder.")
        with self._timed("fit"):
            weights = fit_weights(
                self.config, self.state, self.data, self.command, self.random.episodes
            )
            weights = with_finder(weights, self.data, self.config.finder, self.config.seed)
            checked = check(weights.tracker(), weights.threshold, self.data)
        if findings := judge(checked):
            attempt = self.state.attempt
            self._record(findings)
            if self.state.attempt != attempt:
                return None
        save_weights(self.run.path / FILE, weights)
        with self._timed("evaluate"):
            numbers = measure_weights(
                self.run.path / FILE, self.config, self.source, self.data, self.reporter
            )
        return summary(numbers, self.state, self.attempts, weights, checked, self._seconds)

    def _position(self) -> int:
        # Attempts follow one another, so that the newest checkpoint has the largest step.
        return self.state.attempt * (self.config.optimise.iterations + 1) + self.state.iteration

    def _snapshot(self) -> Snapshot:
        tensors, state = self.state.save()
        extra = {
            "attempts": self.attempts,
            "seconds": self._seconds,
            "data": describe(self.random),
            "pushes": self.data is not self.random,
        }
        return tensors, {}, {**state, **extra}
