"""A world of a hand and discs in a box, without a simulator: it tests learning in seconds.

The hand moves where it is told, up to `STEP` a step, and takes the nearest disc within `REACH`
along. Its grip loosens with speed: up to half of `STEP` the disc follows fully, at `STEP` it stays
behind. So a disc can be brought anywhere and be left there. All lengths are metres.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

ENV_ID, ONE_DISC_ID = "smorl-test/PointMass3-v0", "smorl-test/PointMass1-v0"
LOW, HIGH = -0.25, 0.25  # the box, both axes
STEP, REACH = 0.15, 0.1


class PointMass(VectorEnv[Any, Any, Any]):
    """K boxes stepped together, with the observations and infos of the tabletop envs."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        threads: int = 1,
        max_episode_steps: int | None = None,
        discs: int = 3,
    ) -> None:
        if max_episode_steps is not None:
            raise ValueError("the point-mass world has no step limit of its own")
        self.num_envs, self.items = num_envs, 1 + discs
        box = gym.spaces.Box(-np.inf, np.inf, (2 * self.items,), np.float32)
        names = ("observation", "achieved_goal", "desired_goal")
        self.single_observation_space = gym.spaces.Dict(dict.fromkeys(names, box))
        self.single_action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.places = np.zeros((num_envs, self.items, 2))  # hand first
        self.goals = np.zeros((num_envs, self.items, 2))

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Start and goal places are uniform in the box; row i depends on its own seed alone."""
        assert seed is not None
        assert len(seed) == self.num_envs
        for row, row_seed in enumerate(seed):
            rng = np.random.default_rng(row_seed)
            self.places[row], self.goals[row] = rng.uniform(LOW, HIGH, (2, self.items, 2))
        return self._observe(), self._info()

    def step(self, actions: Any):
        hand, discs = self.places[:, 0], self.places[:, 1:]
        target = np.clip(hand + STEP * np.clip(actions, -1, 1), LOW, HIGH)
        motion = target - hand
        speed = np.linalg.norm(motion, axis=-1, keepdims=True) / STEP
        away = np.linalg.norm(discs - hand[:, None], axis=-1)
        rows, nearest = np.arange(self.num_envs), away.argmin(1)
        held = (away[rows, nearest] < REACH)[:, None]
        grip = held * np.clip(2 - 2 * speed, 0, 1)
        discs[rows, nearest] = np.clip(discs[rows, nearest] + grip * motion, LOW, HIGH)
        hand[:] = target
        none = np.zeros(self.num_envs, bool)
        distance = np.linalg.norm((self.places - self.goals).reshape(self.num_envs, -1), axis=-1)
        return self._observe(), -distance, none, none.copy(), self._info()

    def _observe(self) -> dict[str, np.ndarray]:
        state = self.places.reshape(self.num_envs, -1).astype(np.float32)
        goal = self.goals.reshape(self.num_envs, -1).astype(np.float32)
        return {"observation": state, "achieved_goal": state.copy(), "desired_goal": goal}

    def _info(self) -> dict[str, np.ndarray]:
        distances = np.linalg.norm(self.places - self.goals, axis=-1)
        return {
            "hand_distance": distances[:, 0],
            "object_distance": distances[:, 1:].mean(1),
            "object_distances": distances[:, 1:],
        }


def register() -> None:
    """Make the ids known to Gymnasium, once."""
    for name, discs in ((ENV_ID, 3), (ONE_DISC_ID, 1)):
        if name not in gym.registry:
            gym.register(
                id=name,
                entry_point="tests.learning.point_mass:PointMass",
                vector_entry_point="tests.learning.point_mass:PointMass",
                kwargs={"discs": discs},
            )
