"""The contract of a model of objects, and the sets it works on.

Tensors, because planning asks for thousands of predictions at once. B is any number of sets, N
the slots of a set, P the length of a place, A that of an action.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from smorl.devices import to_tensor
from smorl.goals.own_body import StillnessModel, hand_and_things
from smorl.types import ObjectSet

Execute = Callable[[ObjectSet, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Bodies:
    """What a model sees of a set: places and motion, and who can move whom.

    position and motion (B, N, P), in the encoder's coordinates; hand (B,) the slot of the part of
    the own body that touches things, things (B, N) bool what is present and not the own body.
    """

    position: Tensor
    motion: Tensor
    hand: Tensor
    things: Tensor

    @classmethod
    def of(cls, objects: ObjectSet, rest: StillnessModel, reach: np.ndarray) -> Bodies:
        """Return what a model sees of sets (B, N); `reach` is that of `smorl.planning.gentle`."""
        hand, things = hand_and_things(objects, rest, reach)
        motion = objects.motion if objects.motion.shape[-1] else np.zeros_like(objects.position)
        arrays = (objects.position, motion, hand, things)
        return cls(*(to_tensor(a) for a in arrays))

    def to(self, device: torch.device) -> Bodies:
        """Return the sets on a device."""
        return Bodies(*(part.to(device) for part in vars(self).values()))

    def __getitem__(self, rows: np.ndarray) -> Bodies:
        """Return the sets at `rows`."""
        parts = (self.position, self.motion, self.hand, self.things)
        return Bodies(*(part[rows] for part in parts))

    def repeat(self, count: int) -> Bodies:
        """Return every set `count` times in a row, (B * count, ...)."""
        parts = (self.position, self.motion, self.hand, self.things)
        return Bodies(*(part.repeat_interleave(count, 0) for part in parts))

    def moved(self, step: Tensor) -> Bodies:
        """Return the sets after everything has gone `step` (B, N, P)."""
        return replace(self, position=self.position + step, motion=step)


@dataclass(frozen=True)
class View:
    """How object sets become what a model sees.

    `rest` and `reach` tell the hand from things; `execute` turns actions of the replay into those
    that were carried out (None: they are the same).
    """

    rest: StillnessModel
    reach: np.ndarray
    execute: Execute | None = None

    def bodies(self, objects: ObjectSet) -> Bodies:
        """Return what a model sees of sets (B, N)."""
        return Bodies.of(objects, self.rest, self.reach)

    def executed(self, objects: ObjectSet, actions: np.ndarray) -> Tensor:
        """Return the actions (B, A) that were carried out."""
        done = actions if self.execute is None else self.execute(objects, actions)
        return to_tensor(np.asarray(done, np.float32))


class Dynamics(Protocol):
    """Predicts what becomes of a set of objects."""

    def predict(self, bodies: Bodies, actions: Tensor) -> Bodies:
        """Return the sets after the executed actions (B, A)."""
        ...
