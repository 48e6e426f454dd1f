"""What the networks see of the two ends of a transition, as arrays in columns (`looking`)."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from smorl.learners.compiled.looking import look
from smorl.learners.compiled.memory import Arrays
from smorl.learners.networks import Inputs


class Side:
    """One end: objects (N, F, B), mask (N, B), goal (G + 1, B) and extras (M, B)."""

    def __init__(self, inputs: Inputs, batch: int, slots: int, arrays: Arrays) -> None:
        self.objects, self.mask = arrays(slots, inputs.features, batch), arrays(slots, batch)
        self.goal = arrays(inputs.used.stop + 1, batch)
        self.goal[-1] = 1
        self.extras = arrays(inputs.extra, batch)
        self.like, self.hand = np.zeros(batch, np.int32), np.zeros(batch, np.int32)


class Sides:
    """Both ends: what follows, and what is now."""

    def __init__(self, inputs: Inputs, batch: int, slots: int, arrays: Arrays) -> None:
        self.following, self.now = (Side(inputs, batch, slots, arrays) for _ in range(2))
        self._inputs = inputs
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
                inputs.matched, inputs.body, *body, side.objects, side.mask, side.goal,
                side.extras, side.like, side.hand,
            )  # fmt: skip

    def _numbers(self) -> list[np.ndarray]:
        """What `Inputs` knows, as arrays; it learns some of it in the course of a run."""
        inputs = self._inputs
        known = [inputs.shift, inputs.scale, inputs.centres, inputs.rest, inputs.reach]
        if list(map(id, known)) != list(map(id, self._known)):
            dtype = self.now.objects.dtype
            self._known = known
            self._arrays = [np.ascontiguousarray(tensor.numpy(), dtype) for tensor in known]
        return self._arrays
