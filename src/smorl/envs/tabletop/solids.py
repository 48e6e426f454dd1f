# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""The simulator's own model as meshes, for who draws it in 3-D: what there is, and where it is.

Metres, world frame of the simulator. Needs trimesh (`pip install 'smorl[view]'`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import trimesh

from smorl.envs.tabletop.sawyer import GROUP_COLLISION
from smorl.envs.tabletop.scene import build_scene

# Sides of a round shape: smooth to the eye, and still small to send.
_SIDES = 24
Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Solid:
    """One mesh of one colour, rigid with a body of the model: vertices (V, 3), faces (F, 3).

    `puck` is the number of the puck it is, None for everything else.
    """

    name: str
    body: int
    puck: int | None
    rgb: Rgb
    vertices: np.ndarray
    faces: np.ndarray


@dataclass(frozen=True)
class Poses:
    """Where bodies are: positions (B, 3), unit quaternions (B, 4) w first."""

    position: np.ndarray
    wxyz: np.ndarray


class TableSolids:
    """A table with `pucks` pucks: its `solids`, and where they are in any state.

    The top of the table is left out: a plane has no thickness, and no edge to look at.
    """

    def __init__(self, pucks: int) -> None:
        self._model = build_scene(pucks)
        self._data = mujoco.MjData(self._model)
        self.solids = _solids(self._model, pucks)

    def poses(self, qpos: np.ndarray) -> Poses:
        """Return where every body is at `qpos` (Q,), as `truth.qpos` tells it."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        return Poses(self._data.xpos.copy(), self._data.xquat.copy())


def _solids(model: mujoco.MjModel, pucks: int) -> list[Solid]:
    """Return everything the model draws, one mesh per body and colour."""
    parts: dict[tuple[int, Rgb], list[trimesh.Trimesh]] = {}
    for geom in range(model.ngeom):
        kind = model.geom_type[geom]
        hidden = model.geom_group[geom] >= GROUP_COLLISION or model.geom_rgba[geom, 3] == 0
        if hidden or kind == mujoco.mjtGeom.mjGEOM_PLANE:
            continue
        red, green, blue = np.rint(255 * model.geom_rgba[geom, :3]).astype(int).tolist()
        mesh = _mesh(kind, model.geom_size[geom])
        mesh.apply_transform(_transform(model.geom_pos[geom], model.geom_quat[geom]))
        key = int(model.geom_bodyid[geom]), (red, green, blue)
        parts.setdefault(key, []).append(mesh)
    numbers = {model.body(f"object{puck}").id: puck for puck in range(pucks)}
    found = []
    for (body, rgb), meshes in parts.items():
        whole = crisp(trimesh.util.concatenate(meshes))
        vertices, faces = np.array(whole.vertices), np.array(whole.faces)
        name = f"{model.body(body).name}-{len(found)}"
        found.append(Solid(name, body, numbers.get(body), rgb, vertices, faces))
    return found


def _mesh(kind: int, size: np.ndarray) -> trimesh.Trimesh:
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return trimesh.creation.box(2 * size)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return trimesh.creation.icosphere(subdivisions=2, radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return trimesh.creation.cylinder(size[0], 2 * size[1], sections=_SIDES)
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        # trimesh's capsule already has its middle at the origin.
        return trimesh.creation.capsule(2 * size[1], size[0], count=(_SIDES // 2, _SIDES))
    raise NotImplementedError(f"nobody has said how to draw shapes of kind {kind}")


def crisp(mesh: Any) -> trimesh.Trimesh:
    """Split vertices at sharp edges, so that smooth shading leaves the edges sharp."""
    return trimesh.graph.smooth_shade(mesh, angle=np.radians(40))


def _transform(position: np.ndarray, wxyz: np.ndarray) -> np.ndarray:
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, wxyz)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation.reshape(3, 3), position
    return matrix
