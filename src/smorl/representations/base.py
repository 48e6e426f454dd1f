"""What turns observations into objects. Recurrent state is explicit: it goes in and comes out."""

from typing import Any, Protocol

import numpy as np

from smorl.types import ObjectLayout, ObjectSet


class Encoder(Protocol):
    """Observation -> ObjectSet, batched over environments."""

    layout: ObjectLayout

    def init(self, batch: int) -> Any:
        """Return the carry before the first frame of `batch` episodes."""
        ...

    def step(
        self, carry: Any, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[Any, ObjectSet]:
        """Encode one observation per row, given the actions that led to it."""
        ...

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode goal observations, each on its own, without history."""
        ...
