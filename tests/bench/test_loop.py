"""The loop benchmark measures what it says, in every part, quickly."""

import json
from dataclasses import replace

import pytest
import torch

from smorl.bench import loop
from smorl.bench.parts import PARTS, as_text
from smorl.bench.reference_loop import ReferenceLoop
from smorl.cli import bench
from smorl.errors import InvalidInput
from smorl.presets import get_preset


@pytest.fixture
def small(monkeypatch):
    """The whole benchmark with the debug presets in both roles."""
    monkeypatch.setattr(loop, "PRESET", "debug-visual")
    monkeypatch.setattr(loop, "PAPER_PRESET", "debug")
    monkeypatch.setattr(loop, "PAPER_PERCEPTION", "debug-scalor")


def test_report_is_complete_and_consistent(small, capsys):
    assert bench.main(["loop", "--json", "--quick", "--threads", "1"]) == 0
    out, progress = capsys.readouterr()
    report = json.loads(out)
    (ours,), (theirs,) = report["loops"], report["reference"]
    assert (ours["rows"], theirs["rows"]) == (2, 1)
    assert (ours["env_steps"], theirs["env_steps"]) == (80, 20)
    config = get_preset("debug-visual").build().collect
    assert ours["updates_per_step"] == config.updates_per_step
    assert theirs["updates_per_step"] == 1
    for row in (ours, theirs):
        parts = row["parts"]
        assert list(parts) == list(PARTS)
        spent = {name for name, part in parts.items() if part["ms_per_step"] > 0}
        ours_only = {"fitting"} if row is ours else set()
        assert spent == {*PARTS} - {"waiting", "fitting"} | ours_only
        assert sum(part["share"] for part in parts.values()) == pytest.approx(1.0)
        total = sum(part["ms_per_step"] for part in parts.values())
        assert total == pytest.approx(row["ms_per_step"])
        assert row["env_steps_per_second"] == pytest.approx(1e3 / row["ms_per_step"])
    (ratio,) = report["ratios"]
    expected = ours["env_steps_per_second"] / theirs["env_steps_per_second"]
    assert ratio["ratio"] == pytest.approx(expected)
    assert 0.05 < report["memory_gb"] < 50
    assert "1 round(s) of debug-visual, 1 thread(s)" in progress
    table = as_text(report)
    for part in (*PARTS, "steps/s", "by CPU", "times the steps/s", "peak memory", "goals:"):
        assert part in table


def test_a_second_core_plays_ahead_of_the_learner(small):
    """Nothing is left of playing in the learner's time but waiting for it."""
    row = loop.measure_ours(2, rounds=2)
    assert (row["threads"], row["collectors"], row["env_steps"]) == (2, 1, 160)
    spent = {name for name, part in row["parts"].items() if part["ms_per_step"] > 0}
    assert spent == {"waiting", "relabelling", "updating", "fitting", "rest"}


def test_threads_must_be_positive():
    before = torch.get_num_threads()
    with pytest.raises(InvalidInput, match="--threads 0"):
        loop.main(["--threads", "0"])
    assert torch.get_num_threads() == before


def test_the_released_recipe_learns_from_what_it_collects():
    """Its rounds end in replay, and every update changes the networks by finite numbers."""
    config = get_preset("debug").build()
    config = replace(config, env="smorl/VisualRearrange1-v0")
    recipe = ReferenceLoop(config, "debug-scalor")
    before = {k: v.clone() for k, v in recipe.sac.policy.state_dict().items()}
    first = recipe.replay.episodes.actions[0].copy()
    assert recipe.round() == config.collect.horizon
    recipe.envs.close()
    assert (recipe.replay.episodes.actions[0] != first).all()
    after = recipe.sac.policy.state_dict()
    assert all(torch.isfinite(value).all() for value in after.values())
    assert any((after[name] != value).any() for name, value in before.items())
