"""This machine as a place for jobs: each is a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from smorl.paper.jobs import Job
from smorl.paper.runner import Ended, Running, last_line, log_name


class LocalPlace:
    """At most `workers` processes at a time; what they say goes to `logs`."""

    def __init__(self, workers: int, logs: Path) -> None:
        self._workers, self._logs = workers, logs

    @property
    def size(self) -> int:
        """Jobs at a time."""
        return self._workers

    def room(self, job: Job, running: Sequence[Running]) -> bool:
        return len(running) < self._workers

    def start(self, job: Job) -> Running:
        self._logs.mkdir(parents=True, exist_ok=True)
        job.writes.parent.mkdir(parents=True, exist_ok=True)
        log = self._logs / log_name(job)
        printed = job.writes.with_name(f".tmp-{job.writes.name}") if job.printed else None
        with log.open("ab") as said, _printed(printed, said) as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "smorl", *job.command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                # In a session of its own, as Ctrl-C goes to the terminal's whole group: a child
                # that got it from there and from us would take it for two and not save.
                start_new_session=True,
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )
        return _Process(job, process, log, printed)

    def refresh(self, running: Sequence[Running]) -> None:
        """Nothing to do: runs write where they are read."""


class _Process:
    def __init__(
        self, job: Job, process: subprocess.Popen, log: Path, printed: Path | None
    ) -> None:
        self.job = job
        self._process, self._log, self._printed = process, log, printed

    def poll(self) -> Ended | None:
        code = self._process.poll()
        if code is None:
            return None
        if self._printed is not None and code == 0:
            self._printed.replace(self.job.writes)
        elif self._printed is not None:
            self._printed.unlink(missing_ok=True)
        words = last_line(self._log)
        return Ended(code, words if code == 0 else f"{words} (all it said: {self._log})")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)


@contextmanager
def _printed(path: Path | None, otherwise: IO[bytes]) -> Iterator[IO[bytes]]:
    if path is None:
        yield otherwise
        return
    with path.open("wb") as file:
        yield file
