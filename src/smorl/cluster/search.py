"""Search: Optuna proposes points, successive halving (ASHA) stops runs that fall behind.

Run folders are the truth, and `search.json` beside them says which point each of them has. Nothing
of Optuna is stored: when the same command is given again, what was proposed and how it went is told
to a fresh study in the same order, and the search goes on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from smorl.cluster.axes import Axis
from smorl.cluster.sweep import Sweep, text_of
from smorl.errors import DamagedFile, InvalidInput, RunConflict
from smorl.files import make_folder, write_text
from smorl.formats import read_json
from smorl.paper.jobs import Job, state_of
from smorl.paper.progress import Board, evaluations
from smorl.paper.runner import Runner
from smorl.runs.folder import RESULT

FILE = "search.json"
REDUCTION = 3  # of the runs that have been evaluated 1, 3, 9, ... times a third goes on
State = Literal["open", "stopped", "failed"]


@dataclass
class Trial:
    """A point and its run; whether it is finished is for the run folder to say."""

    name: str
    values: dict[str, float | int | str]
    state: State = "open"


@dataclass
class _Active:
    """A trial that is not over, with Optuna's side of it."""

    trial: Trial
    job: Job
    optuna: Any
    total: int  # environment steps
    reported: int = 0


@dataclass
class Search:
    """A search in a folder; `steer` keeps a runner busy with it."""

    sweep: Sweep
    number: int
    at_once: int
    share: Callable[[Path], None] = lambda path: None  # called when `search.json` has changed
    write: bool = True  # False: only propose
    every: float = 1.0  # seconds between looks at the evaluations
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._optuna = _import_optuna()
        self._active: list[_Active] = []
        self._looked = -math.inf
        self.trials = _read(self.sweep)
        sampler = self._optuna.samplers.TPESampler(seed=len(self.trials))
        pruner = self._optuna.pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=REDUCTION
        )
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        self._study = self._optuna.create_study(sampler=sampler, pruner=pruner)
        for trial in self.trials:
            self._replay(trial)

    def begin(self) -> list[Job]:
        """Return the jobs to start with: what was begun before, then new ones."""
        jobs = [job for active in self._active for job in self._jobs(active.trial)]
        while len(self._active) < self.at_once and len(self.trials) < self.number:
            jobs += self._propose()
        return list({job.writes: job for job in jobs if state_of(job) != "finished"}.values())

    def steer(self, runner: Runner, board: Board) -> None:
        """Tell Optuna what happened, stop what has fallen behind, start what comes next."""
        if time.monotonic() - self._looked < self.every and runner.running:
            return
        self._looked = time.monotonic()
        done = {job.writes for job in runner.outcome.done}
        halted = {job.writes for job in runner.outcome.halted}
        blocked = {job.writes for job in runner.outcome.blocked}
        for active in list(self._active):
            path = active.job.writes
            behind = self._report(active)
            if path in done:
                self._end(active, "open")
            elif path in halted:
                self._end(active, "stopped")
                board.note(f"{active.job.name}: stopped, others are better after as many steps.")
            elif active.job.name in runner.outcome.failed or path in blocked:
                self._end(active, "failed")
            elif behind:
                runner.halt(active.job)
        while len(self._active) < self.at_once and len(self.trials) < self.number:
            if runner.outcome.stopped:
                return
            known = {job.writes for job in board.jobs}
            for job in self._propose():
                if job.writes not in known and state_of(job) != "finished":
                    runner.add(job)
                    board.add(job)

    def best(self) -> Trial | None:
        """Return the finished trial with the smallest distance."""
        finished = [(d, t.name, t) for t in self.trials if (d := self._distance(t)) is not None]
        return min(finished)[2] if finished else None

    def texts(self, trial: Trial) -> dict[str, str]:
        """Return the point of a trial as options."""
        axes = {axis.name: axis for axis in self.sweep.axes}
        return {name: text_of(value, axes[name]) for name, value in trial.values.items()}

    def _propose(self) -> list[Job]:
        proposed = self._study.ask(self._space())
        trial = Trial(f"trial-{len(self.trials):03d}", dict(proposed.params))
        self.trials.append(trial)
        self._write()  # before the run exists, so that nothing is proposed twice
        jobs = self._jobs(trial)
        self._active.append(_Active(trial, jobs[-1], proposed, _total(jobs[-1])))
        return jobs

    def _replay(self, trial: Trial) -> None:
        """Tell the fresh study about a trial of an earlier session."""
        self._study.enqueue_trial(trial.values)
        job = self._jobs(trial)[-1]
        active = _Active(trial, job, self._study.ask(self._space()), _total(job))
        self._active.append(active)
        self._report(active)
        if trial.state == "failed":  # the same command tries again
            trial.state = "open"
        if trial.state == "stopped" or self._distance(trial) is not None:
            self._end(active, trial.state)

    def _report(self, active: _Active) -> bool:
        """Tell Optuna about new evaluations; say whether the run has fallen behind."""
        rows, behind = evaluations(active.job.writes), False
        for steps, distance in rows[active.reported :]:
            active.reported += 1
            if steps < active.total:  # the last one is the result
                active.optuna.report(distance, active.reported)
                behind = active.optuna.should_prune()
        return behind

    def _end(self, active: _Active, state: State) -> None:
        states = self._optuna.trial.TrialState
        distance = self._distance(active.trial)
        if distance is not None:
            self._study.tell(active.optuna, distance)
        else:
            pruned = state == "stopped" and active.reported
            self._study.tell(active.optuna, state=states.PRUNED if pruned else states.FAIL)
        self._active.remove(active)
        if active.trial.state != state:
            active.trial.state = state
            self._write()

    def _distance(self, trial: Trial) -> float | None:
        try:
            return float(read_json(self.sweep.out / trial.name / RESULT)["object_distance"])
        except (DamagedFile, ValueError, KeyError, TypeError):
            return None

    def _jobs(self, trial: Trial) -> list[Job]:
        return self.sweep.job(self.texts(trial), 0, trial.name)

    def _space(self) -> dict[str, Any]:
        return {axis.name: _distribution(self._optuna, axis) for axis in self.sweep.axes}

    def _write(self) -> None:
        if not self.write:
            return
        make_folder(self.sweep.out)
        content = {**_definition(self.sweep), "trials": [asdict(trial) for trial in self.trials]}
        path = self.sweep.out / FILE
        write_text(path, json.dumps(content, indent=1) + "\n")
        self.share(path)


def _total(job: Job) -> int:
    assert job.training is not None
    return int(job.training.config()["collect"]["total_steps"])


def _definition(sweep: Sweep) -> dict[str, Any]:
    axes = [asdict(axis) for axis in sweep.axes]
    return json.loads(json.dumps({"preset": sweep.preset, "fixed": sweep.fixed, "axes": axes}))


def _read(sweep: Sweep) -> list[Trial]:
    """Return the trials of an earlier session; raise if the folder holds another search."""
    path = sweep.out / FILE
    if not path.exists():
        return []
    try:
        content = read_json(path)
        trials = [Trial(**trial) for trial in content.pop("trials")]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(
            f"{path} cannot be read ({error}); restore it from a copy, or use another --out."
        ) from error
    if content != _definition(sweep):
        raise RunConflict(
            f"{sweep.out} holds another search (other preset, settings or --set); use another "
            "--out, or the same settings to go on."
        )
    return trials


def _distribution(optuna: Any, axis: Axis) -> Any:
    if axis.kind == "choice":
        return optuna.distributions.CategoricalDistribution(axis.values)
    if axis.kind == "int":
        return optuna.distributions.IntDistribution(int(axis.low), int(axis.high))
    return optuna.distributions.FloatDistribution(axis.low, axis.high, log=axis.kind == "log")


def _import_optuna() -> Any:
    try:
        import optuna  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InvalidInput(
            "Optuna is not installed; `pip install 'smorl[cluster]'`, or list values for a grid."
        ) from error
    return optuna
