"""SLURM as a place for jobs, through submitit: the same tasks on the same shared folder.

submitit hands a task over in a file that only the job it submits reads; how a task ended comes
back as JSON in the shared folder, so nothing pickled is ever read back here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from smorl.cluster.remote import Campaign, cores
from smorl.cluster.shared import OWN, Shared
from smorl.cluster.task import Task, run
from smorl.errors import InvalidInput
from smorl.paper.jobs import Job
from smorl.paper.runner import Ended, Running


class Submitted:
    """A task as a SLURM job calls it; one that is preempted is queued again and goes on."""

    def __call__(self, task: Task) -> None:
        ended = run(task)
        Shared(task.shared).write(ended_file(task), json.dumps(asdict(ended)))

    def checkpoint(self, task: Task) -> Any:
        """Called by submitit before SLURM ends the job: what is shared is all that is needed."""
        from submitit.helpers import DelayedSubmission  # pyright: ignore[reportMissingImports]

        return DelayedSubmission(self, task)


class SlurmPlace:
    """Submits every job that is ready, at most `limit` at a time; SLURM does the waiting.

    `options` are submitit's, e.g. {"slurm_partition": "cpu", "timeout_min": "600"}. `cluster`
    "local" runs the same on this machine, for tests.
    """

    def __init__(
        self,
        campaign: Campaign,
        logs: Path,
        limit: int,
        options: Mapping[str, str] | None = None,
        cluster: str = "slurm",
    ) -> None:
        submitit = _import_submitit()
        self._campaign, self._logs, self._limit = campaign, logs, limit
        try:
            self._executor = submitit.AutoExecutor(folder=logs / "submitit", cluster=cluster)
            given = {k: int(v) if v.isdigit() else v for k, v in (options or {}).items()}
            self._executor.update_parameters(**given)
        except (RuntimeError, ValueError, NameError, TypeError) as error:
            raise InvalidInput(f"SLURM cannot be used here: {error}") from error

    def __enter__(self) -> SlurmPlace:
        return self

    def __exit__(self, *_: object) -> None:
        self._campaign.close()

    @property
    def size(self) -> int:
        """Jobs at a time."""
        return self._limit

    def room(self, job: Job, running: Sequence[Running]) -> bool:
        return len(running) < self._limit

    def start(self, job: Job) -> Running:
        task = self._campaign.task(job, self._logs)
        self._executor.update_parameters(cpus_per_task=cores(job), name=job.name.replace("/", "-"))
        return _SlurmJob(job, task, self._executor.submit(Submitted(), task), self._campaign)

    def refresh(self, running: Sequence[Running]) -> None:
        self._campaign.refresh([child.job for child in running])


class _SlurmJob:
    def __init__(self, job: Job, task: Task, submitted: Any, campaign: Campaign) -> None:
        self.job = job
        self._task, self._submitted, self._campaign = task, submitted, campaign
        self._asked = False

    def poll(self) -> Ended | None:
        over = self._submitted.done()  # asked first: a task says how it ended before it is over
        text = self._campaign.shared.read(ended_file(self._task))
        if text is not None:
            self._campaign.finish(self.job)
            return Ended(**json.loads(text))
        if not over:
            return None
        said = (self._submitted.stderr() or "it said nothing").strip().splitlines()
        return Ended(1, f"SLURM ended it ({self._submitted.state}): {said[-1]}", lost=True)

    def stop(self) -> None:
        if self._asked:
            self._submitted.cancel()
        else:
            self._campaign.stop(self._task.token)
        self._asked = True


def ended_file(task: Task) -> str:
    """Return the file that says how a task ended."""
    return f"{OWN}/{task.campaign}/ended-{task.token}.json"


def _import_submitit() -> Any:
    try:
        import submitit  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InvalidInput(
            "submitit is not installed; `pip install 'smorl[cluster]'`, or leave --on out to run "
            "on this machine."
        ) from error
    return submitit
