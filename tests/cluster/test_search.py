"""Search on runs that only pretend to train: proposals, early stopping, and going on later."""

import json
from pathlib import Path

import pytest

from smorl.cluster.axes import parse_axes
from smorl.cluster.search import FILE, Search
from smorl.cluster.sweep import Sweep
from smorl.cluster.sweep_report import draw, keep, read_row, table
from smorl.errors import RunConflict
from smorl.paper.progress import Board
from smorl.paper.runner import Ended, Runner

pytest.importorskip("optuna")
HEADER = "env_steps,object_distance\n"


class Pretended:
    """A place where the distance of a run is its learning rate's distance from 1e-3."""

    def __init__(self, size=1, dies_after=None):
        self.size, self.dies_after, self.started = size, dies_after, []

    def room(self, job, running):
        return len(running) < self.size

    def start(self, job):
        self.started.append(job)
        if self.dies_after is not None and len(self.started) > self.dies_after:
            raise KeyboardInterrupt
        return PretendedRun(job)

    def refresh(self, running):
        pass


class PretendedRun:
    """Evaluates at every look: at 80, 160 and 240 steps."""

    def __init__(self, job):
        self.job, self.looks, self.stopped = job, 0, False
        config = job.training.config()
        self.distance = abs(config["learner"]["lr"] - 1e-3)
        job.writes.mkdir(parents=True)
        (job.writes / "config.json").write_text(json.dumps(config))
        (job.writes / "evaluations.csv").write_text(HEADER)

    def poll(self):
        if self.stopped:
            return Ended(130, "saved")
        self.looks += 1
        if self.looks > 3:
            (self.job.writes / "result.json").write_text(
                json.dumps({"object_distance": self.distance})
            )
            return Ended(0, "")
        with (self.job.writes / "evaluations.csv").open("a") as file:
            file.write(f"{80 * self.looks},{self.distance}\n")
        return None

    def stop(self):
        self.stopped = True


@pytest.fixture
def sweep(tmp_path):
    axes = parse_axes(["learner.lr=log(1e-4,1e-1)"])
    return Sweep("debug", (), axes, tmp_path / "out")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("smorl.paper.runner._POLL", 0.0)


def run(sweep, place, number=8):
    search = Search(sweep, number, place.size, every=0.0)
    todo = search.begin()
    board = Board(todo, 1, planned=number)
    runner = Runner(todo, place, retries=0)
    outcome = runner.run(lambda r: search.steer(r, board), lambda text: None)
    return search, outcome


def test_bad_runs_are_stopped_and_the_best_is_found(sweep, tmp_path):
    search, outcome = run(sweep, Pretended())
    assert len(search.trials) == 8
    assert outcome.halted  # some fell behind
    assert len(outcome.done) + len(outcome.halted) == 8
    stopped = [t for t in search.trials if t.state == "stopped"]
    assert [t.name for t in stopped] == [job.name for job in outcome.halted]
    best = search.best()
    distances = {t.name: abs(t.values["learner.lr"] - 1e-3) for t in search.trials}
    assert distances[best.name] == min(distances.values())
    rows = [read_row(sweep.out / t.name, search.texts(t), 0) for t in search.trials]
    lines = table(rows, sweep.axes).splitlines()
    assert f"**{distances[best.name]:.3f}**" in lines[2]
    assert "stopped at" in lines[-1]
    picture = draw(rows, sweep.axes, tmp_path / "sweep.png")
    kept = keep(rows, [picture, sweep.out / FILE], tmp_path / "kept")
    assert len(kept) == 10
    assert (tmp_path / "kept" / stopped[0].name / "evaluations.csv").exists()


def test_a_search_that_was_cut_goes_on_where_it_was(sweep):
    with pytest.raises(KeyboardInterrupt):
        run(sweep, Pretended(dies_after=3))
    before = json.loads((sweep.out / FILE).read_text())["trials"]
    assert len(before) == 4  # the fourth was proposed, and never began
    place = Pretended()
    search, _ = run(sweep, place)
    after = [trial.values for trial in search.trials]
    assert after[:4] == [trial["values"] for trial in before]
    assert place.started[0].name == "trial-003"
    assert len(place.started) == 5
    assert len({json.dumps(values) for values in after}) == 8
    # And when all is done nothing runs.
    place = Pretended()
    run(sweep, place)
    assert place.started == []


def test_another_search_in_the_same_folder_is_refused(sweep):
    run(sweep, Pretended(), number=1)
    other = Sweep("debug", (("learner.batch_size", "16"),), sweep.axes, sweep.out)
    with pytest.raises(RunConflict, match="holds another search"):
        Search(other, 1, 1)


def test_nothing_is_written_for_a_dry_run(sweep):
    search = Search(sweep, 4, 2, write=False)
    assert [job.name for job in search.begin()] == ["trial-000", "trial-001"]
    assert not Path(sweep.out).exists()
