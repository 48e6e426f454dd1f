"""Somebody's own environment on the page: pictures and plots only."""

import gymnasium as gym
import numpy as np
import pytest

from smorl.envs.factory import View
from smorl.page.casting import Part
from smorl.page.charts import distances
from smorl.page.env_table import EnvTable
from smorl.page.pictures import side_by_side
from smorl.page.players import Nobody
from smorl.page.table import Setup


class Dot(gym.Env):
    """A dot on a line; one action. It ends after five steps."""

    render_mode = None

    def __init__(self, images, judge):
        shape, kind = ((16, 16, 3), np.uint8) if images else ((1,), np.float32)
        box = gym.spaces.Box(0, 255, shape, kind)
        self.observation_space = gym.spaces.Dict({"observation": box, "desired_goal": box})
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self._images, self._judge = images, judge

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._place, self._goal, self._steps = 0.0, self.np_random.uniform(1, 10), 0
        return self._see(), self._info()

    def step(self, action):
        self._place += float(action[0])
        self._steps += 1
        return self._see(), 0.0, False, self._steps >= 5, self._info()

    def _see(self):
        return {"observation": self._draw(self._place), "desired_goal": self._draw(self._goal)}

    def _draw(self, place):
        if not self._images:
            return np.float32([place])
        picture = np.zeros((16, 16, 3), np.uint8)
        picture[8, int(np.clip(place, 0, 15))] = 255
        return picture

    def _info(self):
        return (
            {"object_distances": np.array([abs(self._goal - self._place)])} if self._judge else {}
        )


class Right(Nobody):
    """Goes to the right."""

    def act(self, now):
        return np.ones(1, np.float32)


def table(images=True, judge=True, seed=0):
    envs = gym.vector.SyncVectorEnv([lambda: Dot(images, judge)])
    part = Part(Right(), View(), envs)
    return part.table(Setup(), np.random.default_rng(seed))


def test_it_plays_and_shows_pictures_without_a_3d_model():
    played = table()
    assert isinstance(played, EnvTable)
    before = played.snapshot()
    for _ in range(3):
        played.step()
    after = played.snapshot()
    assert after.body is None
    assert (before.now.picture != after.now.picture).any()
    assert after.distances[0] - after.distances[-1] == pytest.approx([3.0])
    assert side_by_side(after).shape[2] == 3
    assert "<svg" in distances(after)


def test_nothing_can_be_dragged():
    played = table()
    assert not played.move("goal", 0, (0.0, 0.5))
    played.hold(0, (0.0, 0.5))
    played.settle_held()
    played.release(0)


def test_states_and_environments_that_do_not_judge_work_too():
    played = table(images=False, judge=False)
    for _ in range(7):  # beyond the end of an episode
        played.step()
    snapshot = played.snapshot()
    assert snapshot.distances.shape[1] == 0
    assert distances(snapshot) == ""
    assert snapshot.now.picture.shape == (64, 64, 3)


def test_two_tables_can_start_the_same_episode():
    first, second = table(seed=1), table(seed=2)
    second.copy_from(first)
    assert (first.snapshot().goal.picture == second.snapshot().goal.picture).all()
