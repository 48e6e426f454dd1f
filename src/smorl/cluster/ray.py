"""A Ray cluster as a place for jobs: one task per job, as many cores as the run has threads.

Ray finds a free node and says when one dies; nothing else is left to it. Tasks pass only text, no
result is kept in its object store, and what a run has done lies in the shared folder.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smorl.cluster.remote import Campaign, cores
from smorl.cluster.task import TakenOver, run
from smorl.errors import InvalidInput, SmorlError
from smorl.paper.jobs import Job
from smorl.paper.runner import REFUSED, Ended, Running

OBJECT_STORE = 200_000_000  # bytes, of a Ray that we start ourselves; we keep nothing in it
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
_LOOK = 5.0  # seconds between looks at the size of the cluster


class RayPlace:
    """Joins the cluster at `address`; use as a context manager.

    "local" starts Ray on this machine, None does so if there is no cluster to be found.

    `limit` caps how many cores are used at once; None takes all the cluster has, also those that
    join later.
    """

    def __init__(
        self, campaign: Campaign, logs: Path, address: str | None = None, limit: int | None = None
    ) -> None:
        self._campaign, self._logs, self._limit = campaign, logs, limit
        self._ray = connect(address, limit)
        self._task = self._ray.remote(run)
        self._busy = 0  # cores
        self._wide: dict[Path, int] = {}  # cores by what a job writes
        self._size, self._looked = self._cores(), time.monotonic()

    def __enter__(self) -> RayPlace:
        return self

    def __exit__(self, *_: object) -> None:
        self._campaign.close()
        self._ray.shutdown()

    @property
    def size(self) -> int:
        """Cores that jobs may use at once."""
        if time.monotonic() - self._looked > _LOOK:
            self._size, self._looked = self._cores(), time.monotonic()
        return self._size

    def _cores(self) -> int:
        found = int(self._ray.cluster_resources().get("CPU", 0))
        return found if self._limit is None else min(found, self._limit)

    def check(self, jobs: Sequence[Job]) -> None:
        """Raise if some job can run on no node."""
        nodes = [n["Resources"].get("CPU", 0) for n in self._ray.nodes() if n["Alive"]]
        for job in jobs:
            if cores(job) > max(nodes, default=0):
                raise InvalidInput(
                    f"{job.name} wants {cores(job)} threads and the largest node of the cluster "
                    f"has {max(nodes, default=0):.0f} cores; use fewer --threads."
                )

    def room(self, job: Job, running: Sequence[Running]) -> bool:
        if job.writes not in self._wide:  # asked several times a second
            self._wide[job.writes] = cores(job)
        return not running or self._busy + self._wide[job.writes] <= self.size

    def start(self, job: Job) -> Running:
        task = self._campaign.task(job, self._logs)
        wide = self._wide.setdefault(job.writes, cores(job))
        options = {"num_cpus": wide, "max_retries": 0, "name": job.name}
        self._busy += wide
        return _RayTask(job, task.token, self._task.options(**options).remote(task), self)

    def refresh(self, running: Sequence[Running]) -> None:
        self._campaign.refresh([child.job for child in running])

    def ended(self, ref: Any, job: Job) -> Ended | None:
        """Return how a task ended, None while it runs or waits for a core."""
        ready, _ = self._ray.wait([ref], timeout=0)
        if not ready:
            return None
        self._busy -= self._wide[job.writes]
        try:
            result = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            code = REFUSED if isinstance(cause, TakenOver) else 1
            return Ended(code, f"{type(cause).__name__}: {cause}")
        except self._ray.exceptions.RayError as error:
            return Ended(1, f"its node or worker died ({type(error).__name__}).", lost=True)
        self._campaign.finish(job)
        return result

    def stop(self, token: str, ref: Any, again: bool) -> None:
        """Ask a task to save and stop, or end it at once."""
        if again:
            self._ray.cancel(ref, force=True)
        else:
            self._campaign.stop(token)


class _RayTask:
    def __init__(self, job: Job, token: str, ref: Any, place: RayPlace) -> None:
        self.job, self._token, self._ref, self._place = job, token, ref, place
        self._asked = False

    def poll(self) -> Ended | None:
        return self._place.ended(self._ref, self.job)

    def stop(self) -> None:
        self._place.stop(self._token, self._ref, self._asked)
        self._asked = True


def connect(address: str | None, limit: int | None = None) -> Any:
    """Join a Ray cluster and return Ray; "local" starts one with `limit` cores for this process.

    Without an address: the cluster in RAY_ADDRESS, or one that runs on this machine, else "local".
    """
    ray = _import_ray()
    try:
        if address == "local":
            _start_own(ray, limit)
        elif address is not None:
            ray.init(address=address, **_QUIET)
        else:
            try:
                ray.init(address="auto", **_QUIET)
            except ConnectionError:
                _start_own(ray, limit)
    except Exception as error:  # Ray raises all kinds, bare ones too
        raise SmorlError(
            f"cannot join the Ray cluster at {address or 'this machine'}: {error}. Check that it "
            "runs (`ray status` there) and has the same versions of Python and Ray."
        ) from error
    return ray


def _start_own(ray: Any, limit: int | None) -> None:
    """Start Ray on this machine; if need be twice, as it gives up after half a busy minute.

    The second time programs and libraries are in memory already.
    """
    own = {"num_cpus": limit, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
    try:
        ray.init(address="local", **own, **_QUIET)
    except Exception:
        ray.shutdown()
        ray.init(address="local", **own, **_QUIET)


def _import_ray() -> Any:
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.exceptions  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InvalidInput(
            "Ray is not installed; `pip install 'smorl[cluster]'`, or leave --on out to run on "
            "this machine."
        ) from error
    return ray
