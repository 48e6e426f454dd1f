"""Shapes that only the page has: the rings that mark goals. Metres."""

from __future__ import annotations

import numpy as np
import trimesh

from smorl.envs.tabletop.solids import crisp

_SIDES = 48


def tube(radius: float, thickness: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a flat ring around the z axis, standing on z = 0: vertices and faces."""
    mesh = trimesh.creation.annulus(radius - thickness, radius, height, sections=_SIDES)
    mesh.apply_translation((0, 0, height / 2))
    mesh = crisp(mesh)
    return np.array(mesh.vertices), np.array(mesh.faces)


def disc(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a cylinder around the z axis, its middle at z = 0: vertices and faces."""
    mesh = crisp(trimesh.creation.cylinder(radius, height, sections=_SIDES))
    return np.array(mesh.vertices), np.array(mesh.faces)
