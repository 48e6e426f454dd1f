"""A policy or an ensemble of critics in the compiled update: torso, layers, and their gradients."""

from __future__ import annotations

from typing import cast

import numpy as np

from smorl.learners.compiled.layers import (
    ACTIVATIONS,
    begin,
    begin_back,
    head,
    join,
    join_back,
    layer,
    layer_back,
    to_joined,
)
from smorl.learners.compiled.seen import Seen
from smorl.learners.compiled.torsos import AttentionTorso, FlatTorso, Numbers
from smorl.learners.layers import EnsembleLinear
from smorl.learners.networks import Network
from smorl.learners.set_encoders import GoalAttention


class CompiledNetwork:
    """Work arrays for up to 2 B rows of one network, and the kernels that fill them."""

    def __init__(self, network: Network, activation: str, values: Numbers, seen: Seen) -> None:
        """`values` gives the numbers of a parameter."""
        self._network, self._seen, self._values = network, seen, values
        torso, mlp, extra = network.torso, network.mlp, network.extra
        rows, slots, features = seen.objects.shape
        if isinstance(torso, GoalAttention):
            self._torso = AttentionTorso(torso, extra, mlp.first, values, rows, slots)
        else:
            self._torso = FlatTorso(features, extra, mlp.first, values)
        self._kind, self._norm = ACTIVATIONS.index(activation), mlp.norm
        layers = cast(list[EnsembleLinear], [*mlp.layers, mlp.head])
        self._layers = [(values(x.weight), values(x.bias)) for x in layers]
        self._first = self._layers[0][0]
        members, dtype = len(self._first), self._first.dtype
        sizes = [bias.shape[2] for _, bias in self._layers]
        self.pooled = np.zeros((members, rows, self._torso.width), dtype)
        self._begun = np.zeros((members, rows, sizes[0]), dtype)
        # What each layer hands to the next; the last is the network's output.
        self._out = [np.zeros((members, rows, size), dtype) for size in sizes]
        kept = rows if self._norm or activation == "silu" else 0
        self._before = [np.zeros((members, kept, size), dtype) for size in sizes]
        self._scales = [np.zeros((members, rows if self._norm else 0), dtype) for _ in sizes]
        self._none = np.zeros((rows, 0), dtype)
        self.output = self._out[-1]

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients."""
        network, torso = self._network, self._torso
        layers = cast(list[EnsembleLinear], [*network.mlp.layers, network.mlp.head])
        self._grads = [(grads(x.weight), grads(x.bias)) for x in layers]
        self._to_out = [np.zeros_like(out) for out in self._out]
        self.to_output = self._to_out[-1]
        batch = len(self._seen.goal)
        self._to_pooled = np.zeros((len(self._first), batch, torso.passed), self._first.dtype)
        if isinstance(torso, AttentionTorso):
            torso.learn(cast(GoalAttention, network.torso), network.mlp.first, grads)
        else:
            torso.learn(network.mlp.first, grads)

    def encode(self, start: int, stop: int) -> None:
        """Begin the first layer with rows `start` to `stop` of what was seen."""
        torso = self._torso
        torso.fold()
        torso.pool(self._seen, self.pooled, start, stop)
        begin(self.pooled, torso.weight, torso.bias, self._begun, start, stop)

    def join(self, action: np.ndarray, start: int) -> None:
        """Let actions (B, A) join what was encoded, as rows `start` on."""
        join(
            self._begun, action, self._first, self._out[0], self._before[0], self._scales[0],
            start, self._kind, self._norm,
        )  # fmt: skip

    def go_on(self, stop: int) -> None:
        """Fill rows 0 to `stop` of the output."""
        for i, (weight, bias) in enumerate(self._layers[1:-1], 1):
            layer(
                self._out[i - 1], weight, bias, self._out[i], self._before[i], self._scales[i],
                stop, self._kind, self._norm,
            )  # fmt: skip
        head(self._out[-2], *self._layers[-1], self.output, stop)

    def forward(self, start: int, stop: int) -> None:
        """Fill rows 0 to stop - start of the output; nothing joins."""
        self.encode(start, stop)
        self.join(self._none[: stop - start], 0)
        self.go_on(stop - start)

    def back(self, start: int, stop: int, learn: int) -> None:
        """Go back from `to_output` to the first layer's sum, rows `start` to `stop`.

        Weights learn from rows `start` to `learn`.
        """
        for i in range(len(self._layers) - 1, 0, -1):
            layer_back(
                self._to_out[i], self._out[i - 1], self._layers[i][0], *self._grads[i],
                self._to_out[i - 1], self._before[i - 1], self._scales[i - 1], start, stop, learn,
                self._kind, self._norm,
            )  # fmt: skip

    def back_to_torso(self, start: int, origin: int, action: np.ndarray | None = None) -> None:
        """All gradients before the first layer's sum; rows `start` on saw the sets from `origin` on.

        `action` (B, A) is what had joined these rows.
        """
        torso = self._torso
        begin_back(
            self._to_out[0], self.pooled, torso.weight, torso.to_weight, torso.to_bias,
            self._to_pooled, start, origin,
        )  # fmt: skip
        torso.back(self._seen, self._to_pooled, origin)
        if action is not None:
            join_back(self._to_out[0], action, self._grads[0][0])

    def back_to_joined(self, to_action: np.ndarray, start: int) -> None:
        """Gradient (B, A) of the actions that joined rows `start` on."""
        to_joined(self._to_out[0], self._first, to_action, start)
