"""Rows of batches that are dataclasses of tensors, nested ones and dicts included."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor


def pick_rows(noun, index: Tensor) -> Any:
    """Pick rows of every tensor in a dataclass, nested ones and dicts included."""
    return _walk(lambda tensor: tensor[index], noun)


def join_rows(one, two, order: Tensor) -> Any:
    """Put two batches back into one, row i from position order[i] of their concatenation."""
    return _walk(lambda a, b: torch.cat([a, b])[order], one, two)


def mix_rows(mask: Tensor, one, two) -> Any:
    """Take rows from `one` where `mask` (B,), from `two` elsewhere."""

    def choose(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(mask.reshape(-1, *[1] * (a.dim() - 1)), a, b)

    return _walk(choose, one, two)


def put_rows(whole, index: Tensor, rows) -> Any:
    """Return `whole` with other `rows` in the places `index` (R,)."""
    return _walk(lambda all_of, some: all_of.index_copy(0, index, some), whole, rows)


def _walk(function, *nouns) -> Any:
    first = nouns[0]
    if isinstance(first, Tensor):
        return function(*nouns)
    if isinstance(first, dict):
        return {key: _walk(function, *(noun[key] for noun in nouns)) for key in first}
    names = [field.name for field in fields(first)]
    parts = {name: _walk(function, *(getattr(noun, name) for noun in nouns)) for name in names}
    return type(first)(**parts)
