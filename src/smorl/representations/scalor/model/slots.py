"""Tracked objects between frames: a fixed number of slots, most of them usually empty."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from smorl.devices import CPU
from smorl.representations.scalor.model.settings import ScalorConfig

PRIOR_STATE = 64  # Release: hidden size of the propagation prior's LSTM.


@dataclass(frozen=True)
class Slots:
    """OnlineVae and recurrent state of tracked objects, (B, N, .); `alive` says which are real.

    where is (scale x, scale y, x, y); bias the last sampled change of it; absence accumulates
    1 - presence; ids count discoveries per row, -1 where empty.
    """

    what: Tensor
    where: Tensor
    depth: Tensor
    presence: Tensor
    bias: Tensor
    state: Tensor  # of the tracker GRU
    prior: Tensor  # of the prior's LSTM, hidden and cell
    absence: Tensor
    alive: Tensor  # (B, N) bool
    ids: Tensor  # (B, N) int64

    @classmethod
    def empty(cls, config: ScalorConfig, batch: int, device: torch.device = CPU) -> Slots:
        """No objects. Boxes get the usual size, so that arithmetic on empty slots is harmless."""
        sizes = (config.what, 4, 1, 1, 4, config.tracker, 2 * PRIOR_STATE, 1)
        values = [torch.zeros(batch, config.slots, size, device=device) for size in sizes]
        values[1][..., :2] = config.size
        alive = torch.zeros(batch, config.slots, dtype=torch.bool, device=device)
        ids = torch.full((batch, config.slots), -1, device=device)
        return cls(*values, alive, ids)  # pyright: ignore[reportCallIssue]

    @classmethod
    def born(
        cls, config: ScalorConfig, what: Tensor, where: Tensor, depth: Tensor, presence: Tensor
    ) -> Slots:
        """Newly found objects: recurrent states start at zero (Release)."""
        fresh = [
            what.new_zeros(*what.shape[:2], size)
            for size in (4, config.tracker, 2 * PRIOR_STATE, 1)
        ]
        alive = presence[..., 0] > config.born
        bias, state, prior, absence = fresh
        ids = torch.full(alive.shape, -1, device=alive.device)
        return cls(what, where, depth, presence, bias, state, prior, absence, alive, ids)

    def map(self, function) -> Slots:
        """Apply a function to every tensor."""
        return Slots(**{f.name: function(getattr(self, f.name)) for f in fields(self)})

    def rows(self, index: Tensor) -> Slots:
        """Pick rows of the batch."""
        return self.map(lambda tensor: tensor[index])


@torch.no_grad()
def merge(tracked: Slots, found: Slots, next_id: Tensor) -> tuple[Slots, Tensor, Tensor]:
    """Drop dead slots, append new objects; return (slots, found in this frame, next free id).

    Survivors keep their order; new objects follow, surest first. Gradients stop here: nothing
    that is carried to the next frame is differentiated (Release).
    """
    count = tracked.alive.shape[1]
    order = torch.cumsum(found.alive, 1) - 1 + next_id[:, None]
    found = replace(found, ids=torch.where(found.alive, order, -1))
    key = torch.cat([2.0 * tracked.alive, torch.where(found.alive, found.presence[..., 0], 0.0)], 1)
    chosen = torch.sort(key, dim=1, descending=True, stable=True).indices[:, :count]

    def pick(old: Tensor, new: Tensor) -> Tensor:
        both = torch.cat([old, new], 1)
        index = chosen if both.dim() == 2 else chosen[..., None].expand(-1, -1, both.shape[-1])
        return both.gather(1, index)

    names = [f.name for f in fields(Slots)]
    slots = Slots(**{n: pick(getattr(tracked, n), getattr(found, n)) for n in names})
    slots = replace(slots, ids=torch.where(slots.alive, slots.ids, -1))
    new = slots.alive & (chosen >= count)
    return slots, new, next_id + found.alive.sum(1)


def nearness(objects: Slots) -> Tensor:
    """Share (B, N, 1) of a frame's other objects that lie behind each one, 0 to 1.

    The model's depth has no unit and no bounds; in a picture it only decides who covers whom.
    """
    behind = (objects.depth < objects.depth.transpose(1, 2)) & objects.alive[:, None]
    others = (objects.alive.sum(1) - 1).clamp_min(1)
    return (behind.sum(2) / others[:, None])[..., None]


def each(action: Tensor, slots: Slots) -> Tensor:
    """Return the action of each row (B, A) for each of its slots, (B, N, A)."""
    return action[:, None].expand(-1, slots.what.shape[1], -1)
