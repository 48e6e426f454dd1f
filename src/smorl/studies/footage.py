"""Random episodes as simulator states, and what any camera sees of them.

Representations that see through different cameras are compared on the same episodes: the physics
runs once, every view is drawn afterwards. Episodes are those of no training data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import action_size, require_truth
from smorl.envs.factory import make_envs
from smorl.envs.rendering.cameras import get_camera, project_onto_table
from smorl.envs.rendering.renderer import RayRenderer
from smorl.envs.rendering.segmentation import Segmenter
from smorl.envs.tabletop.scene import build_scene
from smorl.errors import Diverged, InvalidInput
from smorl.evaluation.detection_metrics import Truth
from smorl.representations.video import episode_plan

PURPOSE = "analysis"  # the name of the random streams; no other episodes share them
CAMERA = "zoomed_in"  # what the environments show
_ROWS = 50  # episodes simulated side by side

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Footage:
    """E episodes of T frames: actions (E, T, 2), the first one zero; states qpos (E, T, Q); puck
    colours (E, n, 3) in [0, 1]; hand (E, T, 2) and objects (E, T, n, 2) in metres."""

    env: str
    seed: int
    actions: NDArray[np.float32]
    qpos: NDArray[np.float64]
    puck_rgb: NDArray[np.float64]
    hand: NDArray[np.float64]
    objects: NDArray[np.float64]

    @property
    def pucks(self) -> int:
        """Number of pucks n."""
        return self.objects.shape[2]

    def __len__(self) -> int:
        return len(self.qpos)


def record(env: str, episodes: int, steps: int, seed: int, threads: int = 1) -> Footage:
    """Simulate `episodes` of a uniformly random policy; those that diverge are left out.

    Episode i depends on `seed` and i alone. `env` may be visual or not: pictures come later.
    """
    for name, value in {"episodes": episodes, "steps": steps}.items():
        if value < 1:
            raise InvalidInput(f"{name} is {value}; it must be 1 or more.")
    parts = []
    for start in range(0, episodes, _ROWS):
        chosen = range(start, min(start + _ROWS, episodes))
        envs = make_envs(env.replace("smorl/Visual", "smorl/"), len(chosen), threads)
        try:
            length = action_size(envs)
            plans = [episode_plan(seed, i, steps, length, purpose=PURPOSE) for i in chosen]
            parts.append(_simulate(envs, plans))
        finally:
            envs.close()
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    kept = arrays.pop("alive")
    if not kept.any():
        raise Diverged(f"The physics of {env} diverged in every episode; use another seed.")
    return Footage(env, seed, **{name: array[kept] for name, array in arrays.items()})


def pictures(footage: Footage, size: int, camera: str = CAMERA) -> NDArray[np.uint8]:
    """Draw every frame through `camera`, (E, T, size, size, 3)."""
    episodes, frames = footage.qpos.shape[:2]
    renderer = RayRenderer(build_scene(footage.pucks), camera, size, size)
    drawn = np.empty((episodes, frames, size, size, 3), np.uint8)
    for episode, (qpos, rgb) in enumerate(zip(footage.qpos, footage.puck_rgb, strict=True)):
        drawn[episode] = renderer.render(qpos, np.broadcast_to(rgb, (frames, *rgb.shape)))
    return drawn


def truth(footage: Footage, size: int, camera: str = CAMERA) -> Truth:
    """Return what the simulator knows about pictures of `size` through `camera`."""
    segmenter = Segmenter(build_scene(footage.pucks), camera, size, size)
    found = [segmenter.segment(qpos) for qpos in footage.qpos]
    return Truth(
        centres=project_onto_table(footage.objects, get_camera(camera)),
        visible=np.stack([part.visible for part in found]),
        alone=np.stack([part.alone for part in found]),
        arm=np.stack([part.arm for part in found]),
        hand=footage.hand,
        objects=footage.objects,
    )


def _simulate(
    envs: gym.vector.VectorEnv, plans: list[tuple[int, NDArray[np.float32]]]
) -> dict[str, np.ndarray]:
    truth: Any = require_truth(envs, "recording states")
    actions = np.stack([plan[1] for plan in plans], axis=1)
    envs.reset(seed=[plan[0] for plan in plans])  # pyright: ignore[reportArgumentType]
    colours, alive = truth.colours, np.ones(len(plans), bool)
    frames = []
    for t, action in enumerate(actions):
        if t:
            alive &= ~envs.step(action)[3]
        frames.append([truth.qpos, truth.body, truth.objects])
    names = ("qpos", "hand", "objects")
    arrays = {
        name: np.stack(column, axis=1)
        for name, column in zip(names, zip(*frames, strict=True), strict=True)
    }
    return {**arrays, "actions": actions.swapaxes(0, 1), "puck_rgb": colours, "alive": alive}
