"""One task on one node, in a process of its own and on a shared folder."""

import threading
import time
from pathlib import Path

import pytest

from smorl.cluster.remote import Campaign, cores
from smorl.cluster.shared import Shared
from smorl.cluster.task import SCRATCH, TakenOver, owner_file, run
from smorl.errors import InvalidInput
from smorl.paper.jobs import Job, Training, train


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A laptop's folder, and a shared one elsewhere; nodes work in `scratch`."""
    here, shared = tmp_path / "here", tmp_path / "shared"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv(SCRATCH, str(tmp_path / "scratch"))
    return Campaign(Shared(shared)), here, shared


def printed(path, *words, needs=()):
    return Job(("smorl", *words), path, needs=needs, printed=True)


def test_what_a_command_prints_arrives_and_scratch_is_left_empty(place, tmp_path):
    campaign, here, shared = place
    path = Path("x/a.txt")
    job = printed(path, "--version")
    ended = run(campaign.task(job, path.parent / "logs"))
    assert (ended.code, ended.lost) == (0, False)
    assert (shared / path).read_text().startswith("smorl ")
    assert not (here / path).exists()
    campaign.finish(job)
    assert (here / path).read_text().startswith("smorl ")
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (shared / owner_file(str(path))).exists()


def test_a_command_that_fails_writes_nothing_and_says_why(place):
    campaign, _, shared = place
    job = printed(Path("a.txt"), "tran")
    ended = run(campaign.task(job, Path("logs")))
    assert ended.code == 2
    assert "Did you mean 'train'?" in ended.words
    assert not (shared / "a.txt").exists()
    assert "Did you mean" in (shared / "logs" / "a.txt.log").read_text()


def test_a_task_that_was_taken_over_writes_nothing_more(place, monkeypatch):
    campaign, _, shared = place
    task = campaign.task(printed(Path("a.txt"), "--version"), Path("logs"))
    real = Shared.read
    # Somebody else claims it while the command runs.
    monkeypatch.setattr(
        Shared, "read",
        lambda self, path: "another" if path == owner_file("a.txt") else real(self, path),
    )  # fmt: skip
    with pytest.raises(TakenOver, match=r"a\.txt was taken over"):
        run(task)
    assert not (shared / "a.txt").exists()


def test_a_task_that_was_asked_to_stop_while_it_waited_does_not_begin(place):
    campaign, _, shared = place
    task = campaign.task(printed(Path("a.txt"), "--version"), Path("logs"))
    campaign.stop(task.token)
    assert run(task).code == 130
    assert not (shared / "a.txt").exists()
    campaign.close()
    assert not (shared / ".smorl" / campaign.name).exists()


def test_what_a_job_reads_is_sent_first(place):
    campaign, here, shared = place
    (here / "weights.bin").write_text("w")
    (here / "eyes").mkdir()
    (here / "eyes" / "config.json").write_text("{}")
    job = Job(("smorl", "x", "weights.bin", "--flag"), Path("a.json"), (Path("eyes"),))
    task = campaign.task(job, Path("logs"))
    assert task.inputs == ("eyes", "weights.bin")
    (here / "debug").mkdir()  # a folder that happens to be called like the preset is not read
    run_ = train(Training("debug", 0, (("perception", "weights.bin"),)), Path("a"))
    assert campaign.task(run_, Path("logs")).inputs == ("weights.bin",)
    assert (shared / "weights.bin").read_text() == "w"
    assert (shared / "eyes" / "config.json").exists()


def test_cores_are_threads_and_collectors_have_no_place_in_campaigns():
    assert cores(Job(("smorl", "x"), Path("x.json"))) == 1
    assert cores(train(Training("debug", 0, (("threads", "2"),)), Path("a"))) == 2
    with pytest.raises(InvalidInput, match="leave --collectors out"):
        cores(train(Training("debug", 0, (("collect.collectors", "1"),)), Path("a")))


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_from_what_was_shared(place):
    campaign, here, shared = place
    more = {"collect.total_steps": "10000", "checkpoint_minutes": "0", "evaluation.every": "9999"}
    job = train(Training("debug", 0, tuple(more.items())), Path("runs/a"))
    first = campaign.task(job, Path("logs"))

    def stop():
        while not list(shared.glob("runs/a/checkpoints/*/manifest.json")):
            time.sleep(0.1)
        campaign.stop(first.token)

    thread = threading.Thread(target=stop)
    thread.start()
    assert run(first).code == 130
    thread.join()
    assert not (shared / "runs/a/result.json").exists()
    assert run(campaign.task(job, Path("logs"))).code == 0
    assert "resumed at step" in (shared / "logs" / "a.log").read_text()
    campaign.finish(job)
    assert (here / "runs/a/result.json").exists()
