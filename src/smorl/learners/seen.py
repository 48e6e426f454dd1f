"""What the networks see of a batch; worked out once, whatever networks look at it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True)
class Seen:
    """What the networks see of sets and goals: (B, N, F), (B, N), (B, F), and (B, M) extras."""

    objects: Tensor
    present: Tensor
    goal: Tensor
    matched: Tensor  # features of the goal's object; M = 0 when the option is off
    mask: Tensor  # `attention_mask` of present
    tail: Tensor  # [goal; matched]: what a network gets beside the objects

    @classmethod
    def of(
        cls, objects: Tensor, present: Tensor, goal: Tensor, matched: Tensor | None = None
    ) -> Seen:
        """Work out what all networks that look at it have in common."""
        matched = goal[:, :0] if matched is None else matched
        tail = torch.cat([goal, matched], dim=-1)
        return cls(objects, present, goal, matched, attention_mask(present), tail)

    def rows(self, rows: slice) -> Seen:
        """Some of the rows."""
        return Seen(*(getattr(self, field.name)[rows] for field in fields(self)))


def with_matched(pooled: Tensor, seen: Seen) -> Tensor:
    """Append the matched features to what every member pooled, (C, B, .)."""
    if not seen.matched.shape[1]:
        return pooled
    return torch.cat([pooled, seen.matched.expand(len(pooled), -1, -1)], dim=-1)


def attention_mask(present: Tensor) -> Tensor:
    """Additive mask (B, N, 1): 0 where an object is, a very negative number where none is.

    A finite number instead of -inf keeps an empty set defined: all weights are then equal, and
    the features they weigh are zero.
    """
    return (~present).to(torch.float32).mul_(-1e9).unsqueeze(2)
