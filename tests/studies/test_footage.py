"""Recorded states, and what cameras see of them."""

import numpy as np
import pytest

from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.representations.video import episode_plan
from smorl.studies.footage import PURPOSE, pictures, record, truth

ENV = "smorl/VisualRearrange2-v0"


def test_pictures_are_those_of_the_environment():
    footage = record(ENV, episodes=2, steps=2, seed=3)
    drawn = pictures(footage, 64)
    plans = [episode_plan(3, i, 2, 2, purpose=PURPOSE) for i in range(2)]
    envs = make_visual_envs(ENV, 2, threads=1)
    observation, _ = envs.reset(seed=[plan[0] for plan in plans])
    assert (drawn[:, 0] == observation["observation"]).all()
    for t in (1, 2):
        observation, _, _, _, infos = envs.step(np.stack([plan[1][t] for plan in plans]))
        assert (drawn[:, t] == observation["observation"]).all()
        assert (footage.objects[:, t] == infos["objects"]).all()
    known = truth(footage, 64)
    segmentation = envs.unwrapped.world.segment()
    assert (known.visible[:, -1] == segmentation.visible).all()
    assert (known.arm[:, -1] == segmentation.arm).all()
    envs.close()


def test_other_cameras_see_the_same_states():
    footage = record(ENV, episodes=1, steps=1, seed=0)
    other = pictures(footage, 48, "multiobject_push")
    assert other.shape == (1, 2, 48, 48, 3)
    assert other.std() > 10


def test_an_episode_depends_on_seed_and_number_alone():
    few, many = (record(ENV, episodes=n, steps=n, seed=1) for n in (1, 2))
    assert (few.qpos[0] == many.qpos[0, :2]).all()
    assert not (record(ENV, 1, 1, seed=2).qpos == few.qpos).all()


def test_mistakes_are_named():
    with pytest.raises(InvalidInput, match="steps is 0"):
        record(ENV, 1, 0, seed=0)
    with pytest.raises(InvalidInput, match="unknown environment"):
        record("smorl/VisualRearange2-v0", 1, 1, seed=0)
