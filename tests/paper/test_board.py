"""All jobs on one line, or on one screen."""

import io
import json
import sys

import pytest

from smorl.cli.places import carry_out, say_end
from smorl.paper.jobs import Job, Training, train
from smorl.paper.progress import Board, last_row
from smorl.paper.runner import Ended
from tests.terminal import Terminal


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


def test_one_screen_has_all_runs_with_their_time_left(jobs, monkeypatch):
    clock, terminal = Clock(), Terminal(monkeypatch)
    with Board(jobs, 2, stream=terminal, clock=clock) as board:
        board.show([], jobs[:2], [])
        board.note("gt-9 failed: it diverged at step 80 [exit code 2]")
        clock.now = 60.0
        metrics(jobs[0], '{"env_steps": 180}\n')
        (jobs[0].writes / "evaluations.csv").write_text("env_steps,object_distance\n80,0.125\n")
        metrics(jobs[1], '{"iteration": 4}\n')
        board.show([], jobs[:2], [])
    # Six of ten minutes are done in one, so four more take 40 s; `a` did 3/4 in it, `eyes` half.
    assert terminal.lines() == [
        "gt-9 failed: it diverged at step 80 [exit code 2]",
        "━━━━━━━━━━━━━━──────────  60 %  0 of 3 done, 180 of 240 steps, ETA 0:40",
        "a     75 % 0.125 m ETA 0:20",
        "eyes  50 % ETA 1:00",
    ]


def test_more_runs_than_lines_are_counted(tmp_path, monkeypatch):
    terminal = Terminal(monkeypatch)
    jobs = [train(Training("debug", n), tmp_path / f"run-{n}") for n in range(30)]
    with Board(jobs, 30, stream=terminal) as board:
        board.show([], jobs, [])
    lines = terminal.lines()
    assert len(lines) < 12  # whatever does not fit scrolls away, and cannot be drawn over
    assert lines[1].split() == ["run-0", "0", "%"]
    assert lines[-1] == f"and {30 - (len(lines) - 2)} more"


class Shown:
    """A place where runs write what real ones write, a step at every look, and may fail."""

    size = 2

    def room(self, job, running):
        return len(running) < self.size

    def start(self, job):
        return ShownRun(job)

    def refresh(self, running):
        pass


class ShownRun:
    def __init__(self, job):
        self.job, self.looks = job, 0

    def poll(self):
        self.looks += 1
        metrics(self.job, json.dumps({"env_steps": 120 * self.looks}) + "\n")
        if self.looks < 2:
            return None
        if self.job.training.seed == 1:
            return Ended(2, "training diverged at step 240; try a smaller --learner.lr")
        (self.job.writes / "config.json").write_text(json.dumps(self.job.training.config()))
        (self.job.writes / "result.json").write_text("{}")
        return Ended(0, "")

    def stop(self):
        pass


def test_a_campaign_ends_with_what_went_well_and_the_last_words_of_what_did_not(
    tmp_path, monkeypatch
):
    terminal = Terminal(monkeypatch)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("smorl.paper.runner._POLL", 0.0)
    jobs = [train(Training("debug", n), tmp_path / f"run-{n}") for n in range(3)]
    outcome = carry_out(jobs, Shown(), retries=2)
    words = "training diverged at step 240; try a smaller --learner.lr [exit code 2]"
    lines = terminal.lines()
    assert lines[:2] == ["run-0: done.", f"run-1 failed: {words}"]
    assert "run-2: done." in lines  # the others went on
    assert lines[-1].startswith("━" * 24 + " 100 %  2 of 3 done, 720 of 720 steps, ETA ")
    assert say_end(outcome, 3, "smorl sweep debug", "the table is of the others") == 1
    assert terminal.lines()[-3:] == [
        "1 of 3 failed (run-1); the table is of the others. Their last words:",
        f"  run-1: {words}",
        "The same command tries again: smorl sweep debug",
    ]
