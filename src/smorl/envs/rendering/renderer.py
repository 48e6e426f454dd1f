"""Pictures of the table by ray casting through MuJoCo: no GL, no driver, the same bits everywhere.

Every pixel is one ray from the camera through the pixel centre (`envs.rendering.cameras` has the
convention); what it hits is lit by MuJoCo's headlight, a directional light along the view:

    colour = rgb (ambient + diffuse d) + specular d^64,    d = max(0, -normal . forward)

Release: headlight with ambient 0.5, no other light, no shadows, black outside the drawn table.

What makes it fast: geoms that can never move are cast once and kept; per picture only the pixels
inside the projected bounding boxes of the moving geoms are cast, against the moving geoms alone,
and the nearer of the two surfaces is kept. The answer equals casting everything, to the bit.
"""

# MuJoCo's extension modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

import threading
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from numpy.typing import NDArray

from smorl.envs.rendering.cameras import CAMERAS, Camera, get_camera
from smorl.envs.rendering.raycast import CachedScene, Scratch, draw
from smorl.errors import InvalidInput

__all__ = ["CAMERAS", "Camera", "RayRenderer", "upscale"]


class RayRenderer:
    """Draws states of one model from one camera: `render` is a pure function of its inputs.

    `height` and `width` are pixels. Pictures are spread over `threads` threads (casting releases
    the GIL) and do not depend on their number. For pictures people look at, `samples` > 1 averages
    samples x samples rays per pixel, and `background` is the colour in [0, 1] where nothing is.
    Puck i's geom is the one named `puck{i}`.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        camera: str | Camera,
        height: int,
        width: int,
        threads: int = 1,
        samples: int = 1,
        background: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        sizes = {"height": height, "width": width, "threads": threads, "samples": samples}
        for name, value in sizes.items():
            if int(value) != value or value < 1:
                raise InvalidInput(f"{name} is {value!r}; it must be a whole number, 1 or more.")
        self.camera = get_camera(camera)
        self.height, self.width, self.samples = int(height), int(width), int(samples)
        self._scene = CachedScene(model, self.camera, height * samples, width * samples, background)
        self._scratch = [Scratch(self._scene) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._lock = threading.Lock()

    def render(self, qpos: NDArray[np.float64], puck_rgb: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Draw K states, qpos (K, nq) with puck colours (K, n, 3) in [0, 1], as (K, H, W, 3)."""
        qpos, palette = self._scene.check(qpos, puck_rgb)
        count, rays = len(qpos), self._scene.count
        frames = np.empty((count, rays, 3), dtype=np.uint8)
        frames[:] = self._scene.background
        # The lock lets several Python threads share a renderer, one picture set at a time.
        with self._lock:
            size = -(-count // len(self._scratch))
            shares = [slice(start, start + size) for start in range(0, count, max(size, 1))]
            jobs = [
                (scratch, qpos[share], palette[share], frames[share])
                for scratch, share in zip(self._scratch, shares, strict=False)
            ]
            if self._pool is None or len(jobs) < 2:
                for job in jobs:
                    draw(self._scene, *job)
            else:
                list(self._pool.map(lambda job: draw(self._scene, *job), jobs))
        return self._average(frames)

    def close(self) -> None:
        """Stop the worker threads. The renderer cannot be used afterwards if it had any."""
        if self._pool is not None:
            self._pool.shutdown()

    def _average(self, frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Average the samples of each pixel in whole numbers, rounding half up."""
        height, width, samples = self.height, self.width, self.samples
        if samples == 1:
            return frames.reshape(-1, height, width, 3)
        parts = frames.reshape(-1, height, samples, width, samples, 3)
        total = np.zeros((len(frames), height, width, 3), dtype=np.uint32)
        for row in range(samples):
            for column in range(samples):
                total += parts[:, :, row, :, column]
        return ((total + samples**2 // 2) // samples**2).astype(np.uint8)


def upscale(image: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Enlarge a picture (H, W, 3) by whole pixels, without smoothing."""
    return np.repeat(np.repeat(image, factor, axis=0), factor, axis=1)
