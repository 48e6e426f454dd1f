"""Rollouts in lockstep, on a world made of plain arithmetic."""

import gymnasium as gym
import numpy as np

from smorl.goals.base import GoalConfig
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.training.collector import collect

SPACE = MatchedGoals(GoalConfig(), UniformPrior(np.float32([5, 5]), np.float32([6, 6])))


class Counting(gym.vector.VectorEnv):
    """The hand starts at its seed and walks by its action; one puck stays at (-1, -1)."""

    def __init__(self, num_envs, diverges=None):
        self.num_envs, self.diverges = num_envs, diverges
        self.action_space = gym.spaces.Box(-1, 1, (num_envs, 2), np.float32)
        self.resets = 0

    def reset(self, *, seed=None, options=None):
        self.resets += 1
        self.steps = 0
        self.hand = np.repeat(np.array(seed, np.float32)[:, None] % 1000, 2, 1)
        return self._observe(), {}

    def step(self, actions):
        self.hand = self.hand + actions
        self.steps += 1
        truncated = np.zeros(self.num_envs, bool)
        if self.diverges is not None and self.steps == 4:
            truncated[self.diverges] = True
        return self._observe(), np.zeros(self.num_envs), truncated & False, truncated, {}

    def _observe(self):
        puck = np.full((self.num_envs, 2), -1.0, np.float32)
        return {"observation": np.concatenate([self.hand, puck], 1)}


def right(objects, goal):
    return np.ones((len(goal.what), 2), np.float32)


def test_one_episode_per_row():
    envs = Counting(3)
    rng = np.random.default_rng(0)
    episodes = collect(envs, GroundTruthObjects(2), right, SPACE, 5, rng)
    assert episodes.actions.shape == (3, 5, 2)
    assert episodes.objects.position.shape == (3, 6, 2, 2)
    hand = episodes.objects.position[:, :, 0, 0]
    np.testing.assert_array_equal(hand - hand[:, :1], np.tile(np.arange(6), (3, 1)))
    assert len(set(hand[:, 0])) == 3  # rows have seeds of their own
    assert (episodes.goal.position >= 5).all()


def test_more_goals_go_on_where_the_last_one_ended():
    envs = Counting(2)
    rng = np.random.default_rng(0)
    episodes = collect(envs, GroundTruthObjects(2), right, SPACE, 5, rng, goals_per_reset=3)
    assert envs.resets == 1
    assert episodes.actions.shape == (6, 5, 2)
    hand = episodes.objects.position[:, :, 0, 0]
    np.testing.assert_array_equal(hand[2:4, 0], hand[0:2, -1])
    np.testing.assert_array_equal(hand[4:6, 0], hand[2:4, -1])
    assert len(np.unique(episodes.goal.position[:, 0])) == 6


def test_the_stream_decides_everything():
    def run():
        return collect(
            Counting(2), GroundTruthObjects(2), right, SPACE, 4, np.random.default_rng(3)
        )

    one, two = run(), run()
    np.testing.assert_array_equal(one.objects.position, two.objects.position)
    np.testing.assert_array_equal(one.goal.position, two.goal.position)


def test_rows_whose_physics_diverges_are_left_out():
    rng = np.random.default_rng(0)
    envs = Counting(3, diverges=1)
    episodes = collect(envs, GroundTruthObjects(2), right, SPACE, 5, rng, goals_per_reset=2)
    assert episodes.actions.shape == (4, 5, 2)
    hand = episodes.objects.position[:, :, 0, 0]
    np.testing.assert_array_equal(hand[2:, 0], hand[:2, -1])


def test_pictures_come_in_the_order_of_the_episodes():
    for diverges in (None, 1):
        kept = []
        episodes = collect(
            Counting(3, diverges),
            GroundTruthObjects(2),
            right,
            SPACE,
            5,
            np.random.default_rng(0),
            goals_per_reset=2,
            pictures=kept,
        )
        (seen,) = kept
        assert seen.shape == (6 if diverges is None else 4, 6, 4)
        np.testing.assert_array_equal(seen[..., :2], episodes.objects.position[:, :, 0])
