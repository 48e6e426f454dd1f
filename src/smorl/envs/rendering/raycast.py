"""The machinery under `rendering.renderer`: what is kept, which pixels are cast, how they are lit.

Distances in metres, colours in [0, 1] (float) or 0 to 255 (uint8), pixels counted row by row from
the top left.
"""

# MuJoCo's extension modules carry no type stubs.
# pyright: reportAttributeAccessIssue=false

import copy
from collections.abc import Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from smorl.envs.rendering.cameras import Camera, ray_directions
from smorl.errors import InvalidInput

AMBIENT = np.float32(0.5)
DIFFUSE = np.float32(0.4)
# Headlight specular 0.5 times the default specular 0.5 of a geom without material.
SPECULAR = np.float32(0.25)

# Geom groups that are drawn; group 3 holds shapes that only collide.
DRAWN_GROUPS = np.array([1, 1, 1, 0, 1, 1], dtype=np.uint8)
# Rays cast between two shading passes of one thread: large enough to amortise numpy's call
# overhead, small enough to stay in the cache.
RAYS_PER_BLOCK = 32768
# A corner nearer than this to the camera plane (metres) has no usable projection.
NEAR = 1e-3


class CachedScene:
    """What does not change from picture to picture: rays, bounding boxes, the static background."""

    def __init__(
        self,
        model: mujoco.MjModel,
        camera: Camera,
        height: int,
        width: int,
        background: tuple[float, float, float],
    ) -> None:
        self.model = copy.copy(model)  # later edits by the caller must not change the pictures
        self.camera, self.height, self.width = camera, height, width
        self.count = height * width
        self.position = camera.position
        self.axes = camera.axes
        self.rays = ray_directions(camera, height, width).reshape(-1, 3)
        self.rgba = _geom_rgba(model)
        visible = (self.rgba[:, 3] > 0) & (DRAWN_GROUPS[model.geom_group] == 1)
        moves = model.body_weldid[model.geom_bodyid] != 0
        self.moving = np.flatnonzero(visible & moves)
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        box = model.geom_aabb[self.moving]
        self.corners = box[:, None, :3] + signs * box[:, None, 3:]  # (G, 8, 3) in geom frames
        self.pucks = np.array(list(_puck_geoms(model)), dtype=np.intp)
        empty = np.array(background) * 255 + 0.5
        self.background, self.depth = self._cast_static(~moves, empty.astype(np.uint8))

    def check(
        self, qpos: NDArray[np.float64], puck_rgb: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the states and the colour of every geom, (K, ngeom, 3), or raise InvalidInput."""
        qpos = np.ascontiguousarray(qpos, dtype=np.float64)
        colours = np.asarray(puck_rgb, dtype=np.float32)
        if qpos.ndim != 2 or qpos.shape[1] != self.model.nq:
            raise InvalidInput(f"qpos has shape {qpos.shape}; pass (K, {self.model.nq}).")
        if colours.shape != (len(qpos), len(self.pucks), 3):
            expected = (len(qpos), len(self.pucks), 3)
            raise InvalidInput(f"puck_rgb has shape {colours.shape}; pass {expected}.")
        if not np.isfinite(qpos).all():
            raise InvalidInput("qpos holds NaN or infinity; pass finite joint positions.")
        if not (np.greater_equal(colours, 0) & np.less_equal(colours, 1)).all():
            raise InvalidInput("puck_rgb holds values outside [0, 1]; scale the colours to it.")
        palette = np.empty((len(qpos), self.model.ngeom, 3), dtype=np.float32)
        palette[:] = self.rgba[:, :3]
        palette[:, self.pucks] = colours
        return qpos, palette

    def boxes(self, xpos: NDArray[np.float64], xmat: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return pixel bounds (K, G, 4), [row0, row1) x [column0, column1), around moving geoms."""
        world = xpos[:, :, None] + np.matmul(self.corners, np.swapaxes(xmat, -1, -2))
        right, up, depth = np.moveaxis((world - self.position) @ self.axes.T, -1, 0)
        scale = self.camera.half_height * np.maximum(depth, NEAR)
        x = right / scale * (self.height / 2) + (self.width - 1) / 2
        y = -up / scale * (self.height / 2) + (self.height - 1) / 2
        # A thousandth of a pixel of margin covers rounding; a box cut by the camera plane may
        # reach anywhere.
        bounds = np.stack([y.min(-1), y.max(-1), x.min(-1), x.max(-1)], axis=-1)
        cut = depth.min(-1) < NEAR
        bounds[cut] = (0, self.height - 1, 0, self.width - 1)
        bounds[depth.max(-1) < 0] = (0, -1, 0, -1)
        bounds[..., ::2] = np.ceil(bounds[..., ::2] - 1e-3)
        bounds[..., 1::2] = np.floor(bounds[..., 1::2] + 1e-3) + 1
        limits = np.array([self.height, self.height, self.width, self.width])
        return np.clip(bounds, 0, limits).astype(np.intp)

    def _cast_static(
        self, static: NDArray[np.bool_], empty: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Draw the geoms that never move: colours (rays, 3) and distances (rays,) in metres."""
        model = copy.copy(self.model)
        model.geom_matid[~static] = -1
        model.geom_rgba[~static, 3] = 0  # rays pass through what is fully transparent
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        geom = np.empty(self.count, dtype=np.int32)
        distance = np.empty(self.count)
        normal = np.empty((self.count, 3))
        _cast(model, data, self.position, self.rays, True, geom, distance, normal)
        colour = shade(self.rgba[:, :3].astype(np.float32)[geom], normal, self.axes[2])
        colour[geom < 0] = empty
        return colour, np.where(geom < 0, np.inf, distance)


class Scratch:
    """One thread's simulator state and buffers, kept between pictures."""

    def __init__(self, scene: CachedScene) -> None:
        self.data = mujoco.MjData(scene.model)
        self.rows = max(1, RAYS_PER_BLOCK // scene.count)
        capacity = self.rows * scene.count
        self.mask = np.zeros((scene.height, scene.width), dtype=bool)
        self.vec = np.empty((capacity, 3))
        self.normal = np.empty((capacity, 3))
        self.distance = np.empty(capacity)
        self.geom = np.empty(capacity, dtype=np.int32)


def shade(
    rgb: NDArray[np.float32], normal: NDArray[np.float64], forward: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """Light surfaces of colour rgb (..., 3) with outward normals (..., 3) by the headlight."""
    # Sums are spelled out: a matrix product may round differently with the number of rays.
    facing = -(
        normal[..., 0] * forward[0] + normal[..., 1] * forward[1] + normal[..., 2] * forward[2]
    )
    facing = np.maximum(facing, 0).astype(np.float32)
    shine = facing
    for _ in range(6):
        shine = shine * shine
    light = (AMBIENT + DIFFUSE * facing) * np.float32(255)
    value = rgb * light[..., None]
    value += (SPECULAR * np.float32(255) * shine + np.float32(0.5))[..., None]
    return np.minimum(value, np.float32(255)).astype(np.uint8)


def draw(
    scene: CachedScene,
    scratch: Scratch,
    qpos: NDArray[np.float64],
    palette: NDArray[np.float32],
    frames: NDArray[np.uint8],
) -> None:
    """Draw the moving geoms of each state over frames (K, rays, 3) holding the background."""
    for block, pixels, hit in _blocks(scene, scratch, qpos):
        rgb = palette[block][pixels[hit] // scene.count, scratch.geom[hit]]
        frames[block].reshape(-1, 3)[pixels[hit]] = shade(rgb, scratch.normal[hit], scene.axes[2])


def identify(scene: CachedScene, scratch: Scratch, qpos: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return which moving geom each pixel of each state shows, (K, rays); -1 where none."""
    geoms = np.full((len(qpos), scene.count), -1, dtype=np.int32)
    for block, pixels, hit in _blocks(scene, scratch, qpos):
        geoms[block].reshape(-1)[pixels[hit]] = scratch.geom[hit]
    return geoms


def _blocks(
    scene: CachedScene, scratch: Scratch, qpos: NDArray[np.float64]
) -> Iterator[tuple[slice, NDArray[np.intp], NDArray[np.intp]]]:
    """Cast states into the scratch: yield each block, its pixels (row * rays + ray), the hits."""
    for start in range(0, len(qpos), scratch.rows):
        block = slice(start, start + scratch.rows)
        pixels = _cast_moving(scene, scratch, qpos[block], _place(scene, scratch, qpos[block]))
        geom, distance = scratch.geom[: len(pixels)], scratch.distance[: len(pixels)]
        hit = np.flatnonzero((geom >= 0) & (distance < scene.depth[pixels % scene.count]))
        yield block, pixels, hit


def _place(scene: CachedScene, scratch: Scratch, qpos: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the pixel bounds of the moving geoms in each state, (K, G, 4)."""
    data, moving = scratch.data, scene.moving
    xpos = np.empty((len(qpos), len(moving), 3))
    xmat = np.empty((len(qpos), len(moving), 9))
    for row, state in enumerate(qpos):
        data.qpos[:] = state
        mujoco.mj_kinematics(scene.model, data)
        data.geom_xpos.take(moving, axis=0, out=xpos[row])
        data.geom_xmat.take(moving, axis=0, out=xmat[row])
    return scene.boxes(xpos, xmat.reshape(*xmat.shape[:2], 3, 3))


def _cast_moving(
    scene: CachedScene, scratch: Scratch, qpos: NDArray[np.float64], boxes: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Cast the pixels inside the boxes at the moving geoms; return row * rays + ray of each."""
    pixels, start = [], 0
    for row, state in enumerate(qpos):
        scratch.mask[:] = False
        for top, bottom, left, right in boxes[row].tolist():
            scratch.mask[top:bottom, left:right] = True
        rays = np.flatnonzero(scratch.mask)
        part = slice(start, start + len(rays))
        if len(rays):
            scratch.data.qpos[:] = state
            mujoco.mj_kinematics(scene.model, scratch.data)
            vec = scene.rays.take(rays, axis=0, out=scratch.vec[part])
            outputs = scratch.geom[part], scratch.distance[part], scratch.normal[part]
            _cast(scene.model, scratch.data, scene.position, vec, False, *outputs)
        pixels.append(rays + row * scene.count)
        start = part.stop
    return np.concatenate(pixels)


def _cast(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    position: NDArray[np.float64],
    vec: NDArray[np.float64],
    static: bool,
    geom: NDArray[np.int32],
    distance: NDArray[np.float64],
    normal: NDArray[np.float64],
) -> None:
    """Fill geom (-1: none), distance in metres and normal for unit rays vec (R, 3)."""
    mujoco.mj_multiRay(
        model, data, position, vec.reshape(-1), DRAWN_GROUPS, static, -1,
        geom, distance, normal.reshape(-1), len(vec), mujoco.mjMAXVAL,
    )  # fmt: skip


def _geom_rgba(model: mujoco.MjModel) -> NDArray[np.float32]:
    """Return each geom's colour; a material overrules the geom's own."""
    rgba = np.array(model.geom_rgba, dtype=np.float32)
    with_material = model.geom_matid >= 0
    rgba[with_material] = model.mat_rgba[model.geom_matid[with_material]]
    return rgba


def _puck_geoms(model: mujoco.MjModel) -> Iterator[int]:
    """Yield the geom ids of puck0, puck1, ..."""
    index = 0
    while (geom := mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, f"puck{index}")) >= 0:
        yield geom
        index += 1
