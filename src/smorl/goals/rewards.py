"""The reward (Eq. 7): how far is the goal's object from its place?"""

import numpy as np

from smorl.goals.matching import Match, lengths, take_object
from smorl.types import ObjectGoal, ObjectSet


def place_reward(
    objects: ObjectSet, goal: ObjectGoal, found: Match, no_match_reward: float
) -> np.ndarray:
    """Minus the distance of the found object to the goal's place, or `no_match_reward`, (...,).

    With `match` this is Eq. 7; with `match_id` the reward by tracker ID.

    Units are those of the positions. Release: only the position enters the distance; the paper
    writes the whole `where`, scale and depth included. We follow the release, because scale and
    depth have other units than the position.
    """
    place = take_object(objects.position, found.index)
    distance = lengths(place - goal.position)
    return np.where(found.matched, -distance, no_match_reward).astype(np.float32)
