"""What the networks see of the two ends of a transition, as arrays in columns (`looking`)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smorl.learners.compiled.looking import hand_over, look
from smorl.learners.networks import Inputs


class Side:
    """One end: objects (N, F, B), mask (N, B), goal (G + 1, B) and extras (M, B)."""

    def __init__(self, inputs: Inputs, batch: int, slots: int, dtype: np.dtype) -> None:
        features, used = inputs.features, inputs.used.stop
        self.objects = np.zeros((slots, features, batch), dtype)
        self.mask = np.zeros((slots, batch), dtype)
        self.goal = np.ones((used + 1, batch), dtype)
        self.extras = np.zeros((inputs.extra, batch), dtype)
        self._like, self._hand = np.zeros(batch, np.int32), np.zeros(batch, np.int32)
        self._inputs = inputs
        # Torch's tanh takes many at once, numba's does not.
        offsets = (features - used) // 2 if inputs.relative else 0
        self._sharp = torch.from_numpy(self.objects)[:, used + offsets :]
        self._known: list[Tensor] = []
        self._arrays: list[np.ndarray] = []

    def look(self, raw: np.ndarray, present: np.ndarray, goal: np.ndarray) -> None:
        """Look at raw objects (B, N, .), which of them are present (B, N), and goals (B, .)."""
        inputs = self._inputs
        shift, scale, *body = self._numbers()
        look(
            raw, present, goal, shift, scale, inputs.what.stop,
            inputs.position.stop - inputs.position.start, inputs.relative, inputs.matched,
            inputs.body, *body, self.objects, self.mask, self.goal, self._like, self._hand,
        )  # fmt: skip
        if inputs.relative:
            self._sharp.tanh_()
        if inputs.matched:
            hand_over(self.objects, self._like, self.extras, 0)
        if inputs.body:
            begin = inputs.features if inputs.matched else 0
            hand_over(self.objects, self._hand, self.extras, begin)

    def _numbers(self) -> list[np.ndarray]:
        """What `Inputs` knows, as arrays; it learns some of it in the course of a run."""
        inputs = self._inputs
        known = [inputs.shift, inputs.scale, inputs.centres, inputs.rest, inputs.reach]
        if list(map(id, known)) != list(map(id, self._known)):
            dtype = self.objects.dtype
            self._known = known
            self._arrays = [np.ascontiguousarray(tensor.numpy(), dtype) for tensor in known]
        return self._arrays
