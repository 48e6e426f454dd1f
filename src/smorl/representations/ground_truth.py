"""Perfect perception: the simulator's state as objects (Sec. 5.1) or as one vector (SAC+HER)."""

from dataclasses import replace

import numpy as np

from smorl.errors import InvalidInput
from smorl.representations.base import Memoryless
from smorl.types import ObjectLayout, ObjectSet


class GroundTruthObjects:
    """State (K, 2(n+1)), hand then pucks, metres -> n + 1 objects with one-hot appearance.

    `identities` is the length of the one-hot code: n + 1 for the environment trained on; an agent
    can be evaluated with fewer pucks, because identities then simply stay unused.
    """

    def __init__(self, items: int, identities: int | None = None) -> None:
        identities = items if identities is None else identities
        if items > identities:
            raise InvalidInput(
                f"this agent on ground truth learned names for {identities - 1} pucks and cannot "
                f"play with {items - 1}; use at most {identities - 1}, or train with more."
            )
        self.items = items
        self.layout = ObjectLayout(slots=items, what=identities, motion=2)
        self._what = np.eye(identities, dtype=np.float32)[:items]

    def init(self, batch: int) -> None:
        """Before the first frame there are no places to carry."""

    def step(
        self, carry: np.ndarray | None, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, ObjectSet]:
        objects = self.encode_goal(observation)
        ids = np.broadcast_to(np.arange(self.items), objects.present.shape)
        places = objects.position
        motion = objects.motion if carry is None else places - carry
        return places, replace(objects, ids=ids, motion=motion)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        batch = len(observation)
        nothing = np.zeros((batch, self.items, 0), np.float32)
        return ObjectSet(
            what=np.broadcast_to(self._what, (batch, *self._what.shape)),
            position=observation.reshape(batch, self.items, 2).astype(np.float32),
            scale=nothing,
            depth=nothing,
            present=np.ones((batch, self.items), bool),
            motion=np.zeros((batch, self.items, 2), np.float32),
        )


class GroundTruthVector(Memoryless):
    """State (K, D) as a set of one object without appearance; see `smorl.types`."""

    def __init__(self, size: int) -> None:
        self.layout = ObjectLayout(slots=1, what=0, position=size)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        return ObjectSet.of_vectors(observation)
