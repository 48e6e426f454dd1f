"""In which order jobs are best started, and how long they then take on so many cores."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from pathlib import Path

from smorl.paper.jobs import Job


def longest_first(jobs: Sequence[Job]) -> list[Job]:
    """Sort by the minutes from a job's start to the end of all that waits for it, longest first.

    With many cores the end is when the longest chain ends, so chains must not begin late. Every
    job still comes after what it needs, whose chain is longer.
    """
    chains: dict[Path, float] = {}
    for job in reversed(jobs):  # `jobs` has everything after what it needs
        chains[job.writes] = chain = job.minutes + chains.get(job.writes, 0.0)
        for path in job.needs:
            chains[path] = max(chains.get(path, 0.0), chain)
    return sorted(jobs, key=lambda job: -chains[job.writes])


def makespan(jobs: Sequence[Job], cores: int, overhead: float = 0.0) -> float:
    """Return the minutes from the first start to the last end, one core per job.

    `overhead` (minutes) is what a job costs beyond its own time.
    """
    free = [0.0] * max(1, min(cores, len(jobs)))  # when each core is free again
    ends: dict[Path, float] = {}
    for job in longest_first(jobs):
        ready = max((ends.get(path, 0.0) for path in job.needs), default=0.0)
        start = max(heapq.heappop(free), ready)
        ends[job.writes] = start + job.minutes + overhead
        heapq.heappush(free, ends[job.writes])
    return max(ends.values(), default=0.0)
