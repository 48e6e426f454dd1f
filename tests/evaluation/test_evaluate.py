"""Evaluation on a world made of plain arithmetic: what is measured, and when episodes end."""

import gymnasium as gym
import numpy as np

from smorl.evaluation.evaluate import evaluate
from smorl.evaluation.subgoals import SubgoalConfig
from smorl.goals.priors import UniformPrior
from smorl.goals.spaces import GoalConfig, GoalSpace
from smorl.perception.ground_truth import GroundTruthObjects

SPACE = GoalSpace(GoalConfig(), UniformPrior(np.float32([0, 0]), np.float32([1, 1])))


class Carry(gym.vector.VectorEnv):
    """Hand and one puck on a line; the puck moves with the hand. Goals: puck at 1, hand at 0."""

    def __init__(self, num_envs, diverges_at=None):
        self.num_envs, self.diverges_at = num_envs, diverges_at
        self.action_space = gym.spaces.Box(-1, 1, (num_envs, 2), np.float32)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        self.puck = np.array([0.1 * (s % 5) for s in seed])
        return self._observe(), self._info()

    def step(self, actions):
        self.steps += 1
        self.puck = self.puck + 0.1 * actions[:, 0]
        truncated = np.zeros(self.num_envs, bool)
        info = self._info()
        if self.steps == self.diverges_at:
            truncated[0] = True
            last = self._info()
            self.puck[0] = -100.0  # the row starts again somewhere else
            info = {**self._info(), "final_info": last}
        return self._observe(), -self.puck, truncated & False, truncated, info

    def _info(self):
        distance = np.abs(1 - self.puck)
        return {"object_distance": distance, "object_distances": distance[:, None]}

    def _observe(self):
        zero, one = np.zeros(self.num_envs), np.ones(self.num_envs)
        state = np.stack([zero, zero, self.puck, zero], 1).astype(np.float32)
        goal = np.stack([zero, zero, one, zero], 1).astype(np.float32)
        return {"observation": state, "desired_goal": goal}


class Right:
    """Pushes right while the goal is the puck's and not reached, else stays."""

    def act(self, objects, goal):
        wants = (goal.what[:, 1] == 1) & (objects.position[:, 1, 0] < 0.96)
        return np.stack([wants, wants * 0], 1).astype(np.float32)

    def value(self, objects, goal):
        return -np.linalg.norm(objects.position[:, 1] - goal.position, axis=-1)


def test_the_metric_is_the_distance_on_the_last_step():
    result = evaluate(
        Carry(3), GroundTruthObjects(2), Right(), SPACE, SubgoalConfig(12, 3), episodes=5, seed=0
    )
    np.testing.assert_allclose(result.passive, [1.0, 0.9, 0.8, 0.7, 0.6])
    np.testing.assert_allclose(result.distance, 0, atol=1e-6)
    assert result.success.all()
    assert (result.solved == 1).all()
    # Episodes end when every sub-goal is solved at the end of an attempt.
    assert set(result.length) <= {12, 24}
    assert result.summary()["episodes"] == 5


def test_too_little_time_leaves_a_distance():
    config = SubgoalConfig(3, 1, order="hardest")
    result = evaluate(Carry(2), GroundTruthObjects(2), Right(), SPACE, config, episodes=2, seed=0)
    np.testing.assert_allclose(result.distance, [0.7, 0.6], atol=1e-6)
    assert (result.length == 3).all()
    assert not result.success.any()


def test_a_diverged_row_keeps_its_last_distance():
    config = SubgoalConfig(10, 1, order="hardest")
    result = evaluate(
        Carry(2, diverges_at=4), GroundTruthObjects(2), Right(), SPACE, config, episodes=2, seed=0
    )
    np.testing.assert_allclose(result.distance, [0.6, 0.0], atol=1e-6)
    assert result.length.tolist() == [4, 10]


def test_the_same_seed_is_the_same_episodes_however_they_are_batched():
    def run(rows):
        return evaluate(
            Carry(rows), GroundTruthObjects(2), Right(), SPACE, SubgoalConfig(4, 3),
            episodes=6, seed=3,
        )  # fmt: skip

    one, many = run(1), run(4)
    np.testing.assert_allclose(one.distances, many.distances)
    np.testing.assert_array_equal(one.length, many.length)
