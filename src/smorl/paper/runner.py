"""Run jobs side by side, each a process of its own, and stop them in an orderly way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from smorl.errors import SmorlError
from smorl.paper.jobs import Job, state_of

_POLL = 0.2  # seconds between looks at the children
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Outcome:
    """What became of the jobs; `failed` says why by name, `blocked` waited for one that failed."""

    done: list[Job] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: list[Job] = field(default_factory=list)
    stopped: bool = False


@dataclass
class _Child:
    job: Job
    process: subprocess.Popen
    log: Path
    printed: Path | None


class Runner:
    """Runs at most `workers` jobs at a time; what they say goes to `logs`.

    The first Ctrl-C (or kill) asks the children to save and stop, the second stops them at once.
    """

    def __init__(self, jobs: Sequence[Job], workers: int, logs: Path) -> None:
        self.waiting, self.running = list(jobs), list[_Child]()
        self.outcome = Outcome()
        self._workers, self._logs = workers, logs
        self._open = {job.writes for job in jobs}  # what has not been written yet

    def run(self, show: Callable[[Runner], None], note: Callable[[str], None]) -> Outcome:
        """Run everything; `show` is called several times a second, `note` with every event."""
        with self._forwarding(note):
            try:
                while self.running or (self.waiting and not self.outcome.stopped):
                    self._start_ready()
                    self._collect(note)
                    show(self)
                    time.sleep(_POLL if self.running else 0)
            finally:  # a mistake of ours must not leave anything running unseen
                self._signal()
        return self.outcome

    def _start_ready(self) -> None:
        for job in list(self.waiting):
            if len(self.running) >= self._workers or self.outcome.stopped:
                return
            if not self._open.intersection(job.needs):
                self.waiting.remove(job)
                self.running.append(_start(job, self._logs))

    def _collect(self, note: Callable[[str], None]) -> None:
        for child in [c for c in self.running if c.process.poll() is not None]:
            self.running.remove(child)
            problem = _finish(child)
            if problem is None:
                self.outcome.done.append(child.job)
                self._open.discard(child.job.writes)
                note(f"{child.job.name}: done.")
            elif not self.outcome.stopped:
                self.outcome.failed[child.job.name] = problem
                note(f"{child.job.name} failed: {problem} (all it said: {child.log})")
                self._give_up_on(child.job.writes)

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
            self._signal()

        before = {s: signal.signal(s, stop) for s in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self) -> None:
        for child in self.running:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGINT)


def _start(job: Job, logs: Path) -> _Child:
    logs.mkdir(parents=True, exist_ok=True)
    job.writes.parent.mkdir(parents=True, exist_ok=True)
    log = logs / f"{job.name.replace('/', '-')}.log"
    printed = job.writes.with_name(f".tmp-{job.writes.name}") if job.printed else None
    with log.open("ab") as said, _printed(printed, said) as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "smorl", *job.command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
            # In a session of its own, as Ctrl-C goes to the terminal's whole group: a child that
            # got it from there and from us would take it for two and not save.
            start_new_session=True,
            env={"OMP_NUM_THREADS": "1", **os.environ},
        )
    return _Child(job, process, log, printed)


@contextmanager
def _printed(path: Path | None, otherwise: IO[bytes]) -> Iterator[IO[bytes]]:
    if path is None:
        yield otherwise
        return
    with path.open("wb") as file:
        yield file


def _finish(child: _Child) -> str | None:
    """Put what was printed in its place; return what went wrong, or None."""
    code, job = child.process.returncode, child.job
    if child.printed is not None:
        if code == 0:
            child.printed.replace(job.writes)
        else:
            child.printed.unlink(missing_ok=True)
    if code != 0:
        return f"{_last_line(child.log)} [exit code {code}]"
    try:
        whole = state_of(job) == "finished"
    except SmorlError as error:  # e.g. the program was changed while it ran
        return str(error)
    return None if whole else f"it ended well but {job.writes} is not whole."


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "it said nothing")
