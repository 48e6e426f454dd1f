"""Campaigns on a real Ray, started for the test: three nodes, one killed, the driver too."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from smorl.cli import main
from smorl.cluster.remote import Campaign
from smorl.cluster.shared import Shared
from smorl.errors import InvalidInput, SmorlError
from smorl.paper.jobs import Job, Training, conflicts, pending, train, with_tensorboard
from smorl.paper.local import LocalPlace
from smorl.paper.runner import Runner
from tests.cli.same_run import assert_same_checkpoints, assert_same_files, assert_same_results

pytest.importorskip("ray")
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
# Long enough to be cut in the middle; a checkpoint after every round.
LONG = {
    "collect.total_steps": "1600", "checkpoint_minutes": "0", "evaluation.every": "800",
    "threads": "1",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _as_fast_as_others(monkeypatch):
    """Ray makes its workers give way to everything else; tests that wait for them must not."""
    monkeypatch.setenv("RAY_worker_niceness", "0")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster of three nodes on this machine, joined by nobody yet."""
    import ray
    from ray.cluster_utils import Cluster

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMORL_SCRATCH", str(tmp_path / "scratch"))
    found = Cluster(initialize_head=True, head_node_args=NODE)
    plain = found.add_node

    def patiently(**options):
        """Ray gives a node half a minute to start, which may be a busy one."""
        try:
            return plain(**options)
        except Exception:
            return plain(**options)

    found.add_node = patiently
    yield found
    ray.shutdown()
    found.shutdown()


def runs(folder, seeds, **more):
    settings = tuple((LONG | more).items())
    return [train(Training("debug", s, settings), folder / f"a-seed{s}") for s in seeds]


def carry_out(jobs, place, show=lambda runner: None):
    notes = []
    return Runner(jobs, place).run(show, notes.append), notes


def assert_same_runs(one, other, jobs):
    for job in jobs:
        a, b = one / job.writes, other / job.writes
        assert_same_files(a, b, "metrics.jsonl", "evaluations.csv", "config.json")
        assert_same_checkpoints(a, b)
        assert_same_results(a, b, "seconds")


def test_jobs_on_a_ray_of_our_own(tmp_path, monkeypatch):
    from smorl.cluster.ray import RayPlace

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("SMORL_SCRATCH", str(tmp_path / "scratch"))
    first = Job(("smorl", "--version"), Path("a.txt"), printed=True)
    bad = Job(("smorl", "tran"), Path("bad.txt"), (first.writes,), printed=True)
    with RayPlace(Campaign(Shared(tmp_path)), Path("logs"), "local", limit=1) as place:
        assert place.size == 1
        wide = train(Training("debug", 0, (("threads", "2"),)), Path("wide"))
        with pytest.raises(InvalidInput, match=r"wants 2 threads .* has 1 cores"):
            place.check([first, wide])
        outcome, _ = carry_out([first, bad], place)
    assert outcome.done == [first]
    assert "Did you mean 'train'?" in outcome.failed["bad.txt"]
    assert (tmp_path / "a.txt").read_text().startswith("smorl ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "logs", "scratch"]
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_ray_that_does_not_start_is_tried_again_and_then_told(monkeypatch):
    import ray

    from smorl.cluster.ray import connect

    tries = []

    def init(**options):
        tries.append(options["num_cpus"])
        if len(tries) != 2:
            raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    connect("local", 3)
    assert tries == [3, 3]
    with pytest.raises(SmorlError, match=r"cannot join .* timed out during startup"):
        connect("local", 3)
    assert len(tries) == 4


@pytest.mark.slow
def test_a_node_is_lost_in_mid_run_and_nothing_else(cluster, tmp_path):
    from smorl.cluster.ray import RayPlace

    nodes = [cluster.add_node(**NODE) for _ in range(2)]
    jobs, shared = runs(Path("runs"), range(3)), tmp_path / "shared"
    killed = []

    def kill_a_node(runner):
        whole = list(shared.glob("runs/*/checkpoints/*/manifest.json"))
        if not killed and len({path.parents[2] for path in whole}) == 3:
            cluster.remove_node(nodes[0], allow_graceful=False)
            killed.append(len(runner.running))

    with RayPlace(Campaign(Shared(shared)), Path("logs"), cluster.address) as place:
        assert place.size == 3
        outcome, notes = carry_out(jobs, place, kill_a_node)
    assert killed == [3]
    assert set(outcome.done) == set(jobs)
    assert any("died" in note and "attempt 2" in note for note in notes)
    assert any("resumed at" in path.read_text() for path in shared.glob("logs/*.log"))
    local = tmp_path / "local"
    local.mkdir()
    os.chdir(local)
    outcome, _ = carry_out(jobs, LocalPlace(1, Path("logs")))
    assert set(outcome.done) == set(jobs)
    assert_same_runs(tmp_path, local, jobs)  # what was followed, also what came back from there


@pytest.mark.slow
def test_the_driver_is_killed_and_started_again(cluster, tmp_path):
    settings = LONG | {"collect.total_steps": "480"}
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    command = [sys.executable, "-m", "smorl", "sweep", "debug", "--set", "learner.lr=1e-3"]
    command += ["--out", "runs", *words]
    env = {**os.environ, "RAY_ADDRESS": cluster.address}
    driver = subprocess.Popen([*command, "--on", "ray"], env=env, start_new_session=True)
    wait_for(lambda: list(tmp_path.glob("runs/*/checkpoints/*/manifest.json")), driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert not list(tmp_path.glob("runs/*/result.json"))
    again = subprocess.run([*command, "--on", "ray"], env=env, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "1 of 1 runs to do" in again.stderr
    assert "resumed at step" in (tmp_path / "runs/logs/learner.lr=1e-3-seed0.log").read_text()
    again = subprocess.run([*command, "--on", "ray"], env=env, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "runs to do" not in again.stderr  # all is there
    (tmp_path / "local").mkdir()
    assert subprocess.run(command, cwd=tmp_path / "local").returncode == 0
    training = Training("debug", 0, (*settings.items(), ("learner.lr", "1e-3")))
    job = train(training, Path("runs/learner.lr=1e-3-seed0"))
    assert_same_runs(tmp_path, tmp_path / "local", [job])


def wait_for(condition, process):
    began = time.monotonic()
    while not condition():
        assert process.poll() is None
        assert time.monotonic() - began < 600
        time.sleep(0.05)


@pytest.mark.slow
def test_ctrl_c_saves_all_runs_on_the_cluster(cluster, tmp_path):
    from smorl.cluster.ray import RayPlace

    cluster.add_node(**NODE)
    jobs = runs(Path("runs"), range(3))

    def interrupt(runner):
        if not runner.outcome.stopped and len(list(tmp_path.glob("runs/*/metrics.jsonl"))) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with RayPlace(Campaign(Shared(tmp_path)), Path("logs"), cluster.address) as place:
        outcome, _ = carry_out(jobs, place, interrupt)
    assert outcome.stopped
    assert not outcome.failed
    assert len(list(tmp_path.glob("runs/*/checkpoints/*/manifest.json"))) >= 2
    states, _ = conflicts(jobs)
    assert sorted(states) == ["begun", "begun", "new"]
    assert pending(jobs, states) == jobs


@pytest.mark.slow
def test_the_folder_can_be_looked_at_at_any_time(tmp_path, monkeypatch, capsys):
    from smorl.cluster.ray import RayPlace

    multiplexer = pytest.importorskip(
        "tensorboard.backend.event_processing.plugin_event_multiplexer"
    )
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("SMORL_SCRATCH", str(tmp_path / "scratch"))
    monkeypatch.setattr("smorl.cluster.remote._REFRESH", 1.0)
    more = {"collect.total_steps": "640", "evaluation.every": "160"}
    jobs = [with_tensorboard(job) for job in runs(Path("runs"), range(2), **more)]
    looked = []

    def look(runner):
        """One run is finished, the other is not, and its evaluations have come here."""
        begun = Path("runs/a-seed1/evaluations.csv")
        rows = len(begun.read_text().splitlines()) if begun.exists() else 0
        if len(runner.outcome.done) == 1 and rows > 1 and not looked:
            assert main(["results", "runs"]) == 0
            assert main(["curves", "runs", "--out", "curves.png"]) == 0
            looked.append(capsys.readouterr().out)

    with RayPlace(Campaign(Shared(tmp_path / "far")), Path("logs"), "local", limit=1) as place:
        outcome, _ = carry_out(jobs, place, look)
    assert outcome.done == jobs
    assert len(looked) == 1
    assert "| smorl-gt |" in looked[0]
    assert Path("curves.png").stat().st_size > 10_000
    boards = multiplexer.EventMultiplexer().AddRunsFromDirectory("runs")
    boards.Reload()
    assert set(boards.Runs()) == {"a-seed0/tensorboard", "a-seed1/tensorboard"}
    shown = boards.Tensors("a-seed1/tensorboard", "evaluation/object_distance")
    with open("runs/a-seed1/evaluations.csv") as file:
        rows = list(csv.DictReader(file))
    assert [event.step for event in shown] == [int(row["env_steps"]) for row in rows]


class Watched:
    """A place that notes how long every job takes beyond its own command."""

    def __init__(self, place):
        self.place, self.size, self.overheads = place, place.size, []

    def room(self, job, running):
        return self.place.room(job, running)

    def start(self, job):
        return WatchedJob(self.place.start(job), self.overheads)

    def refresh(self, running):
        self.place.refresh(running)


class WatchedJob:
    def __init__(self, child, overheads):
        self.job, self.child, self.overheads = child.job, child, overheads
        self.began = time.monotonic()

    def poll(self):
        ended = self.child.poll()
        if ended is not None:
            self.overheads.append(time.monotonic() - self.began - ended.seconds)
        return ended

    def stop(self):
        self.child.stop()


def memory():
    """Resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# A whole run, training and evaluation, that takes hardly longer than its imports.
TINY = {
    "threads": "1", "collect.num_envs": "1", "collect.horizon": "5", "collect.total_steps": "10",
    "collect.initial_steps": "5", "evaluation.every": "1000", "evaluation.final_episodes": "1",
    "evaluation.controller": "policy", "evaluation.subgoals.attempts": "1",
}  # fmt: skip
SAYS = "SMORL_TINY_RUNS"  # where to write what was measured, if anywhere


@pytest.mark.slow
def test_two_hundred_tiny_runs_cost_little_and_leave_nothing(tmp_path, monkeypatch):
    import ray

    from smorl.cluster.ray import RayPlace

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("SMORL_SCRATCH", str(tmp_path / "scratch"))
    number, at_once = 200, 2
    settings = tuple(TINY.items())
    jobs = [train(Training("debug", n, settings), Path(f"runs/{n:03d}")) for n in range(number)]
    seen = {}  # by the number of finished runs

    def look(runner):
        now = (memory(), len(os.listdir("/proc/self/fd")), threading.active_count())
        seen.setdefault(len(runner.outcome.done), now)

    began = time.monotonic()
    with RayPlace(Campaign(Shared(tmp_path)), Path("logs"), "local", limit=at_once) as place:
        watched = Watched(place)
        outcome, _ = carry_out(jobs, watched, look)
        left = ray.available_resources()
    assert len(outcome.done) == number
    report = {
        "command": "smorl train debug " + " ".join(f"--{k} {v}" for k, v in settings),
        "runs": number, "at_once": at_once, "seconds": round(time.monotonic() - began, 1),
        "overheads": [round(seconds, 3) for seconds in watched.overheads],
        "runs_done": list(seen), "driver_mb": [round(row[0], 1) for row in seen.values()],
        "driver_files": [row[1] for row in seen.values()],
        "driver_threads": [row[2] for row in seen.values()],
    }  # fmt: skip
    if SAYS in os.environ:
        Path(os.environ[SAYS]).write_text(json.dumps(report) + "\n")
    # The first ones wait for Ray's workers to start.
    assert float(np.median(watched.overheads[at_once:])) < 2.0
    warm, end = seen[min(n for n in seen if n >= number // 4)], seen[max(seen)]
    assert end[0] - warm[0] < 20.0
    assert end[1] <= warm[1] + 4
    assert end[2] <= warm[2] + 2
    assert left["CPU"] == at_once
    assert len(list(tmp_path.glob("runs/*/result.json"))) == number
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (tmp_path / ".smorl").exists()


@pytest.mark.slow
def test_collectors_on_ray_play_what_one_plays_here_and_one_may_die(tmp_path, monkeypatch):
    import ray

    from smorl.cluster.collectors import RayCollectors
    from tests.training.test_ahead import Here, config
    from tests.training.test_ahead import train as train_with

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    settings = config()

    class Mortal(RayCollectors):
        rounds = 0

        def begin(self, orders):
            super().begin(orders)
            self.rounds += 1
            if self.rounds == 3:
                ray.kill(self._actors[0])

    collectors = Mortal(settings, None, "local")
    train_with(tmp_path / "ray", collectors, settings)
    collectors.close()
    train_with(tmp_path / "here", Here(settings, late=False), settings)
    assert_same_files(tmp_path / "ray", tmp_path / "here", "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(tmp_path / "ray", tmp_path / "here")
