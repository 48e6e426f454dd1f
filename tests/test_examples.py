"""The examples run."""

import runpy
import sys
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

import smorl

SHORT = {
    "collect__total_steps": 80,
    "collect__initial_steps": 40,
    "evaluation__final_episodes": 1,
    "evaluation__every": 1000,
}
EXAMPLES = Path(__file__).parents[1] / "examples"


def run(monkeypatch, name, *argv):
    monkeypatch.setattr(sys, "argv", [name, *map(str, argv)])
    return runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_act(monkeypatch, capsys):
    run(monkeypatch, "act.py")
    assert capsys.readouterr().out.count("considered solved") == 10


def test_detect(monkeypatch, tmp_path, capsys):
    imageio.imwrite(tmp_path / "film.mp4", np.full((3, 64, 64, 3), 120, np.uint8), fps=5)
    run(monkeypatch, "detect.py", tmp_path / "film.mp4")
    assert capsys.readouterr().out.count("frame ") == 3


def test_td3_trains_in_the_place_of_sac_and_is_opened_again(tmp_path):
    """The learner is named in the run folder, so that whoever opens it finds it."""
    kind = f"{EXAMPLES / 'own_learner.py'}:Td3Config"
    options = {"learner__kind": kind, "learner__exploration": 0.1, "learner__batch_size": 8}
    result = smorl.train("debug", out=tmp_path / "run", progress=False, **SHORT, **options)
    assert result is not None
    assert result["updates"] > 0
    agent = smorl.load(tmp_path / "run")
    assert type(agent.state.learner).__name__ == "Td3"
    assert agent.config.learner.exploration == 0.1
    assert agent.evaluate(1).distance[0] > 0


def test_an_encoder_of_ones_own_trains_from_pixels(tmp_path):
    method = f"{EXAMPLES / 'own_encoder.py'}:BY_COLOUR"
    options = {"env": "smorl/VisualRearrange1-v0", "method": method, "goals__prior": "fitted"}
    result = smorl.train("debug", out=tmp_path / "run", progress=False, **SHORT, **options)
    assert result is not None
    assert result["goals_detected"] >= 1
    assert smorl.load(tmp_path / "run").encoder.layout.slots == 2


@pytest.mark.slow
def test_smorl_trains_from_the_pixels_of_a_strangers_world(monkeypatch, tmp_path, capsys):
    out = tmp_path / "run"
    run(monkeypatch, "own_env.py", out)
    captured = capsys.readouterr()
    assert "Nobody knows the truth here" in captured.err
    assert captured.err.count("are resized to 64 pixels") == 1  # said once
    agent = smorl.load(out)
    assert agent.spaces.actions == 3
    result = agent.evaluate(2)
    assert result.summary()["object_distance"] is None
    assert 0 <= result.summary()["subgoals_solved"] <= 1
