"""The learner benchmark measures what it says, in every part, quickly."""

import json

import numpy as np
import pytest

from smorl.bench import clock, learner
from smorl.bench.synthetic import LAYOUT, filled_replay, random_batch
from smorl.errors import InvalidInput


@pytest.fixture
def small(monkeypatch):
    """The whole benchmark with the sizes of a test and the loop of the debug preset."""
    loop, engines = learner.measure_loop, learner.measure_engines
    monkeypatch.setattr(learner, "BATCHES", (8, 16))
    monkeypatch.setattr(learner, "SLOTS", (2, 4))
    monkeypatch.setattr(learner, "EPISODES", 50)
    monkeypatch.setattr(learner, "measure_loop", lambda rounds: loop(1, "debug"))
    monkeypatch.setattr(learner, "measure_engines", lambda repeats: engines(repeats, batch=8))


def test_json_report_is_complete_and_consistent(small, capsys):
    assert learner.main(["--json", "--quick", "--threads", "1"]) == 0
    out, progress = capsys.readouterr()
    report = json.loads(out)
    assert [row["batch"] for row in report["updates"]] == [8, 16]
    for row in report["updates"]:
        assert row["ratio"] == pytest.approx(row["reference_ms"] / row["ours_ms"])
        assert row["cpu_ratio"] == pytest.approx(row["reference_cpu_ms"] / row["ours_cpu_ms"])
    assert {"visual-rearrange-1", "gt-rearrange-2"} < {row["preset"] for row in report["engines"]}
    for row in report["engines"]:
        assert row["cpu_ratio"] == pytest.approx(row["torch_cpu_ms"] / row["compiled_cpu_ms"])
    relabelling = report["relabelling"]
    assert {row["relabel"] for row in relabelling} == set(learner.RELABELLING)
    assert all(row["share"] > 0 for row in relabelling)
    assert report["slots"][0]["over_linear"] == 1.0
    loop = report["loop"]
    assert loop["env_steps_per_second"] > 0
    assert {"collect", "relabel", "update"} <= set(loop["split"])
    assert sum(loop["split"].values()) == pytest.approx(1.0)
    assert "update, batch 16" in progress


def test_table_for_people_names_every_part(small, capsys):
    assert learner.main(["--quick", "--threads", "1"]) == 0
    table = capsys.readouterr().out
    for part in ("plain ms", "engines", "any_object + moved", "over linear", "steps/s", "goals:"):
        assert part in table


def test_threads_must_be_positive():
    with pytest.raises(InvalidInput, match="--threads 0"):
        learner.main(["--threads", "0"])


def test_taking_turns_returns_the_median_of_each_case_without_warm_up(monkeypatch):
    readings = iter(np.cumsum([0, 9, 0, 9, 0, 9, 0, 9, 0, 1, 0, 4, 0, 2, 0, 5, 0, 30, 0, 6]))
    monkeypatch.setattr(clock, "_clocks", lambda: next(readings) * np.array([1.0, 0.5]))
    ran = []
    cases = {"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}
    found = clock.take_turns(cases, repeats=3)
    assert "".join(ran) == "ababababab"
    assert {name: pair.tolist() for name, pair in found.items()} == {
        "a": [2000.0, 1000.0],
        "b": [5000.0, 2500.0],
    }


def test_synthetic_replay_relabels_to_real_futures():
    """Three objects, most frames matched: what the relabelling benchmark has to look through."""
    replay, space = filled_replay(LAYOUT, episodes=20, seed=0)
    objects = replay.episodes.objects
    assert 2.5 < objects.present.sum(-1).mean() < 3
    steps = objects.present.shape[1]
    goal = replay.episodes.goal.map(lambda array: np.repeat(array[:, None], steps, 1))
    _, matched = space.achieved(objects, goal)
    assert 0.8 < matched.mean() < 1
    batch = random_batch(10, LAYOUT, seed=0)
    assert batch.present[:, 0].all()
    assert not batch.objects[~batch.present].any()
