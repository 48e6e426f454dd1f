# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""What the pixels of a picture show, from the simulator: privileged, for evaluating perception."""

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from smorl.envs.rendering.cameras import Camera, get_camera
from smorl.envs.rendering.raycast import CachedScene, Scratch, identify


@dataclass(frozen=True)
class Segmentation:
    """Pixels of K pictures.

    visible (K, n): pixels that show puck i; alone (K, n): pixels that would show it if nothing
    stood before it, still cut by the picture's edge; arm (K, H, W) bool: pixels that show the arm.
    """

    visible: NDArray[np.int64]
    alone: NDArray[np.int64]
    arm: NDArray[np.bool_]

    @property
    def shares(self) -> NDArray[np.float64]:
        """The visible share (K, n) of each puck in [0, 1]; 0 where the picture misses it."""
        return self.visible / np.maximum(self.alone, 1)


class Segmenter:
    """Segments states of one model seen by one camera, by the rays that draw the picture."""

    def __init__(self, model: mujoco.MjModel, camera: str | Camera, height: int, width: int):
        self.height, self.width = height, width
        black = (0.0, 0.0, 0.0)
        view = get_camera(camera)
        self._scene = CachedScene(model, view, height, width, black)
        self._pucks = self._scene.pucks
        self._arm = np.setdiff1d(self._scene.moving, self._pucks)
        self._alone = [
            CachedScene(_without(model, self._scene.moving, puck), view, height, width, black)
            for puck in self._pucks
        ]
        self._scratch = [Scratch(scene) for scene in (self._scene, *self._alone)]

    def segment(self, qpos: NDArray[np.float64]) -> Segmentation:
        """Segment K states, qpos (K, nq)."""
        qpos = np.ascontiguousarray(qpos, dtype=np.float64)
        geoms = identify(self._scene, self._scratch[0], qpos)
        visible = (geoms[:, None] == self._pucks[:, None]).sum(-1)
        alone = [
            (identify(scene, scratch, qpos) >= 0).sum(-1)
            for scene, scratch in zip(self._alone, self._scratch[1:], strict=True)
        ]
        arm = np.isin(geoms, self._arm).reshape(-1, self.height, self.width)
        return Segmentation(visible, np.stack(alone, axis=1), arm)


def _without(model: mujoco.MjModel, moving: NDArray[np.intp], puck: int) -> mujoco.MjModel:
    """Return the model with every moving geom but `puck` transparent, so that rays pass it."""
    single = copy.copy(model)
    hidden = np.setdiff1d(moving, [puck])
    single.geom_matid[hidden] = -1
    single.geom_rgba[hidden, 3] = 0
    return single
