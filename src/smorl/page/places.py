"""Where a dragged thing may lie on the table (metres): pure functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smorl.envs.tabletop.checks import TABLE_HIGH, TABLE_LOW
from smorl.envs.tabletop.scene import PUCK_RADIUS

# Pucks lie at least this far apart, centre to centre, and from the middle of the gripper.
PUCK_GAP = 2 * PUCK_RADIUS + 0.002
HAND_GAP = PUCK_RADIUS + 0.014
_ANGLES = np.linspace(0, 2 * np.pi, 48, endpoint=False)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=-1)


def on_plane(eye: Any, through: Any, height: float) -> np.ndarray | None:
    """Return where (x, y) the line of sight from `eye` through a point meets z = `height`.

    All in metres. None if the numbers are not finite, or if the line does not come down to there.
    """
    origin, point = _vector(eye, 3), _vector(through, 3)
    if origin is None or point is None:
        return None
    along = point - origin
    if along[2] > -1e-6 or origin[2] <= height:
        return None
    return (origin + along * (height - origin[2]) / along[2])[:2]


def on_table(place: Any) -> np.ndarray | None:
    """Return the place (2,) on the table nearest to `place`, or None if it is no place at all."""
    xy = _vector(place, 2)
    return None if xy is None else np.clip(xy, TABLE_LOW, TABLE_HIGH)


def free_place(
    wanted: Any, others: np.ndarray, hand: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the place (2,) nearest to `wanted` that touches neither `others` (m, 2) nor `hand`.

    None if `wanted` is no place, or where the table is too full.
    """
    start = on_table(wanted)
    if start is None:
        return None
    centres, gaps = list(np.reshape(others, (-1, 2))), [PUCK_GAP] * len(others)
    if hand is not None:
        centres, gaps = [*centres, np.asarray(hand)], [*gaps, HAND_GAP]
    if _is_free(start[None], centres, gaps)[0]:
        return start
    # The nearest free place lies on the rim of something, on the edge of the table, or where two
    # of these meet; rims are followed in small steps, which is near enough for a hand on a mouse.
    rims = [c + g * 1.001 * _DIRECTIONS for c, g in zip(centres, gaps, strict=True)]
    candidates = np.clip(np.concatenate(rims), TABLE_LOW, TABLE_HIGH)
    candidates = candidates[_is_free(candidates, centres, gaps)]
    if not len(candidates):
        return None
    return candidates[np.linalg.norm(candidates - start, axis=1).argmin()]


def _is_free(
    places: np.ndarray, centres: Sequence[np.ndarray], gaps: Sequence[float]
) -> np.ndarray:
    free = np.ones(len(places), bool)
    for centre, gap in zip(centres, gaps, strict=True):
        free &= np.linalg.norm(places - centre, axis=1) >= gap
    return free


def _vector(value: Any, size: int) -> np.ndarray | None:
    """Return `value` as `size` finite numbers, or None: it may come from a stranger's browser."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if vector.shape != (size,) or not np.isfinite(vector).all():
        return None
    return vector
