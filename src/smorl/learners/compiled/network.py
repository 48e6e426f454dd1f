"""A policy or an ensemble of critics in the compiled update: torso, layers, and their gradients."""

from __future__ import annotations

from typing import cast

import numpy as np

from smorl.learners.compiled.layers import (
    ACTIVATIONS,
    begin,
    begin_back,
    finish,
    head,
    head_bias,
    join,
    join_back,
    layer,
    layer_back,
    to_joined,
)
from smorl.learners.compiled.memory import Arrays
from smorl.learners.compiled.seen import Side
from smorl.learners.compiled.torsos import AttentionTorso, FlatTorso, Numbers
from smorl.learners.layers import EnsembleLinear
from smorl.learners.networks import Inputs, Network
from smorl.learners.set_encoders import GoalAttention


class CompiledNetwork:
    """Work arrays for up to 2 B rows of one network, and the kernels that fill them."""

    def __init__(
        self, network: Network, inputs: Inputs, values: Numbers, side: Side, arrays: Arrays
    ) -> None:
        """For sides like that one; `values` gives the numbers of a parameter."""
        torso, mlp = network.torso, network.mlp
        if isinstance(torso, GoalAttention):
            self._torso = AttentionTorso(torso, mlp.first, inputs, values, side, arrays)
        else:
            self._torso = FlatTorso(mlp.first, inputs, values)
        self._act = ACTIVATIONS.index(mlp.activation_name), mlp.norm
        self._linear = cast(list[EnsembleLinear], [*mlp.layers, mlp.head])
        self._layers = [(values(x.weight), values(x.bias)) for x in self._linear]
        self._first = self._layers[0][0]
        members, batch = len(self._first), side.mask.shape[1]
        rows, sizes = 2 * batch, [bias.shape[2] for _, bias in self._layers]
        self._pooled = arrays(members, self._torso.width, batch)
        self._begun = arrays(members, batch, sizes[0])
        # What each layer hands to the next; the last is the network's output.
        self._out = [arrays(members, rows, size) for size in sizes]
        kept = rows if mlp.norm or mlp.activation_name == "silu" else 0
        scaled = rows if mlp.norm else 0
        self._kept = [(arrays(members, kept, size), arrays(members, scaled)) for size in sizes]
        self.output = self._out[-1]
        self._members = [
            (
                [x[c : c + 1] for x in self._out],
                [(x[c : c + 1], y[c : c + 1]) for x, y in self._kept],
                [(x[c : c + 1], y[c : c + 1]) for x, y in self._layers],
            )
            for c in range(members)
        ]

    def learn(self, grads: Numbers) -> None:
        """Prepare for gradients; `grads` gives those of a parameter."""
        self._grads = [(grads(x.weight), grads(x.bias)) for x in self._linear]
        # Of the gradients only two are needed at a time: that of a layer, and of the one before.
        room = np.zeros((2, max(out.size for out in self._out)), self._first.dtype)
        self._to_out = [
            room[i % 2, : out.size].reshape(out.shape) for i, out in enumerate(self._out)
        ]
        self.to_output = self._to_out[-1]
        members, _, batch = self._pooled.shape
        self._to_pooled = np.zeros((members, self._torso.passed, batch), self._first.dtype)
        self._torso.learn(grads)

    def fold(self) -> None:
        """Take in the parameters as they are now."""
        self._torso.fold()

    def forward(self, sides: list[Side]) -> None:
        """Fill the output, the rows of one side after the other; nothing joins."""
        stop = 0
        for side in sides:
            self._torso.pool(side, self._pooled)
            begin(self._pooled, self._torso.weight, self._out[0], stop)
            stop += self._pooled.shape[2]
        finish(self._out[0], self._torso.bias, *self._kept[0], stop, *self._act)
        self.go_on(stop)

    def encode(self, side: Side) -> None:
        """Begin the first layer with what one side shows."""
        self._torso.pool(side, self._pooled)
        begin(self._pooled, self._torso.weight, self._begun, 0)

    def join(self, action: np.ndarray, start: int) -> None:
        """Let actions (B, A) join what was encoded, as rows `start` on."""
        join(
            self._begun, action, self._first, self._torso.bias, self._out[0], *self._kept[0],
            start, *self._act,
        )  # fmt: skip

    def go_on(self, stop: int) -> None:
        """Fill rows 0 to `stop` of the output."""
        # One member after the other: what a layer hands to the next is then still in the cache.
        for out, kept, layers in self._members:
            for i in range(1, len(layers) - 1):
                layer(out[i - 1], *layers[i], out[i], *kept[i], stop, *self._act)
            head(out[-2], *layers[-1], out[-1], stop)

    def back(self, start: int, stop: int, learn: int) -> None:
        """Go back from `to_output` to the first layer's sum, rows `start` to `stop`.

        Weights learn from rows `start` to `learn`.
        """
        head_bias(self.to_output, self._grads[-1][1], start, learn)
        to_biases = [self._torso.to_bias, *(bias for _, bias in self._grads[1:])]
        for i in range(len(self._layers) - 1, 0, -1):
            layer_back(
                self._to_out[i], self._out[i - 1], self._layers[i][0], self._grads[i][0],
                self._to_out[i - 1], to_biases[i - 1], *self._kept[i - 1], start, stop, learn,
                *self._act,
            )  # fmt: skip

    def back_to_torso(self, side: Side, start: int) -> None:
        """All gradients before the first layer's sum; rows `start` on saw that side, the last."""
        torso = self._torso
        begin_back(
            self._to_out[0], self._pooled, torso.weight, torso.to_weight, self._to_pooled, start
        )
        torso.back(side, self._to_pooled)

    def back_to_joining(self, action: np.ndarray) -> None:
        """Gradients of the weights that actions (B, A) met when they joined as the first rows."""
        join_back(self._to_out[0], action, self._grads[0][0])

    def back_to_joined(self, to_action: np.ndarray, start: int) -> None:
        """Gradient (B, A) of the actions that joined as rows `start` on."""
        to_joined(self._to_out[0], self._first, to_action, start)
