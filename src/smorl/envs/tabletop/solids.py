# pyright: reportAttributeAccessIssue=false
# MuJoCo's compiled module ships no type stubs, so its names are unknown to the checker.
"""The simulator's own model as meshes for the page: what is drawn of each body, and where it is.

Metres, world frame of the simulator. Nothing here knows the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import trimesh

from smorl.envs.tabletop.sawyer import GROUP_COLLISION

# Sides of a round shape: smooth to the eye, and still small to send.
_SIDES = 32
Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Solid:
    """One mesh of one colour, rigid with a body of the model: vertices (V, 3), faces (F, 3)."""

    name: str
    body: int
    rgb: Rgb
    vertices: np.ndarray
    faces: np.ndarray


@dataclass(frozen=True)
class Poses:
    """Where bodies are: positions (B, 3), unit quaternions (B, 4) w first."""

    position: np.ndarray
    wxyz: np.ndarray


def solids(model: mujoco.MjModel) -> list[Solid]:
    """Return everything the model draws, one mesh per body and colour.

    The ground of the table is left to the page: a plane has no thickness, and no edge to look at.
    """
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
    found = []
    for (body, rgb), meshes in parts.items():
        whole = _crisp(trimesh.util.concatenate(meshes))
        name = f"{model.body(body).name}-{len(found)}"
        found.append(Solid(name, body, rgb, np.array(whole.vertices), np.array(whole.faces)))
    return found


def tube(radius: float, thickness: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a flat ring around the z axis, standing on z = 0: vertices and faces."""
    mesh = trimesh.creation.annulus(radius - thickness, radius, height, sections=2 * _SIDES)
    mesh.apply_translation((0, 0, height / 2))
    mesh = _crisp(mesh)
    return np.array(mesh.vertices), np.array(mesh.faces)


def disc(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a cylinder around the z axis, its middle at z = 0: vertices and faces."""
    mesh = _crisp(trimesh.creation.cylinder(radius, height, sections=2 * _SIDES))
    return np.array(mesh.vertices), np.array(mesh.faces)


class Kinematics:
    """Joint positions to poses of bodies, on a copy of the simulator's data."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data = model, mujoco.MjData(model)

    def poses(self, qpos: np.ndarray) -> Poses:
        """Return where every body is at `qpos` (nq,)."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        return Poses(self._data.xpos.copy(), self._data.xquat.copy())


def _mesh(kind: int, size: np.ndarray) -> trimesh.Trimesh:
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return trimesh.creation.box(2 * size)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return trimesh.creation.icosphere(subdivisions=3, radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return trimesh.creation.cylinder(size[0], 2 * size[1], sections=_SIDES)
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        # trimesh's capsule already has its middle at the origin.
        return trimesh.creation.capsule(2 * size[1], size[0], count=(_SIDES // 2, _SIDES))
    raise NotImplementedError(f"the page cannot draw shapes of kind {kind}")


def _crisp(mesh: Any) -> trimesh.Trimesh:
    """Split vertices at sharp edges, so that smooth shading leaves the edges sharp."""
    return trimesh.graph.smooth_shade(mesh, angle=np.radians(40))


def _transform(position: np.ndarray, wxyz: np.ndarray) -> np.ndarray:
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, wxyz)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation.reshape(3, 3), position
    return matrix
