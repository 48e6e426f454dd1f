"""Set encoders of the compiled update: what objects and goal become before the first layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from smorl.learners.compiled.attention import attend, attend_back, take_first
from smorl.learners.compiled.folding import (
    fold_ends,
    fold_ends_back,
    fold_heads,
    fold_heads_back,
    unfold_rows,
)
from smorl.learners.compiled.seen import Seen
from smorl.learners.layers import EnsembleLinear
from smorl.learners.set_encoders import AttentionHeads, GoalAttention

# The numbers of a parameter, or of its gradient.
Numbers = Callable[[Tensor], np.ndarray]


class FlatTorso:
    """The first object and the goal as they are; nothing to learn, nothing to fold."""

    def __init__(self, features: int, extra: int, first: EnsembleLinear, values: Numbers) -> None:
        self.weight, self.bias = values(first.weight), values(first.bias)
        self.width = 2 * features + extra
        self.passed = 0  # leading inputs of the first layer that need a gradient
        self.to_weight = self.to_bias = self.weight[:0]

    def learn(self, first: EnsembleLinear, grads: Numbers) -> None:
        """Prepare for gradients."""
        self.to_weight, self.to_bias = grads(first.weight), grads(first.bias)

    def fold(self) -> None:
        """The first layer meets what is pooled as it is."""

    def pool(self, seen: Seen, pooled: np.ndarray, start: int, stop: int) -> None:
        """Fill rows of pooled (C, B, W)."""
        take_first(seen.goal, seen.objects, seen.extras, pooled, start, stop)

    def back(self, seen: Seen, to_pooled: np.ndarray, start: int) -> None:
        """Nothing lies behind."""


class AttentionTorso:
    """`GoalAttention` with folded ends; `weight` and `bias` are the folded first layer."""

    def __init__(
        self,
        torso: GoalAttention,
        extra: int,
        first: EnsembleLinear,
        values: Numbers,
        rows: int,
        slots: int,
    ) -> None:
        """For up to `rows` rows of sets in `slots` slots; half as many are goals."""
        self._first = values(first.weight), values(first.bias)
        self._embed = values(torso.embed.weight), values(torso.embed.bias)
        members, features, length = self._embed[0].shape
        dtype, hidden = self._first[0].dtype, self._first[0].shape[2]
        self._size = torso.size
        self._rows = np.zeros((members, features + 1, length), dtype)
        self._heads: list[_Heads] = []
        block = place = 0
        for heads, queries in ((torso.conditional, None), (torso.free, _queries(torso))):
            if heads is not None:
                self._heads.append(_Heads(heads, queries, features, values, block, place))
                block += self._heads[-1].outputs
                place += self._heads[-1].asked
        self.asked = place
        self.width, self.passed = (place + 1) * features + extra, place * features
        self.weight = np.zeros((members, self.width, hidden), dtype)
        self.bias = np.zeros((members, 1, hidden), dtype)
        self.queries = np.zeros((features + 1, members * place * features), dtype)
        self._seen = np.zeros((rows // 2, self.queries.shape[1]), dtype)
        self._weights = np.zeros((rows, members * place, slots), dtype)
        self._grads: tuple[Any, ...] = ()

    def learn(self, torso: GoalAttention, first: EnsembleLinear, grads: Numbers) -> None:
        """Prepare for gradients."""
        self.to_weight, self.to_bias = np.zeros_like(self.weight), np.zeros_like(self.bias)
        self._to_queries, self._to_rows = np.zeros_like(self.queries), np.zeros_like(self._rows)
        self._to_first = grads(first.weight), grads(first.bias)
        self._to_embed = grads(torso.embed.weight), grads(torso.embed.bias)
        for heads in self._heads:
            heads.learn(grads)

    def fold(self) -> None:
        """Make queries, weight and bias of the parameters."""
        fold_ends(
            *self._embed, *self._first, self._size, self.asked, self._rows, self.weight, self.bias
        )
        for heads in self._heads:
            fold_heads(
                self._rows, *heads.values, self._first[0], heads.block, heads.place, self.asked,
                *heads.kept, self.queries, self.weight, self.bias,
            )  # fmt: skip

    def pool(self, seen: Seen, pooled: np.ndarray, start: int, stop: int) -> None:
        """Fill rows of pooled (C, B, W)."""
        attend(
            self.queries, seen.goal, seen.objects, seen.count, seen.extras, self._seen,
            self._weights, pooled, start, stop,
        )  # fmt: skip

    def back(self, seen: Seen, to_pooled: np.ndarray, start: int) -> None:
        """From gradients of the pooled features (C, B, R F), of weight and of bias to all others.

        The rows are those of the sets from `start` on.
        """
        attend_back(
            to_pooled, seen.goal, seen.objects, seen.count, self._weights, self._seen,
            self._to_queries, start,
        )  # fmt: skip
        first, to_first = self._first[0], self._to_first[0]
        fold_ends_back(
            self._rows, first, self._size, self.asked, self.to_weight, self.to_bias,
            self._to_rows, *self._to_first,
        )  # fmt: skip
        for heads in self._heads:
            query, _, key, value, value_bias, out, _, learned = heads.values
            fold_heads_back(
                self._rows, query, key, value, value_bias, out, learned, first, heads.block,
                heads.place, self.asked, *heads.kept, self._to_queries, self.to_weight,
                self.to_bias, self._to_rows, *heads.grads, to_first,
            )  # fmt: skip
        unfold_rows(self._to_rows, *self._to_embed)


class _Heads:
    """The arrays of one kind of heads, in the order in which `fold_heads` wants them."""

    def __init__(
        self,
        heads: AttentionHeads,
        queries: Tensor | None,
        features: int,
        values: Numbers,
        block: int,
        place: int,
    ) -> None:
        self._tensors = [
            heads.query.weight, heads.query.bias, heads.key, heads.value.weight, heads.value.bias,
            heads.out.weight, heads.out.bias,
        ]  # fmt: skip
        self._queries, self.block, self.place = queries, block, place
        self.values = [*map(values, self._tensors)]
        members, size, dtype = heads.members, heads.size, self.values[0].dtype
        none = np.zeros((members, 0, size), dtype)
        self.values.append(none if queries is None else values(queries))
        many = self.values[-1].shape[1]
        self.asked, self.outputs = heads.heads * max(1, many), size * max(1, many)
        width, depth = features + 1, size // heads.heads
        rows = (width, width, many or width)
        self.kept = [np.zeros((members, heads.heads, n, depth), dtype) for n in rows]
        self.kept.append(np.zeros((members, heads.heads * width + 1, size), dtype))
        self.grads: list[np.ndarray] = []

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients."""
        queries = self.values[-1] if self._queries is None else grads(self._queries)
        self.grads = [*map(grads, self._tensors), queries]


def _queries(torso: GoalAttention) -> Tensor | None:
    return torso.queries if torso.free is not None else None
