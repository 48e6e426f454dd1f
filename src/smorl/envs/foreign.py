"""Anybody's environment behind the contract: actions in [-1, 1], pictures of the wanted size."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from PIL import Image

from smorl.envs.contract import check_contract, observation_shape, shows_images
from smorl.errors import InvalidInput
from smorl.images import resize


class ForeignEnvs(VectorWrapper):
    """A vector env with actions rescaled to [-1, 1] and pictures resized to a square.

    `note` says what was changed, or is empty.
    """

    def __init__(self, env: VectorEnv, image_size: int | None = None) -> None:
        super().__init__(env)
        action: Any = env.single_action_space
        self._low, self._high = action.low, action.high
        self._unit = bool(np.all(action.low == -1) and np.all(action.high == 1))
        unit = gym.spaces.Box(-1.0, 1.0, action.shape, np.float32)
        self.single_action_space = unit
        self.action_space = batch_space(unit, env.num_envs)
        self._size, self.note = None, ""
        space: Any = env.single_observation_space
        shape = space["observation"].shape
        if image_size is not None and len(shape) == 3 and shape[:2] != (image_size, image_size):
            self._size = image_size
            self.note = f"Pictures of {shape[1]}x{shape[0]} are resized to {image_size} pixels."
            square = gym.spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
            spaces: Any = {n: square if s.shape == shape else s for n, s in space.spaces.items()}
            self.single_observation_space = gym.spaces.Dict(spaces)
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(self, **options: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        observation, info = self.env.reset(**options)
        return self._shown(observation), info

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        wanted = np.clip(np.asarray(actions, np.float32), -1, 1)
        if not self._unit:
            wanted = self._low + (wanted + 1) / 2 * (self._high - self._low)
        observation, *rest = self.env.step(wanted)
        return self._shown(observation), *rest  # pyright: ignore[reportReturnType]

    def views(self, size: int = 320, samples: int = 2, row: int = 0) -> PictureViews:
        """Return who draws row `row` for people: the observations themselves, enlarged."""
        if not shows_images(self):
            raise InvalidInput("an environment without pictures cannot be filmed.")
        return PictureViews(self, size, row)

    def _shown(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self._size is not None:
            observation = {
                name: resize(array, self._size) if array.ndim == 4 else array
                for name, array in observation.items()
            }
        self.latest = observation
        return observation


class PictureViews:
    """What a visual environment shows, in the place of a scene (`smorl.envs.contract.Views`)."""

    def __init__(self, envs: ForeignEnvs, size: int, row: int) -> None:
        self._envs, self._size, self._row = envs, size, row
        self.pixels = observation_shape(envs)[0]

    def scene(self, goal_state: bool = False) -> np.ndarray:
        """The picture, `size` pixels high."""
        picture = Image.fromarray(self.agent(goal_state))
        return np.asarray(picture.resize((self._size, self._size), Image.Resampling.NEAREST))

    def agent(self, goal_state: bool = False, pixels: int | None = None) -> np.ndarray:
        """The picture, enlarged by whole pixels to about `pixels`."""
        picture = self._envs.latest["desired_goal" if goal_state else "observation"][self._row]
        times = 1 if pixels is None else max(1, pixels // self.pixels)
        return picture.repeat(times, 0).repeat(times, 1)


def wrap(env_id: str, num_envs: int, image_size: int | None, **settings: Any) -> ForeignEnvs:
    """Make `num_envs` of a registered single env, one after the other, without a step limit."""
    spec = gym.spec(env_id)

    def make() -> gym.Env:
        # -1: no limit of its own; whoever runs it decides when to stop.
        return gym.make(spec, max_episode_steps=-1, disable_env_checker=True, **settings)

    envs = SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    check_contract(envs, env_id)
    return ForeignEnvs(envs, image_size)
