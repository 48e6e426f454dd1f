"""A world of one's own: discs on a plane that a three-armed magnet pushes about.

Nothing of smorl is needed to write it: a Gymnasium env with pictures, here drawn by numpy. It has
three actions (x, y, and how strongly the magnet pushes), pictures that are not square, and it does
not tell where anything is. SMORL learns from its pixels all the same:

    python examples/own_env.py            # a tiny budget: it runs through, in about a minute
    smorl train debug-visual --env examples/own_env.py:Discs-v0 --out runs/discs
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np

HEIGHT, WIDTH = 48, 64
COLOURS = np.array([[60, 60, 60], [220, 60, 50], [50, 110, 220]])  # the magnet, two discs
BACKGROUND, RADIUS, REACH, STEP = 235, 0.12, 0.25, 0.15  # grey; image coordinates in [-1, 1]


class Discs(gym.Env):
    """A magnet at `places[0]` and two discs; everything lives in [-1, 1]^2."""

    def __init__(self) -> None:
        picture = gym.spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
        self.observation_space = gym.spaces.Dict(observation=picture, desired_goal=picture)
        self.action_space = gym.spaces.Box(
            np.array([-1, -1, 0], np.float32), np.array([1, 1, 2], np.float32)
        )
        self.places, self.goals = np.zeros((3, 2)), np.zeros((3, 2))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.places, self.goals = self.np_random.uniform(-0.8, 0.8, (2, 3, 2))
        return self._observe(), {}

    def step(self, action: np.ndarray):
        self.places[0] = np.clip(self.places[0] + STEP * action[:2], -0.9, 0.9)
        offset = self.places[1:] - self.places[0]
        distance = np.linalg.norm(offset, axis=-1, keepdims=True)
        push = np.clip(REACH - distance, 0, None) * action[2] * offset / np.maximum(distance, 1e-6)
        self.places[1:] = np.clip(self.places[1:] + push, -0.9, 0.9)
        return self._observe(), 0.0, False, False, {}

    def _observe(self) -> dict[str, np.ndarray]:
        return {"observation": draw(self.places), "desired_goal": draw(self.goals)}


def draw(places: np.ndarray) -> np.ndarray:
    """Return discs at `places` (3, 2) as a picture uint8 (HEIGHT, WIDTH, 3)."""
    y, x = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    picture = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    for place, colour in zip(places, COLOURS, strict=True):
        picture[np.hypot(x - place[0], y - place[1]) < RADIUS] = colour
    return picture


if "Discs-v0" not in gym.registry:
    gym.register("Discs-v0", entry_point=Discs, max_episode_steps=100)


if __name__ == "__main__":
    import smorl

    out = sys.argv[1] if len(sys.argv) > 1 else "runs/discs"
    result = smorl.train("debug-visual", env=f"{__file__}:Discs-v0", out=out)
    sys.stdout.write(f"{out}: {result}\n")
