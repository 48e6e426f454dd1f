"""Do not disturb: a penalty for moving objects that the goal does not ask to move.

Ours, not the paper's (docs/learner.md). Sub-goals are solved one after the other, so whatever an
attempt knocks over on its way has to be solved again. The agent's own body moves all the time and
must be free to; it is told apart by the random policy: an object counts as much as it usually
rests when actions are random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smorl.goals.matching import MANY, for_each, lengths, match, take_objects
from smorl.goals.priors import nearest_centre
from smorl.types import ObjectGoal, ObjectSet


@dataclass(frozen=True)
class StillnessModel:
    """How often an object of a given appearance rests under random actions, in [0, 1]."""

    centres: np.ndarray  # (C, W) appearance clusters
    rest: np.ndarray  # (C,)

    def __post_init__(self) -> None:
        """Refuse shapes that no fit has; a file may say anything."""
        shapes = self.centres.shape, self.rest.shape
        if len(shapes[0]) != 2 or not shapes[0][0] or shapes[1] != shapes[0][:1]:
            raise ValueError(f"clusters of shape {shapes[0]} with rest of shape {shapes[1]}")

    @classmethod
    def fit(
        cls, centres: np.ndarray, objects: ObjectSet, still: float, threshold: float
    ) -> StillnessModel:
        """Fit to paths (K, H + 1, N): the share of steps on which each cluster moves < `still`.

        The own body is always there: a cluster that is never seen is something else, and rests.
        """
        distance, seen = displacement(objects[:, :-1], objects[:, 1:], threshold)
        cluster = nearest_centre(objects.what[:, :-1], centres)
        rest = np.zeros(len(centres), np.float32)
        for c in range(len(centres)):
            member = seen & (cluster == c)
            rest[c] = (distance[member] < still).mean() if member.any() else 1.0
        return cls(centres, rest)

    def of(self, what: np.ndarray) -> np.ndarray:
        """Return the restfulness (...,) of appearances (..., W)."""
        return self.rest[nearest_centre(what, self.centres)]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything needed to rebuild it."""
        return {"centres": self.centres, "rest": self.rest}


def displacement(
    now: ObjectSet, following: ObjectSet, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """How far each object of `now` goes, (..., N), and whether it is seen again (..., N)."""
    found = match(for_each(following, now.present.shape[-1]), now.what, threshold)
    place = take_objects(following.position, found.index, now.present.ndim - 1)
    distance = lengths(place - now.position)
    return distance, now.present & found.matched


def disturbance(
    now: ObjectSet,
    following: ObjectSet,
    goal: ObjectGoal,
    rest: StillnessModel,
    threshold: float,
) -> np.ndarray:
    """Distance, weighted by restfulness, that objects other than the goal's were moved, (...,)."""
    distance, seen = displacement(now, following, threshold)
    # What rests less often than not is part of the agent's own body, and free to move.
    weight = np.clip(2 * rest.of(now.what) - 1, 0, 1) * seen
    target = match(now, goal.what, threshold)
    index = np.where(target.matched, target.index, -1)
    others = np.arange(now.present.shape[-1]) != index[..., None]
    return (distance * weight * others).sum(-1).astype(np.float32)


def steps_by_id(now: ObjectSet, following: ObjectSet) -> tuple[np.ndarray, np.ndarray]:
    """How far (..., N, P) each object goes, by its tracker ID, and whether it is seen again."""
    if now.present.size >= MANY:
        return _many_steps(now, following)
    same = (now.ids[..., :, None] == following.ids[..., None, :]) & (now.ids >= 0)[..., None]
    same &= now.present[..., :, None] & following.present[..., None, :]
    place = np.take_along_axis(following.position, same.argmax(-1)[..., None], axis=-2)
    return place - now.position, same.any(-1)


def _many_steps(now: ObjectSet, following: ObjectSet) -> tuple[np.ndarray, np.ndarray]:
    """`steps_by_id` in machine code."""
    from smorl.goals.kernels import follow  # imported here: whoever acts needs no compiler

    shape = now.position.shape
    sets, slots = now.ids.reshape(-1, shape[-2]).shape
    steps = np.empty((sets, *shape[-2:]), np.result_type(now.position, following.position))
    known = np.empty((sets, slots), bool)
    arrays = (
        np.ascontiguousarray(array).reshape(sets, *array.shape[len(shape) - 2 :])
        for side in (now, following)
        for array in (side.position, side.ids, side.present)
    )
    follow(*arrays, steps, known)
    return steps.reshape(shape), known.reshape(shape[:-1])


def hand_and_things(
    objects: ObjectSet, rest: StillnessModel, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slot of the hand (...,) and which slots (..., N) hold things.

    Of what rests less often than not the hand is the part farthest along `reach`; where nothing
    does it is the present object that rests least.
    """
    still = np.where(objects.present, rest.of(objects.what), np.inf)
    body = still < 0.5
    along = np.where(body, objects.position @ reach, -np.inf)
    # Ties, as without a reach, go to what rests least.
    best = body & (along == along.max(-1, keepdims=True))
    hand = np.where(best | ~body.any(-1, keepdims=True), still, np.inf).argmin(-1)
    own = np.arange(still.shape[-1]) == hand[..., None]
    return hand, objects.present & ~body & ~own
