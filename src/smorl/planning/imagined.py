"""What planning works on: a situation as tensors, and gentle contact in imagination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from smorl.devices import CPU, to_array, to_tensor
from smorl.dynamics.base import Bodies, View
from smorl.planning.base import Situation
from smorl.planning.gentle import GentleContact


@dataclass(frozen=True)
class Task:
    """R rows: what is seen, what is asked for, and what should be left alone."""

    features: Tensor  # (R, N, F)
    present: Tensor  # (R, N)
    goal: Tensor  # (R, F)
    bodies: Bodies
    matched: Tensor  # (R,) bool: whether an object matches the current sub-goal
    slot: Tensor  # (R,) which object that is
    place: Tensor  # (R, P) where it should be
    others: Tensor  # (R, N) bool: things that other sub-goals are about
    places: Tensor  # (R, N, P) where these should be
    strangers: Tensor  # (R, N) bool: things that no sub-goal is about

    @classmethod
    def of(cls, situation: Situation, view: View, device: torch.device = CPU) -> Task:
        """Return the situation (K rows) as tensors on a device."""
        objects, goal = situation.objects, situation.goal
        rows = np.arange(len(goal.what))
        bodies = view.bodies(objects)
        slot = situation.matched[rows, situation.current]
        asked, places = _asked(situation)
        mine = np.arange(objects.present.shape[1]) == slot[:, None]
        things = to_array(bodies.things) & ~mine
        arrays = {
            "features": objects.features(),
            "present": objects.present,
            "goal": goal.features(objects.layout),
            "matched": slot >= 0,
            "slot": np.maximum(slot, 0),
            "place": goal.position,
            "others": things & asked,
            "places": places,
            "strangers": things & ~asked,
        }
        tensors = {k: to_tensor(a, device) for k, a in arrays.items()}
        return cls(bodies=bodies.to(device), **tensors)

    def repeat(self, count: int) -> Task:
        """Return every row `count` times in a row."""
        parts = {k: v for k, v in vars(self).items() if k != "bodies"}
        many = {k: v.repeat_interleave(count, 0) for k, v in parts.items()}
        return Task(**many, bodies=self.bodies.repeat(count))


def _asked(situation: Situation) -> tuple[np.ndarray, np.ndarray]:
    """Return which slots (K, N) some sub-goal is about, and where it wants them (K, N, P)."""
    objects, targets = situation.objects, situation.targets
    asked = np.zeros(objects.present.shape, bool)
    places = objects.position.copy()
    row, goal = np.nonzero((situation.matched >= 0) & targets.present)
    slot = situation.matched[row, goal]
    asked[row, slot] = True
    places[row, slot] = targets.position[row, goal]
    return asked, places


class Slow:
    """`GentleContact` on imagined sets."""

    def __init__(self, gentle: GentleContact, device: torch.device = CPU) -> None:
        arrays = (gentle.offset, gentle.basis, gentle.touch, gentle.floor)
        tensors = (to_tensor(a, device) for a in arrays)
        self.offset, self.basis, self.touch, self.floor = tensors

    def __call__(self, bodies: Bodies, actions: Tensor) -> Tensor:
        """Return the actions (R, A) that would be carried out."""
        rows = torch.arange(len(bodies.hand), device=bodies.hand.device)
        hand = bodies.position[rows, bodies.hand]
        away = (hand[:, None] - bodies.position - self.offset) @ self.basis
        gap = away.norm(dim=-1).masked_fill(~bodies.things, torch.inf).amin(1)
        return actions * (gap - self.touch).clamp(self.floor, gap.new_ones(())).unsqueeze(-1)
