"""What the networks see of a batch, as arrays: the next sets first, then those of now."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from smorl.learners.compiled.looking import look
from smorl.learners.networks import Inputs


class Seen:
    """Sets (2 B, N, F) of which `count` (2 B,) objects are there, goals (B, F), extras (2 B, M).

    Rows 0 to B are what follows, rows B to 2 B what is now; both have the same goals.
    """

    def __init__(
        self, inputs: Inputs, batch: int, slots: int, dtype: np.dtype, *, whole: bool
    ) -> None:
        """`whole`: slots stay as they are, for a torso that takes the first one."""
        self._inputs, self._whole = inputs, whole
        self.objects = np.zeros((2 * batch, slots, inputs.features), dtype)
        self.count = np.zeros(2 * batch, np.int64)
        self.goal = np.zeros((batch, inputs.features), dtype)
        self.extras = np.zeros((2 * batch, inputs.extra), dtype)
        self._following = self.objects[:batch], self.count[:batch], self.extras[:batch]
        self._now = self.objects[batch:], self.count[batch:], self.extras[batch:]
        self._known: tuple[list[Tensor], list[np.ndarray]] = [], []

    def look(self, raw: tuple[np.ndarray, ...], *, now: bool) -> None:
        """Look at raw objects (B, N, .), which of them are present (B, N), and goals (B, .)."""
        inputs = self._inputs
        objects, count, extras = self._now if now else self._following
        shift, scale, centres, rest, reach = self._numbers()
        look(
            *raw, shift, scale, inputs.what.stop, inputs.position.stop - inputs.position.start,
            inputs.relative, inputs.matched, inputs.body, self._whole, centres, rest, reach,
            objects, count, self.goal, extras,
        )  # fmt: skip

    def _numbers(self) -> list[np.ndarray]:
        """What `Inputs` knows, as arrays; it learns some of it in the course of a run."""
        inputs, (tensors, arrays) = self._inputs, self._known
        known = [inputs.shift, inputs.scale, inputs.centres, inputs.rest, inputs.reach]
        if len(tensors) != len(known) or any(
            a is not b for a, b in zip(tensors, known, strict=True)
        ):
            dtype = self.objects.dtype
            arrays = [np.ascontiguousarray(t.numpy(), dtype) for t in known]
            self._known = known, arrays
        return arrays
