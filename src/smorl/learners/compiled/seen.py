"""What the networks see of the two ends of a transition, as arrays in columns (`looking`)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smorl.learners.compiled.looking import hand_over, look
from smorl.learners.compiled.memory import Arrays
from smorl.learners.networks import Inputs


class Side:
    """One end: objects (N, F, B), mask (N, B), goal (G + 1, B) and extras (M, B)."""

    def __init__(self, inputs: Inputs, objects: np.ndarray, arrays: Arrays) -> None:
        slots, _, batch = objects.shape
        self.objects, self.mask = objects, arrays(slots, batch)
        self.goal = arrays(inputs.used.stop + 1, batch)
        self.goal[-1] = 1
        self.extras = arrays(inputs.extra, batch)
        self.like, self.hand = np.zeros(batch, np.int32), np.zeros(batch, np.int32)


class Sides:
    """Both ends: what follows, and what is now."""

    def __init__(self, inputs: Inputs, batch: int, slots: int, arrays: Arrays) -> None:
        objects = arrays(2, slots, inputs.features, batch)
        self.following, self.now = (Side(inputs, part, arrays) for part in objects)
        self._inputs = inputs
        # Torch's tanh takes many at once, numba's does not.
        sharp = (inputs.features + inputs.used.stop) // 2
        self._sharp = torch.from_numpy(objects)[:, :, sharp:]
        self._known: list[Tensor] = []
        self._arrays: list[np.ndarray] = []

    def look(
        self,
        following: tuple[np.ndarray, np.ndarray],
        now: tuple[np.ndarray, np.ndarray],
        goal: np.ndarray,
    ) -> None:
        """Look at raw objects (B, N, .) and which are present (B, N), twice, and goals (B, .)."""
        inputs = self._inputs
        places = inputs.position.stop - inputs.position.start
        shift, scale, *body = self._numbers()
        for side, seen in ((self.following, following), (self.now, now)):
            look(
                *seen, goal, shift, scale, inputs.what.stop, places, inputs.relative,
                inputs.matched, inputs.body, *body, side.objects, side.mask, side.goal, side.like,
                side.hand,
            )  # fmt: skip
        if inputs.relative:
            self._sharp.tanh_()
        if inputs.extra:
            for side in (self.following, self.now):
                hand_over(
                    side.objects, side.like, side.hand, inputs.matched, inputs.body, side.extras
                )

    def _numbers(self) -> list[np.ndarray]:
        """What `Inputs` knows, as arrays; it learns some of it in the course of a run."""
        inputs = self._inputs
        known = [inputs.shift, inputs.scale, inputs.centres, inputs.rest, inputs.reach]
        if list(map(id, known)) != list(map(id, self._known)):
            dtype = self.now.objects.dtype
            self._known = known
            self._arrays = [np.ascontiguousarray(tensor.numpy(), dtype) for tensor in known]
        return self._arrays
