"""What objects are known by: their appearance over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smorl.representations.scalor.model.slots import Slots

# Normalised difference of looks from one frame to the next beyond which a tracked object has become
# another one: the model hands a half-hidden puck's slot to the arm. Different objects are about the
# square root of 2 apart.
TURNED = 1.0


def as_known(slots: Slots, ids: Tensor, look: Tensor) -> Slots:
    """Return live objects with the looks (B, N, W) that were reported under their `ids` (B, N)."""
    same = _same(slots, ids)
    return replace(
        slots, what=torch.where(same.any(2, keepdim=True), same.float() @ look, slots.what)
    )


@dataclass(frozen=True)
class Looks:
    """Appearances over time: what objects are known by (B, N, W), not normalised, and for how many
    frames on end (B, N) each has looked like something else."""

    what: Tensor
    strange: Tensor


def smoothed(
    objects: Slots,
    age: Tensor,
    ids: Tensor,
    before: Looks,
    what_basis: Tensor,
    share: float,
    patience: int,
) -> Looks:
    """Mix each object's look with the one reported under its ID before, of which `share` is kept.

    An object out of sight keeps its look, and so does one that looks like another for at most
    `patience` frames; after that it is taken for what it looks like. One without a former look has
    its own.
    """
    same = _same(objects, ids)
    known = same.any(2)
    former = same.float() @ before.what
    hidden = age > 0
    strange = known & (((objects.what - former) @ what_basis).norm(dim=-1) > TURNED)
    count = (same * before.strange[:, None]).sum(2)
    count = torch.where(hidden, count, torch.where(strange, count + 1, 0))
    become = strange & ~hidden & (count > patience)
    kept = torch.where(hidden | strange, 1.0, share) * known
    kept = torch.where(become, share if patience == 0 else 0.0, kept)[..., None]
    what = (1 - kept) * objects.what + kept * former
    return Looks(what, torch.where(become, 0, count))


def _same(slots: Slots, ids: Tensor) -> Tensor:
    """Which live slots (B, N) have which of the former `ids` (B, M), -1 being nobody's."""
    return (slots.ids[..., None] == ids[:, None]) & slots.alive[..., None] & (ids[:, None] >= 0)
