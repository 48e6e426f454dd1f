"""`import smorl`: what it offers, and what it does not drag in."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import smorl
from smorl.errors import InvalidInput
from smorl.library import make_config

ACTING = """
import sys
import smorl
assert "torch" not in sys.modules, "environments alone need no torch"
actor = smorl.load("shipped:visual-rearrange-1").actor()
trainers = ("smorl.training.loop", "smorl.training.collector",
            "smorl.representations.scalor.training.loop", "smorl.library.running")
assert not [name for name in trainers if name in sys.modules]
"""


def test_opening_an_agent_imports_no_trainer():
    done = subprocess.run([sys.executable, "-c", ACTING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_offered_is_there():
    assert {"train", "load", "load_perception", "train_perception", "Actor"} <= set(dir(smorl))
    for name in smorl.__all__:
        assert callable(getattr(smorl, name))
    with pytest.raises(AttributeError, match="tarin"):
        smorl.tarin  # noqa: B018


def test_an_agent_acts_on_pictures_and_tells_what_it_sees():
    agent = smorl.load("shipped:visual-rearrange-1")
    assert torch.get_num_threads() == 1
    assert agent.state.replay.capacity * agent.state.replay.horizon < 1000
    envs = agent.envs(1)
    observation, _ = envs.reset(seed=[7])
    actor = agent.actor()
    actor.reset(observation["desired_goal"])
    action = actor.act(observation["observation"])
    assert action.shape == (1, 2)
    assert actor.objects.present.any()
    assert actor.targets.present.any()
    assert not actor.finished.any()
    envs.close()


def test_evaluation_of_a_loaded_agent_is_that_of_the_command(capsys):
    from smorl.cli import main

    result = smorl.load("shipped:visual-rearrange-1").evaluate(1, seed=5)
    assert main(["evaluate", "shipped:visual-rearrange-1", "--episodes", "1", "--seed", "5"]) == 0
    assert f"object_distance         {result.distance[0]:.4f}" in capsys.readouterr().out


def test_settings_are_overridden_by_name():
    config = make_config("debug", 3, {"learner__lr": 0.01, "collect.horizon": 7})
    assert (config.seed, config.learner.lr, config.collect.horizon) == (3, 0.01, 7)
    with pytest.raises(InvalidInput, match=r"Did you mean 'learner\.lr'"):
        make_config("debug", None, {"learner__lrr": 1})


def test_tracking_a_video_of_another_size():
    frames = np.full((3, 48, 80, 3), 200, np.uint8)
    perception = smorl.load_perception("shipped:scalor-1")
    found = perception.track(frames)
    assert found.present.shape[0] == 3
    assert found.position.shape[:2] == found.present.shape
    with pytest.raises(InvalidInput, match="a video is uint8"):
        perception.track(frames / 255)


def test_nonsense_threads_are_refused():
    with pytest.raises(InvalidInput, match="threads is 0"):
        smorl.load("shipped:visual-rearrange-1", threads=0)
