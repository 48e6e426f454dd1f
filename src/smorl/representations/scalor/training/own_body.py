"""Which tracked object is the own hand, read off the data: what rests least, and touches things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smorl.goals.own_body import StillnessModel
from smorl.planning.gentle import GentleConfig, GentleContact
from smorl.representations.base import Encoder
from smorl.representations.scalor.training.fit import spread_sequences
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.video import Sequences
from smorl.types import ObjectSet

_STILL = 0.04  # image coordinates: what moves less in a step rests
_AT_ONCE = 50  # episodes tracked side by side: more cost memory and are no faster


@dataclass(frozen=True)
class Followed:
    """Tracked episodes: objects (E, T, N), actions and pictures (E, T, .), and whose hand it is.

    `contact` is None where no hand is seen to move things.
    """

    objects: ObjectSet
    actions: NDArray[np.float32]
    images: NDArray[np.uint8]
    rest: StillnessModel
    contact: GentleContact | None


def follow(weights: PerceptionWeights, data: Sequences, episodes: int) -> Followed | None:
    """Track so many episodes of the data; None if nothing is known of how things look."""
    if "centres" not in weights.prior:
        return None
    objects, actions, images = tracked(weights.tracker(), data, episodes)
    rest = StillnessModel.fit(weights.prior["centres"], objects, _STILL, weights.threshold)
    contact = GentleContact.fit(objects, rest, GentleConfig())
    return Followed(objects, actions, images, rest, contact)


def tracked(
    tracker: Encoder, data: Sequences, episodes: int
) -> tuple[ObjectSet, NDArray[np.float32], NDArray[np.uint8]]:
    """Return objects (E, T, N), actions and pictures (E, T, .) of episodes spread over the data."""
    images, actions = spread_sequences(data, episodes, data.steps + 1)
    parts = []
    for first in range(0, len(images), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        carry, found = tracker.init(len(images[rows])), []
        for t in range(images.shape[1]):
            carry, objects = tracker.step(carry, images[rows, t], actions[rows, t])
            found.append(objects)
        parts.append(ObjectSet.stack(found))
    return ObjectSet.join(parts), actions, images
