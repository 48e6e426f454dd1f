"""An encoder of one's own: objects by colour, without any training, in one file.

    smorl train gt-rearrange-1 --env smorl/VisualRearrange1-v0 \
        --method examples/own_encoder.py:BY_COLOUR --goals.prior fitted --out runs/by-colour

Each colour is an object; its place is the mean of its pixels. Everything else (goals, reward,
relabelling, learner, evaluation) is smorl's and does not know the difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smorl.methods import EncoderInputs, Method
from smorl.types import ObjectLayout, ObjectSet

# What to look for, RGB in [0, 255]: the red puck and the dark fingers of the hand.
COLOURS = np.array([[200, 40, 40], [60, 60, 60]])
TOLERANCE = 60.0  # distance in RGB within which a pixel is of a colour
FEWEST = 3  # pixels an object must have to be there


class ByColour:
    """Pictures uint8 (K, H, W, 3) -> one object per colour (smorl.representations.base.Encoder)."""

    def __init__(self) -> None:
        count = len(COLOURS)
        self.layout = ObjectLayout(slots=count, what=count, position=2, motion=2)

    def init(self, batch: int) -> None:
        """Before the first frame nothing is known."""

    def step(
        self, carry: ObjectSet | None, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[ObjectSet, ObjectSet]:
        found = self.encode_goal(observation)
        ids = np.where(found.present, np.arange(self.layout.slots), -1)
        motion = np.zeros_like(found.position)
        if carry is not None:
            known = (found.present & carry.present)[..., None]
            motion = np.where(known, found.position - carry.position, 0).astype(np.float32)
        found = replace(found, ids=ids, motion=motion)
        return found, found

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        difference = observation[:, None].astype(np.float32) - COLOURS[:, None, None]
        mask = np.linalg.norm(difference, axis=-1) < TOLERANCE  # (K, N, H, W)
        height, width = observation.shape[1:3]
        y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
        x = np.linspace(-1, 1, width, dtype=np.float32)
        pixels = mask.sum((2, 3))
        present = pixels >= FEWEST
        at_least = np.maximum(pixels, 1)
        place = np.stack([(mask * axis).sum((2, 3)) / at_least for axis in (x, y)], -1)
        what = np.eye(len(COLOURS), dtype=np.float32) * present[..., None]
        nothing = np.zeros((*present.shape, 0), np.float32)
        place = (place * present[..., None]).astype(np.float32)
        return ObjectSet(what, place, nothing, nothing, present, motion=np.zeros_like(place))


def build(inputs: EncoderInputs) -> ByColour:
    """Return the encoder; `inputs.spaces` would say how large pictures are."""
    return ByColour()


BY_COLOUR = Method("objects by their colour, from pixels, nothing trained", build, visual=True)
