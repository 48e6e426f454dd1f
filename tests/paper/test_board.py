"""One line over all jobs."""

import io

import pytest

from smorl.paper.jobs import Job, Training, train
from smorl.paper.progress import Board, last_row


class Clock:
    """Time that passes when told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def jobs(tmp_path):
    """A run of 240 steps expected to take 6 minutes, a perception of 8 iterations, a file."""
    return [
        train(Training("debug", 0), tmp_path / "a", minutes=6.0),
        train(Training("debug-scalor", 0, perception=True), tmp_path / "eyes", minutes=3.0),
        Job(("smorl", "x"), tmp_path / "x.json", minutes=1.0),
    ]


def metrics(job, text):
    job.writes.mkdir(exist_ok=True)
    (job.writes / "metrics.jsonl").write_text(text)


def test_the_last_whole_row_counts(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert last_row(path) is None
    path.write_text('{"env_steps": 1}\n{"env_steps": 2}\n{"env_st')
    assert last_row(path) == {"env_steps": 2}
    path.write_text('{"half')
    assert last_row(path) is None


def test_steps_shares_and_time_left(jobs):
    clock, out = Clock(), io.StringIO()
    metrics(jobs[0], '{"env_steps": 120}\n')  # from before
    board = Board(jobs, 2, stream=out, every=10.0, clock=clock)
    board.show([], jobs[:2], [])
    assert out.getvalue() == ""  # the first line only after some time
    clock.now = 11.0
    board.show([], jobs[:2], [])
    # Half of 6 minutes is done; 7 minutes are left for two workers by the table of costs.
    expected = "30 %, 0 of 3 done, 120 of 240 steps, ETA 3:30 (a 50 %, eyes 0 %)\n"
    assert out.getvalue() == expected
    clock.now = 60.0
    metrics(jobs[0], '{"env_steps": 180}\n')
    metrics(jobs[1], '{"iteration": 4}\n')
    board.show([], jobs[:2], [])
    # In this minute 3 minutes of the table were done, and 4 are left.
    expected = "60 %, 0 of 3 done, 180 of 240 steps, ETA 1:20 (a 75 %, eyes 50 %)\n"
    assert out.getvalue().endswith(expected)
    clock.now = 80.0
    board.show([jobs[0]], [], [jobs[1]])  # what failed is no work any more
    assert out.getvalue().endswith("90 %, 1 of 3 done, 240 of 240 steps, ETA 0:13\n")
