"""Set encoders of the compiled update: what objects and goal become before the first layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from smorl.learners.compiled.attention import attend, attend_back, take_first
from smorl.learners.compiled.folding import (
    fold_ends,
    fold_ends_back,
    fold_heads,
    fold_heads_back,
)
from smorl.learners.compiled.memory import Arrays
from smorl.learners.compiled.seen import Side
from smorl.learners.layers import EnsembleLinear
from smorl.learners.networks import Inputs
from smorl.learners.set_encoders import AttentionHeads, GoalAttention

# The numbers of a parameter, or of its gradient.
Numbers = Callable[[Tensor], np.ndarray]


class FlatTorso:
    """The first object and the goal as they are; nothing to learn, nothing to fold."""

    def __init__(self, first: EnsembleLinear, inputs: Inputs, values: Numbers) -> None:
        self._first = first
        self.weight, self.bias = values(first.weight), values(first.bias)
        self.width = 2 * inputs.features + inputs.extra
        self.passed = 0  # leading inputs of the first layer that need a gradient
        self.to_weight = self.to_bias = self.weight

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients."""
        self.to_weight, self.to_bias = grads(self._first.weight), grads(self._first.bias)

    def fold(self) -> None:
        """The first layer meets what is pooled as it is."""

    def pool(self, side: Side, pooled: np.ndarray) -> None:
        """Fill pooled (C, W, B)."""
        take_first(side.goal, side.objects, side.extras, pooled)

    def back(self, side: Side, to_pooled: np.ndarray) -> None:
        """Nothing lies behind."""


class AttentionTorso:
    """`GoalAttention` with folded ends; `weight` and `bias` are the folded first layer."""

    def __init__(
        self,
        torso: GoalAttention,
        first: EnsembleLinear,
        inputs: Inputs,
        values: Numbers,
        side: Side,
        arrays: Arrays,
    ) -> None:
        """For sides like that one, with work arrays from `arrays`."""
        self._torso, self._layer = torso, first
        self._first = values(first.weight), values(first.bias)
        self._embed = values(torso.embed.weight), values(torso.embed.bias)
        members, features, length = self._embed[0].shape
        slots, batch = side.mask.shape
        hidden, known = self._first[0].shape[2], inputs.used.stop + 1
        self._rows = arrays(members, features + 1, length)
        self._goal_rows = arrays(members, known, length)
        self._heads: list[_Heads] = []
        block = asked = 0
        for module, learned in ((torso.conditional, False), (torso.free, True)):
            if module is not None:
                queries = torso.queries if learned else None
                heads = _Heads(module, queries, self._goal_rows, features, values, arrays)
                heads.block, heads.place = block, asked
                self._heads.append(heads)
                block, asked = block + heads.outputs, asked + heads.asked
        self.passed = asked * features
        self.width = self.passed + known - 1 + inputs.extra
        self.weight = arrays(members, self.width, hidden)
        self.bias = arrays(members, 1, hidden)
        self._queries = arrays(members * asked, features, known)
        self._flat_queries = self._queries.reshape(-1, known)
        self._seen = arrays(len(self._flat_queries), batch)
        self._weights = arrays(members * asked, slots, batch)

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients."""
        torso, first = self._torso, self._layer
        self.to_weight, self.to_bias = np.zeros_like(self.weight), np.zeros_like(self.bias)
        self._to_queries = np.zeros_like(self._queries)
        self._to_flat_queries = self._to_queries.reshape(self._flat_queries.shape)
        self._to_rows, self._to_goal_rows = map(np.zeros_like, (self._rows, self._goal_rows))
        self._to_first = grads(first.weight), grads(first.bias)
        self._to_embed = grads(torso.embed.weight), grads(torso.embed.bias)
        for heads in self._heads:
            heads.learn(grads)

    def fold(self) -> None:
        """Make queries, weight and bias of the parameters."""
        fold_ends(
            *self._embed, *self._first, self._torso.size, self._rows, self._goal_rows,
            self.weight, self.bias, self.passed,
        )  # fmt: skip
        for heads in self._heads:
            fold_heads(
                self._rows, heads.asking, *heads.values, self._first[0], heads.block, heads.place,
                *heads.kept, self._queries, self.weight, self.bias,
            )  # fmt: skip

    def pool(self, side: Side, pooled: np.ndarray) -> None:
        """Fill pooled (C, W, B)."""
        attend(
            self._flat_queries, side.goal, side.objects, side.mask, side.extras, self._seen,
            self._weights, pooled,
        )  # fmt: skip

    def back(self, side: Side, to_pooled: np.ndarray) -> None:
        """From gradients of the pooled features (C, R F, B), of weight and of bias to all others.

        The side is the one that was pooled last.
        """
        attend_back(
            to_pooled, side.goal, side.objects, self._weights, self._seen, self._to_flat_queries
        )
        first, to_first = self._first[0], self._to_first[0]
        fold_ends_back(
            self._rows, self._goal_rows, first, self._torso.size, self.to_weight, self.to_bias,
            self._to_rows, self._to_goal_rows, *self._to_first, self.passed,
        )  # fmt: skip
        for heads in self._heads:
            query, _, key, value, value_bias, out, *_ = heads.values
            fold_heads_back(
                self._rows, heads.asking, query, key, value, value_bias, out, first, heads.block,
                heads.place, *heads.kept, self._to_queries, self.to_weight, self.to_bias,
                self._to_rows, self._to_goal_rows, *heads.grads, to_first,
            )  # fmt: skip
        to_embed, to_bias = self._to_embed
        known = self._to_goal_rows.shape[1] - 1
        np.copyto(to_embed, self._to_rows[:, :-1])
        to_embed[:, :known] += self._to_goal_rows[:, :-1]
        np.add(self._to_rows[:, -1:], self._to_goal_rows[:, -1:], out=to_bias)


class _Heads:
    """The arrays of one kind of heads, in the order in which `fold_heads` wants them."""

    block, place = 0, 0

    def __init__(
        self,
        heads: AttentionHeads,
        queries: Tensor | None,
        goal_rows: np.ndarray,
        features: int,
        values: Numbers,
        arrays: Arrays,
    ) -> None:
        self._tensors = [
            heads.query.weight, heads.query.bias, heads.key, heads.value.weight, heads.value.bias,
            heads.out.weight, heads.out.bias,
        ]  # fmt: skip
        self._queries = queries
        self.values = [*map(values, self._tensors)]
        members, size = heads.members, heads.size
        none = arrays(members, 0, size)
        self.values.append(none if queries is None else values(queries))
        self.asking = goal_rows if queries is None else self.values[-1]
        many = 1 if queries is None else len(queries[0])
        self.asked, self.outputs = heads.heads * many, size * many
        width, depth = features + 1, size // heads.heads
        rows = (width, width, self.asking.shape[1])
        self.kept = [arrays(members, heads.heads, n, depth) for n in rows]
        self.kept.append(arrays(members, heads.heads * width + 1, size))
        self.grads: list[np.ndarray] = []

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients."""
        queries = self.values[-1] if self._queries is None else grads(self._queries)
        self.grads = [*map(grads, self._tensors), queries]
