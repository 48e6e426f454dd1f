"""Which object of a set is the goal's object? By appearance (Sec. 4.2), or by its tracker ID."""

import math
from dataclasses import dataclass

import numpy as np

from smorl.types import ObjectGoal, ObjectSet

MANY = 2048  # objects from which on machine code is worth loading: replay, not acting


@dataclass(frozen=True)
class Match:
    """index (...,) of the goal's object, its distance, and whether there is one.

    By appearance it is the nearest present object, matched if near enough; by ID the distance is
    0 or infinite.
    """

    index: np.ndarray
    distance: np.ndarray
    matched: np.ndarray


def match(objects: ObjectSet, what: np.ndarray, threshold: float) -> Match:
    """Find k = argmin_k ||what_k - what_g|| among present objects (Eq. 7).

    `what` is (..., W) with the leading dimensions of `objects`. Absent slots are masked before
    the argmin, so padding never wins (Release: padding took part as the zero vector). An empty set
    has index 0, infinite distance and no match. Ties go to the lower slot.
    """
    if objects.present.size >= MANY and objects.what.dtype == what.dtype == np.float32:
        index, nearest = _match_many(objects, what)
        return Match(index, nearest, nearest < threshold)
    distance = lengths(objects.what - what[..., None, :])
    distance = np.where(objects.present, distance, np.inf)
    index = distance.argmin(-1)
    nearest = distance.min(-1)
    return Match(index, nearest, nearest < threshold)


def _match_many(objects: ObjectSet, what: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`match` in machine code: index and distance."""
    from smorl.goals.kernels import find_like  # imported here: whoever acts needs no compiler

    sets, present, leading = objects.what, objects.present, objects.present.shape[:-1]
    asked = np.broadcast_to(what, (*leading, what.shape[-1]))
    together = 1
    if present.ndim > 2 and sets.strides[-3] == present.strides[-2] == 0:  # from `for_each`
        sets, present, together = sets[..., 0, :, :], present[..., 0, :], leading[-1]
    slots, width = sets.shape[-2:]
    count = math.prod(present.shape[:-1])
    index = np.empty((count, together), np.int64)
    nearest = np.empty((count, together), np.float32)
    find_like(
        np.ascontiguousarray(sets).reshape(count, slots, width),
        np.ascontiguousarray(present).reshape(count, slots),
        np.ascontiguousarray(asked).reshape(count, together, width),
        index,
        nearest,
    )
    return index.reshape(leading), nearest.reshape(leading)


def match_goals(objects: ObjectSet, goals: ObjectGoal, threshold: float) -> np.ndarray:
    """Return the slot (K, G) of the object each of the goals (K, G, .) matches, -1 if none."""
    found = match(for_each(objects, goals.what.shape[1]), goals.what, threshold)
    return np.where(found.matched, found.index, -1)


def for_each(others: ObjectSet, objects: int) -> ObjectSet:
    """Show the sets `others` (..., M) to each of N `objects`: (..., N, M), views, nothing copied.

    So `match(for_each(others, N), what, threshold)` finds the like of N appearances (..., N, W).
    """
    axis = others.present.ndim - 1

    def spread(array: np.ndarray) -> np.ndarray:
        shape = (*array.shape[:axis], objects, *array.shape[axis:])
        return np.broadcast_to(np.expand_dims(array, axis), shape)

    return others.map(spread)


def match_id(objects: ObjectSet, identity: np.ndarray) -> Match:
    """Find the present object with the tracker ID `identity` (...,); -1 is nobody's.

    Paper: tried first and given up, because the agent learns to hand a puck's ID over to the arm
    (App. "Problems with SCALOR Tracking during RL Training"; docs/learner.md).
    """
    same = objects.present & (objects.ids == identity[..., None]) & (objects.ids >= 0)
    found = same.any(-1)
    return Match(same.argmax(-1), np.where(found, 0.0, np.inf), found)


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths (...,) of vectors (..., D); faster than `np.linalg.norm` of short ones."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def take_object(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Pick one slot per set: array (..., N, D) or (..., N), index (...,) -> (..., D) or (...,)."""
    return take_objects(array, index[..., None], axis=index.ndim).squeeze(index.ndim)


def take_objects(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """Pick K slots per set: array (..., N, D), N its dimension `axis`, index (..., K): (..., K, D).

    Rows of a flat array are taken, which is several times faster than `np.take_along_axis`.
    """
    sets, slots = math.prod(array.shape[:axis]), array.shape[axis]
    rows = index.reshape(sets, index.shape[axis]) + slots * np.arange(sets)[:, None]
    # The sizes are spelled out, because -1 is undefined for parts without dimensions.
    flat = array.reshape(sets * slots, *array.shape[axis + 1 :])
    return flat.take(rows, axis=0).reshape(*index.shape, *array.shape[axis + 1 :])


def take_goal(objects: ObjectSet, index: np.ndarray) -> ObjectGoal:
    """Return the object in slot `index` (...,) of each set as a goal at its own place."""
    return objects.goals().map(lambda array: take_object(array, index))
