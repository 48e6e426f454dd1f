"""What places beyond this machine have in common: jobs become tasks on a shared folder."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from smorl.cluster.mirror import Mirror
from smorl.cluster.shared import OWN, Shared, relative
from smorl.cluster.task import Task, stop_file
from smorl.errors import InvalidInput
from smorl.paper.jobs import Job
from smorl.paper.runner import log_name

_REFRESH = 10.0  # seconds between copies of what runs have recorded elsewhere


class Campaign:
    """The shared folder as this process sees it, and what it asks of its tasks.

    Where the shared folder is the current one, nothing is copied here. Otherwise it is followed:
    records of running jobs now and then, finished ones as a whole.
    """

    def __init__(self, shared: Shared, here: Path | None = None) -> None:
        self.shared, self.name = shared, uuid.uuid4().hex[:12]
        self._here = Path.cwd() if here is None else here
        self.follows = not shared.here(self._here)
        self._due = time.monotonic() + _REFRESH

    def look(self, jobs: Sequence[Job]) -> None:
        """Bring the records of all jobs here, so that one can see what is finished."""
        for job in jobs:
            self.bring(job.writes, records=True)

    def task(self, job: Job, logs: Path) -> Task:
        """Describe a job for a node; send what it needs and the shared folder lacks."""
        writes = relative(job.writes)
        training = job.training
        words = [value for _, value in training.overrides] if training else job.command[2:]
        needs = [relative(path) for path in job.needs]
        local = [word for word in words if word != writes and self._has(word)]
        inputs = tuple(dict.fromkeys((*needs, *local)))
        for path in (*inputs, writes) if self.follows else ():
            self._send(path)
        log = relative(logs / log_name(job))
        return Task(
            job.command[1:], writes, inputs, log, self.shared.address, self.name,
            uuid.uuid4().hex, job.printed, every=10.0 if self.shared.is_path else 30.0,
        )  # fmt: skip

    def finish(self, job: Job) -> None:
        """Bring all that a job has written here."""
        self.bring(job.writes)

    def refresh(self, jobs: Sequence[Job]) -> None:
        """Bring the records of running jobs here, now and then."""
        began = time.monotonic()
        if self.follows and began > self._due:
            for job in jobs:
                self.bring(job.writes, records=True)
            # Looking at many runs by address takes time, and must not take all of it.
            now = time.monotonic()
            self._due = now + max(_REFRESH, 9 * (now - began))

    def stop(self, token: str) -> None:
        """Ask a task to save and stop."""
        self.shared.write(stop_file(self.name, token), "")

    def close(self) -> None:
        """Leave nothing behind."""
        self.shared.remove(f"{OWN}/{self.name}")

    def bring(self, path: Path, *, records: bool = False) -> None:
        """Copy a file or folder here, if it is shared from elsewhere; or only its `records`."""
        name = relative(path)
        if self.follows and self.shared.exists(name):
            self.shared.fetch(name, self._here / name, records=records)

    def send(self, path: Path) -> None:
        """Copy a file to where it is shared."""
        if self.follows:
            self.shared.put(self._here / path, relative(path))

    def _has(self, word: str) -> bool:
        named = bool(word) and not word.startswith("-") and not Path(word).is_absolute()
        return named and (self._here / word).exists()

    def _send(self, path: str) -> None:
        local = self._here / path
        if not local.exists() or self.shared.exists(path):
            return
        if local.is_file():
            self.shared.put(local, path)
        else:
            Mirror(self.shared, path, local, {}).push()


def cores(job: Job) -> int:
    """Return how many cores a job keeps busy: the threads of its settings."""
    if job.training is None:
        return 1
    config = job.training.config()
    if config.get("collect", {}).get("collectors"):
        raise InvalidInput(
            f"{job.name} would wait for collectors while it takes their cores; leave --collectors "
            "out of campaigns."
        )
    return int(config["threads"])
