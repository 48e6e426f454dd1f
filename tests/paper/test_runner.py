"""Real processes side by side: order, failures, and an orderly stop."""

import json
import os
import signal

import pytest

from smorl.paper.jobs import Job, Training, state_of, train
from smorl.paper.local import LocalPlace
from smorl.paper.runner import Ended, Runner


def version(path, needs=(), *, words=("smorl", "--version")):
    """A quick job: what it prints is its file."""
    return Job(words, path, needs=needs, printed=True)


def run(jobs, workers, tmp_path, show=lambda runner: None):
    notes = []
    place = LocalPlace(workers, tmp_path / "logs")
    outcome = Runner(jobs, place).run(show, notes.append)
    return outcome, notes


def test_jobs_wait_for_what_they_need_and_no_more_run_than_asked(tmp_path):
    first = version(tmp_path / "new" / "a.txt")
    others = [version(tmp_path / f"{name}.txt", (first.writes,)) for name in "bc"]
    seen = []

    def show(runner):
        seen.append({child.job.name for child in runner.running})

    outcome, notes = run([*others, first], 2, tmp_path, show)
    assert outcome.done[0] == first
    assert {job.name for job in outcome.done} == {"a.txt", "b.txt", "c.txt"}
    assert all("a.txt" not in names or names == {"a.txt"} for names in seen)
    assert {"b.txt", "c.txt"} in seen
    assert max(map(len, seen)) == 2
    assert first.writes.read_text().startswith("smorl ")
    assert sorted(notes) == ["a.txt: done.", "b.txt: done.", "c.txt: done."]


def test_a_failure_is_told_and_does_not_stop_the_others(tmp_path):
    bad = version(tmp_path / "bad.txt", words=("smorl", "tran"))
    after = version(tmp_path / "after.txt", (bad.writes,))
    later = version(tmp_path / "later.txt", (after.writes,))
    good = version(tmp_path / "good.txt")
    hollow = Job(("smorl", "--version"), tmp_path / "hollow.txt")  # ends well, writes nothing
    outcome, notes = run([bad, after, later, good, hollow], 1, tmp_path)
    assert outcome.done == [good]
    assert outcome.blocked == [after, later]
    assert "Did you mean 'train'?" in outcome.failed["bad.txt"]
    assert "is not whole" in outcome.failed["hollow.txt"]
    assert any("bad.txt failed" in note and "bad.txt.log" in note for note in notes)
    assert not bad.writes.exists()
    assert not list(tmp_path.glob(".tmp*"))


def test_a_run_that_became_another_one_is_a_failure_too(tmp_path):
    (tmp_path / "run").mkdir()
    config = Training("debug", 1).config()
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    strange = Job(("smorl", "--version"), tmp_path / "run", training=Training("debug", 0))
    good = version(tmp_path / "good.txt")
    outcome, _ = run([strange, good], 1, tmp_path)
    assert outcome.done == [good]
    assert "seed: run has 1, asked 0" in outcome.failed["run"]


class Scripted:
    """A place where jobs end as told, without running anything."""

    def __init__(self, ends):
        self.ends, self.started = {name: list(ended) for name, ended in ends.items()}, []

    def room(self, job, running):
        return not running

    def start(self, job):
        self.started.append(job.name)
        return ScriptedJob(job, self.ends[job.name].pop(0))

    def refresh(self, running):
        pass


class ScriptedJob:
    def __init__(self, job, end):
        self.job, self.end = job, end

    def poll(self):
        if self.end.code == 0:
            self.job.writes.write_text("done")
        return self.end

    def stop(self):
        self.end = Ended(130, "saved")


LOST, CRASHED = Ended(1, "its node died.", lost=True), Ended(-9, "Killed")
REFUSED, DONE = Ended(2, "diverged"), Ended(0, "")


@pytest.mark.parametrize(
    ("ends", "started", "done", "problem"),
    [
        ([LOST, CRASHED, DONE], 3, True, None),
        ([LOST, LOST, LOST], 3, False, "its node died."),
        ([CRASHED, CRASHED, CRASHED], 3, False, "Killed [exit code -9]"),
        ([REFUSED], 1, False, "diverged [exit code 2]"),
    ],
)
def test_what_was_lost_is_tried_again_and_what_would_fail_again_is_not(
    tmp_path, ends, started, done, problem
):
    place, notes, job = Scripted({"a.txt": ends}), [], version(tmp_path / "a.txt")
    outcome = Runner([job], place, retries=2).run(lambda runner: None, notes.append)
    assert len(place.started) == started
    assert outcome.done == ([job] if done else [])
    assert outcome.failed.get("a.txt") == problem
    assert sum("It goes on" in note for note in notes) == started - 1


@pytest.fixture
def slow_run(tmp_path):
    """A run that can be interrupted: it saves after every round."""
    more = {"threads": "1", "collect.total_steps": "800", "checkpoint_minutes": "0"}
    training = Training("debug", 0, (*more.items(), ("evaluation.every", "9999")))
    return train(training, tmp_path / "run")


def test_stopped_runs_are_resumed(slow_run, tmp_path):
    def interrupt(runner):
        metrics = slow_run.writes / "metrics.jsonl"
        if not runner.outcome.stopped and metrics.exists() and metrics.stat().st_size:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    waiting = version(tmp_path / "never.txt", (slow_run.writes,))
    outcome, notes = run([slow_run, waiting], 1, tmp_path, interrupt)
    assert signal.getsignal(signal.SIGINT) == before
    assert outcome.stopped
    assert not outcome.done
    assert not outcome.failed
    assert "Ctrl-C again" in notes[0]
    assert state_of(slow_run) == "begun"
    assert list((slow_run.writes / "checkpoints").iterdir())
    log = tmp_path / "logs" / "run.log"
    assert "Stopped and saved at step" in log.read_text()
    outcome, _ = run([slow_run, waiting], 1, tmp_path)
    assert outcome.done == [slow_run, waiting]
    assert "resumed at step" in log.read_text()
    assert state_of(slow_run) == "finished"
