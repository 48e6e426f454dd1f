"""Places of tracked objects over time: how far they went, and that what rests does not tremble."""

from __future__ import annotations

import torch
from torch import Tensor


def motion_of(ids: Tensor, place: Tensor, former: Tensor, before: Tensor) -> Tensor:
    """How far objects (B, N) have gone from the places `before` of those with the same ID.

    Zero for an object without an ID now or in the frame before.
    """
    index, known = _former(ids, former)
    return torch.where(known, place - before.gather(1, index.expand_as(place)), 0.0)


def settled(ids: Tensor, place: Tensor, former: Tensor, before: Tensor, reach: float) -> Tensor:
    """Places (B, N, 2) without the trembling of measurement: a way d shorter than `reach` from the
    place `before` of the same ID counts as d * d / reach, a longer one in full."""
    if not reach:
        return place
    index, known = _former(ids, former)
    old = before.gather(1, index.expand_as(place))
    share = ((place - old).norm(dim=-1, keepdim=True) / reach).clamp_max(1)
    return torch.where(known, old + share * (place - old), place)


def _former(ids: Tensor, former: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each of `ids` (B, N) stood among the `former` ones, and whether (B, N, 1)."""
    same = (ids[..., None] == former[:, None]) & (ids >= 0)[..., None]
    return same.int().argmax(-1, keepdim=True), same.any(-1, keepdim=True)
