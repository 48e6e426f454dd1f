"""The matching reward (Eq. 7)."""

import numpy as np

from smorl.goals.matching import match, take_object
from smorl.types import ObjectGoal, ObjectSet


def matching_reward(
    objects: ObjectSet, goal: ObjectGoal, threshold: float, no_match_reward: float
) -> np.ndarray:
    """Minus the distance of the matched object to the goal's place, or `no_match_reward` (Eq. 7).

    Units are those of the positions. Release: only the position enters the distance; the paper
    writes the whole `where`, scale and depth included. We follow the release, because scale and
    depth have other units than the position.
    """
    found = match(objects, goal.what, threshold)
    place = take_object(objects.position, found.index)
    distance = np.linalg.norm(place - goal.position, axis=-1)
    return np.where(found.matched, -distance, no_match_reward).astype(np.float32)
