"""Run jobs side by side, wherever there is room for them, and stop them in an orderly way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from smorl.errors import SmorlError
from smorl.paper.jobs import Job, state_of
from smorl.runs.stopping import signals_to

_POLL = 0.2  # seconds between looks at what runs
REFUSED, STOPPED = 2, 130  # exit codes: would fail again (a mistake, divergence); saved and stopped
RETRIES = 2


@dataclass(frozen=True)
class Ended:
    """How a job ended: exit code and last words. `lost`: not by itself, e.g. its node died.

    `seconds` is how long its command took, where that is known; `where`, on which machine.
    """

    code: int
    words: str
    lost: bool = False
    seconds: float = 0.0
    where: str = ""


class Running(Protocol):
    """A job that was started somewhere."""

    job: Job

    def poll(self) -> Ended | None:
        """Return how it ended, None while it runs."""
        ...

    def stop(self) -> None:
        """Ask it to save and stop; asked again, it stops at once."""
        ...


class Place(Protocol):
    """Where jobs run: this machine, a Ray cluster, SLURM."""

    def room(self, job: Job, running: Sequence[Running]) -> bool:
        """Whether the job can start beside those that run."""
        ...

    def start(self, job: Job) -> Running: ...

    def refresh(self, running: Sequence[Running]) -> None:
        """Bring here what running jobs have recorded, where that does not happen by itself."""
        ...


@dataclass
class Outcome:
    """What became of the jobs; `failed` says why by name, `blocked` waited for one that failed.

    `halted` are those that were stopped alone, on purpose.
    """

    done: list[Job] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: list[Job] = field(default_factory=list)
    halted: list[Job] = field(default_factory=list)
    stopped: bool = False


class Runner:
    """Runs jobs at a place, each after what it needs.

    The first Ctrl-C (or kill) asks all of them to save and stop, the second stops them at once. A
    job that crashes or is lost with its node is started again, at most `retries` times, and goes
    on from its last checkpoint. One that refuses its settings or diverges would do so again.
    """

    def __init__(self, jobs: Sequence[Job], place: Place, retries: int = RETRIES) -> None:
        self.waiting, self.running = list(jobs), list[Running]()
        self.outcome = Outcome()
        self._place, self._retries = place, retries
        self._tries: Counter[Path] = Counter()
        self._halting: set[Path] = set()
        self._open = {job.writes for job in jobs}  # what has not been written yet

    def run(self, show: Callable[[Runner], None], note: Callable[[str], None]) -> Outcome:
        """Run everything; `show` is called several times a second, `note` with every event.

        `show` may `add` and `halt` jobs.
        """
        with self._forwarding(note):
            try:
                while self.running or (self.waiting and not self.outcome.stopped):
                    self._start_ready()
                    self._collect(note)
                    self._place.refresh(self.running)
                    show(self)
                    time.sleep(_POLL if self.running else 0)
            finally:  # a mistake of ours must not leave anything running unseen
                self._stop_all()
        return self.outcome

    def add(self, job: Job) -> None:
        """Run one more."""
        self.waiting.append(job)
        self._open.add(job.writes)

    def halt(self, job: Job) -> None:
        """Stop one job for good; it saves first."""
        for child in self.running:
            if child.job.writes == job.writes and job.writes not in self._halting:
                self._halting.add(job.writes)
                child.stop()

    def _start_ready(self) -> None:
        for job in list(self.waiting):
            if self._open.intersection(job.needs):
                continue
            if self.outcome.stopped or not self._place.room(job, self.running):
                return
            self.waiting.remove(job)
            self._tries[job.writes] += 1
            self.running.append(self._place.start(job))

    def _collect(self, note: Callable[[str], None]) -> None:
        for child in list(self.running):
            ended = child.poll()
            if ended is None:
                continue
            self.running.remove(child)
            job, problem = child.job, _problem(child.job, ended)
            if problem is None:
                self.outcome.done.append(job)
                self._open.discard(job.writes)
                note(f"{job.name}: done.")
            elif job.writes in self._halting:
                self.outcome.halted.append(job)
            elif not self.outcome.stopped:
                self._retry_or_fail(job, ended, problem, note)

    def _retry_or_fail(
        self, job: Job, ended: Ended, problem: str, note: Callable[[str], None]
    ) -> None:
        tries = self._tries[job.writes]
        transient = ended.lost or ended.code not in (0, REFUSED)
        if transient and tries <= self._retries:
            note(f"{job.name}: {problem} It goes on (attempt {tries + 1} of {self._retries + 1}).")
            self.waiting.insert(0, job)
            return
        self.outcome.failed[job.name] = problem
        note(f"{job.name} failed: {problem}")
        self._give_up_on(job.writes)

    def _give_up_on(self, path: Path) -> None:
        """Drop what needs `path`, directly or not."""
        for job in [job for job in self.waiting if path in job.needs]:
            self.waiting.remove(job)
            self.outcome.blocked.append(job)
            self._give_up_on(job.writes)

    @contextmanager
    def _forwarding(self, note: Callable[[str], None]) -> Iterator[None]:
        def stop(number: int, frame: object) -> None:
            if not self.outcome.stopped:
                note("Stopping: runs finish their round and save. Ctrl-C again stops at once.")
            self.outcome.stopped = True
            self._stop_all()

        with signals_to(stop):
            yield

    def _stop_all(self) -> None:
        for child in self.running:
            child.stop()


def _problem(job: Job, ended: Ended) -> str | None:
    """Return what went wrong, or None."""
    if ended.lost:
        return ended.words
    if ended.code != 0:
        return f"{ended.words} [exit code {ended.code}]"
    try:
        whole = state_of(job) == "finished"
    except SmorlError as error:  # e.g. the program was changed while it ran
        return str(error)
    return None if whole else f"it ended well but {job.writes} is not whole."


def last_line(log: Path) -> str:
    """Return the last words of a log."""
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "it said nothing")


def log_name(job: Job) -> str:
    """Return the name of the file that holds all that a job says."""
    return f"{job.name.replace('/', '-')}.log"
