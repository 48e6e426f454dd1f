"""SLURM through submitit, whose local executor runs the very same tasks on this machine."""

import json
from pathlib import Path

import pytest

from smorl.cluster.remote import Campaign
from smorl.cluster.shared import Shared
from smorl.cluster.slurm import SlurmPlace, Submitted, ended_file
from smorl.errors import InvalidInput
from smorl.paper.jobs import Job
from smorl.paper.runner import Runner

pytest.importorskip("submitit")


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMORL_SCRATCH", str(tmp_path / "scratch"))
    return Campaign(Shared(tmp_path))


def test_jobs_run_in_order_and_failures_are_told(campaign, tmp_path):
    first = Job(("smorl", "--version"), Path("a.txt"), printed=True)
    bad = Job(("smorl", "tran"), Path("bad.txt"), (first.writes,), printed=True)
    with SlurmPlace(campaign, Path("logs"), 2, cluster="local") as place:
        outcome = Runner([bad, first], place).run(lambda runner: None, lambda text: None)
    assert outcome.done == [first]
    assert "Did you mean 'train'?" in outcome.failed["bad.txt"]
    assert not (tmp_path / ".smorl").exists()


def test_a_job_that_slurm_ended_is_lost_and_one_that_is_preempted_goes_on(campaign, monkeypatch):
    class Gone:
        state = "NODE_FAIL"

        def done(self):
            return True

        def stderr(self):
            return "slurmstepd: killed\n"

    job = Job(("smorl", "--version"), Path("a.txt"), printed=True)
    place = SlurmPlace(campaign, Path("logs"), 1, {"timeout_min": "5"}, cluster="local")
    monkeypatch.setattr(place._executor, "submit", lambda call, task: Gone())
    child = place.start(job)
    ended = child.poll()
    assert ended.lost
    assert ended.words == "SLURM ended it (NODE_FAIL): slurmstepd: killed"
    # What the task itself said counts more.
    campaign.shared.write(ended_file(child._task), json.dumps({"code": 2, "words": "diverged"}))
    assert child.poll().words == "diverged"
    task = campaign.task(job, Path("logs"))
    again = Submitted().checkpoint(task)
    assert again.args == (task,)


def test_mistakes_get_one_clear_sentence(campaign):
    with pytest.raises(InvalidInput, match="SLURM cannot be used here"):
        SlurmPlace(campaign, Path("logs"), 1, {"nonsense": "1"}, cluster="local")
