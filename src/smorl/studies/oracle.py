"""Swap a part of perception for its ground truth: where does the remaining error come from?

An `OracleEncoder` is the tracker with some answers corrected by the simulator. It is a measuring
instrument, never an agent's eyes in training (docs/learner.md, "Where the gap comes from").
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smorl.envs.contract import observation_shape, require_truth
from smorl.errors import InvalidInput
from smorl.evaluation.detection_metrics import GATE_PIXELS, LEAST_SHARE, assign
from smorl.representations.base import Encoder
from smorl.types import ObjectSet

NEEDS = "swapping parts of perception for the truth"
PARTS = {
    "detection": "visible pucks are always found, and nothing that is not there",
    "occlusion": "pucks are found where they are, even when the arm hides them",
    "places": "objects are exactly where the camera would see their centres",
    "appearance": "an object always looks the same, so matching never fails",
    "goal image": "all of the above, for the goal image only",
}


@dataclass(frozen=True)
class Prototypes:
    """How each item, pucks 0..n-1 and then the arm, is usually encoded: arrays (n + 1, .)."""

    what: np.ndarray
    scale: np.ndarray
    depth: np.ndarray
    offset: np.ndarray  # of the reported place from the projected one, image coordinates

    @classmethod
    def measure(cls, encoder: Encoder, envs: Any, seed: int = 4_000_000) -> Prototypes:
        """Average the encodings of first frames of `envs`, told apart by the simulator."""
        observation, _ = envs.reset(seed=[seed + i for i in range(envs.num_envs)])
        found = encoder.encode_goal(observation["observation"])
        truth = _places(require_truth(envs, NEEDS).places())
        who = identify(found, truth, observation_shape(envs)[0])
        items = truth.shape[1]
        rows, slots = zip(*(np.nonzero(who == i) for i in range(items)), strict=True)
        if any(len(r) == 0 for r in rows):
            raise InvalidInput(
                "this perception does not find every object in any of the first frames, so there "
                "is nothing to swap for the truth; train it longer."
            )
        pairs = list(zip(rows, slots, strict=True))
        offset = [
            np.median(found.position[r, s] - truth[r, i], 0) for i, (r, s) in enumerate(pairs)
        ]
        offset[:-1] = [np.zeros(2)] * (items - 1)

        def usual(array: np.ndarray) -> np.ndarray:
            return np.stack([array[r, s].mean(0) for r, s in pairs])

        return cls(usual(found.what), usual(found.scale), usual(found.depth), np.stack(offset))


class OracleEncoder:
    """An encoder whose answers are corrected in the named `parts` by the simulator's state."""

    def __init__(
        self, encoder: Encoder, envs: Any, parts: Collection[str], usual: Prototypes
    ) -> None:
        unknown = set(parts) - set(PARTS)
        if unknown:
            raise InvalidInput(f"unknown parts {sorted(unknown)}; known: {', '.join(PARTS)}.")
        self.encoder, self.truth = encoder, require_truth(envs, NEEDS)
        self.image_size = observation_shape(envs)[0]
        self.parts, self.usual = frozenset(parts), usual
        self.layout = encoder.layout

    def init(self, batch: int) -> Any:
        """Return the encoder's own carry, and no places of the frame before."""
        return self.encoder.init(batch), None

    def step(
        self, carry: Any, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[Any, ObjectSet]:
        """Encode, then correct by where everything is now."""
        own, before = carry
        own, found = self.encoder.step(own, observation, actions)
        truth = _places(self.truth.places())
        hidden = np.zeros(truth[:, :-1, 0].shape, bool)
        if len(self.parts & {"detection", "occlusion"}) == 1:  # else it does not matter
            hidden = self.truth.segment().shares < LEAST_SHARE
        return (own, truth), self._correct(found, truth, self.parts, hidden, before)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode goal images, corrected only if "goal image" is among the parts."""
        found = self.encoder.encode_goal(observation)
        if "goal image" not in self.parts:
            return found
        truth = _places(self.truth.goal_places())
        everything = frozenset(PARTS)
        return self._correct(found, truth, everything, np.zeros(truth[:, :-1, 0].shape, bool))

    def _correct(
        self,
        found: ObjectSet,
        truth: np.ndarray,
        parts: frozenset[str],
        hidden: np.ndarray,
        before: np.ndarray | None = None,
    ) -> ObjectSet:
        """`truth` (K, n + 1, 2) are projected places; `hidden` (K, n) pucks nobody could see.

        `before` are the projected places of the frame before, if there was one.
        """
        found = found.map(np.array)
        who = identify(found, truth, self.image_size)
        if "detection" in parts:
            found.present[who < 0] = False
        for row in range(len(who)):
            self._add_missing(found, who, row, truth[row], parts, hidden[row])
        known = found.present & (who >= 0)
        item = np.where(known, who, 0)
        rows = np.arange(len(who))[:, None]
        if "places" in parts:
            place = truth[rows, item] + self.usual.offset[item]
            found.position[known] = place[known]
            if found.layout.motion and before is not None:
                found.motion[known] = (truth - before)[rows, item][known]
        if "appearance" in parts:
            found.what[known] = self.usual.what[item[known]]
        return replace(found, **{k: _masked(a, found.present) for k, a in found.arrays()})

    def _add_missing(
        self,
        found: ObjectSet,
        who: np.ndarray,
        row: int,
        truth: np.ndarray,
        parts: frozenset[str],
        hidden: np.ndarray,
    ) -> None:
        for puck in range(len(truth) - 1):
            part = "occlusion" if hidden[puck] else "detection"
            empty = np.flatnonzero(~found.present[row])
            if part not in parts or (who[row] == puck).any() or not len(empty):
                continue
            slot = (row, empty[0])
            who[slot], found.present[slot] = puck, True
            found.what[slot], found.scale[slot] = self.usual.what[puck], self.usual.scale[puck]
            found.position[slot], found.depth[slot] = truth[puck], self.usual.depth[puck]


def identify(found: ObjectSet, truth: np.ndarray, size: int) -> np.ndarray:
    """Return the item (K, N) each detection shows: a puck, n for the arm, -1 for nothing.

    Pucks are those within 4 pixels, one to one; the arm is the largest of the others.
    """
    who = np.full(found.present.shape, -1)
    pucks = truth.shape[1] - 1
    for row in range(len(who)):
        slots = np.flatnonzero(found.present[row])
        offset = found.position[row, slots][:, None] - truth[row, None, :pucks]
        distance = np.linalg.norm(offset, axis=-1) * size / 2
        pairs = assign(np.where(distance <= GATE_PIXELS, distance, np.inf))
        for index, puck in pairs.items():
            who[row, slots[index]] = puck
        rest = slots[who[row, slots] < 0]
        if len(rest):
            who[row, rest[found.scale[row, rest].prod(-1).argmax()]] = pucks
    return who


def _places(places: np.ndarray) -> np.ndarray:
    """Return places in image coordinates as encoders give them."""
    return places.astype(np.float32)


def _masked(array: np.ndarray, present: np.ndarray) -> np.ndarray:
    if array.ndim == present.ndim:
        return array if array.dtype == bool else np.where(present, array, -1)
    return array * present[..., None]
