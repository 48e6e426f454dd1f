"""Which object of a set is the goal's object? Matching by appearance (Sec. 4.2)."""

from dataclasses import dataclass

import numpy as np

from smorl.types import ObjectSet


@dataclass(frozen=True)
class Match:
    """index (...,) of the nearest present object, its distance, and whether it is near enough."""

    index: np.ndarray
    distance: np.ndarray
    matched: np.ndarray


def match(objects: ObjectSet, what: np.ndarray, threshold: float) -> Match:
    """Find k = argmin_k ||what_k - what_g|| among present objects (Eq. 7).

    `what` is (..., W) with the leading dimensions of `objects`. Absent slots are masked before
    the argmin, so padding never wins (Release: padding took part as the zero vector). An empty set
    has index 0, infinite distance and no match. Ties go to the lower slot.
    """
    offset = objects.what - what[..., None, :]
    distance = np.sqrt(np.einsum("...i,...i->...", offset, offset))
    distance = np.where(objects.present, distance, np.inf)
    index = distance.argmin(-1)
    nearest = np.take_along_axis(distance, index[..., None], -1)[..., 0]
    return Match(index, nearest, nearest < threshold)


def take_object(array: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Pick one slot per set: array (..., N, D), index (...,) -> (..., D)."""
    return np.take_along_axis(array, index[..., None, None], -2)[..., 0, :]
