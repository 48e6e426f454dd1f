"""The order of jobs, and how long they take on so many cores."""

from pathlib import Path

from smorl.cluster.estimate import longest_first, makespan
from smorl.paper.jobs import Job


def job(name, minutes, *needs):
    return Job(("smorl", name), Path(name), tuple(map(Path, needs)), minutes)


def test_chains_that_take_longest_begin_first():
    jobs = [
        job("short", 1),
        job("eyes", 2),
        job("run", 10, "eyes"),
        job("test", 1, "run"),
        job("x", 12),
    ]
    assert [j.writes.name for j in longest_first(jobs)] == ["eyes", "x", "run", "short", "test"]


def test_minutes_on_so_many_cores():
    jobs = [job(str(n), 10) for n in range(8)]
    assert makespan(jobs, 1) == 80
    assert makespan(jobs, 3) == 30
    assert makespan(jobs, 1000) == 10
    assert makespan(jobs, 2, overhead=1.0) == 44
    chain = [job("a", 3), job("b", 4, "a"), *jobs]
    assert makespan(chain, 1000) == 10
    assert makespan([job("a", 3), job("b", 9, "a"), *jobs], 1000) == 12
    assert makespan([], 4) == 0
