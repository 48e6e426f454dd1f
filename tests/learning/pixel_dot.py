"""A dot in a dark box, seen as a picture: methods that see pixels learn to move it in seconds.

The dot goes where it is told, up to `STEP` a step. It is hand and object in one. All lengths are
metres; pictures have `SIZE` pixels a side.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

ENV_ID, SHUFFLED_ID = "smorl-test/PixelDot-v0", "smorl-test/ShuffledDot-v0"
REACH, STEP, SIZE = 0.25, 0.1, 16
_PIXELS = np.linspace(-1.2 * REACH, 1.2 * REACH, SIZE)


class PixelDot(VectorEnv[Any, Any, Any]):
    """K boxes stepped together. `shuffled`: the goal pictures are not of the goals."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, shuffled: bool = False) -> None:
        self.num_envs, self.shuffled = num_envs, shuffled
        box = gym.spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        names = ("observation", "achieved_goal", "desired_goal")
        self.single_observation_space = gym.spaces.Dict(dict.fromkeys(names, box))
        self.single_action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.places, self.goals, self.shown = (np.zeros((num_envs, 2)) for _ in range(3))

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Start and goal are uniform in the box; row i depends on its own seed alone."""
        assert seed is not None
        for row, row_seed in enumerate(seed):
            drawn = np.random.default_rng(row_seed).uniform(-REACH, REACH, (3, 2))
            self.places[row], self.goals[row], other = drawn
            self.shown[row] = other if self.shuffled else self.goals[row]
        return self._observe(), self._info()

    def step(self, actions: Any):
        self.places = np.clip(self.places + STEP * np.clip(actions, -1, 1), -REACH, REACH)
        none, info = np.zeros(self.num_envs, bool), self._info()
        return self._observe(), -info["object_distance"], none, none.copy(), info

    def _observe(self) -> dict[str, np.ndarray]:
        seen = draw(self.places)
        return {"observation": seen, "achieved_goal": seen.copy(), "desired_goal": draw(self.shown)}

    def _info(self) -> dict[str, np.ndarray]:
        distance = np.linalg.norm(self.places - self.goals, axis=-1)
        return {
            "hand_distance": distance,
            "object_distance": distance,
            "object_distances": distance[:, None],
        }


def draw(places: np.ndarray) -> np.ndarray:
    """Return pictures (K, SIZE, SIZE, 3) of a soft dot at each place (K, 2)."""
    across = np.exp(-(((_PIXELS[None] - places[:, :1]) / 0.06) ** 2))
    down = np.exp(-(((_PIXELS[None] - places[:, 1:]) / 0.06) ** 2))
    grey = (255 * down[:, :, None] * across[:, None]).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=-1)


def register() -> None:
    """Make both worlds known to Gymnasium, once."""
    for env_id, shuffled in ((ENV_ID, False), (SHUFFLED_ID, True)):
        if env_id not in gym.registry:
            gym.register(
                id=env_id,
                entry_point="tests.learning.pixel_dot:PixelDot",
                vector_entry_point="tests.learning.pixel_dot:PixelDot",
                kwargs={"shuffled": shuffled},
            )
