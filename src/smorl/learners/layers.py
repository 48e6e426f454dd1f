"""Layers with a leading ensemble dimension, so that twin critics are one batched network.

Shapes: inputs are (C, B, in) or (B, in) broadcast to every member; outputs are (C, B, out).
"""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smorl.learners.gradients import relu_mlp

# In place where the gradient allows it: a fresh tensor of this size costs more than the arithmetic.
ACTIVATIONS = {
    "relu": torch.relu_,
    "elu": partial(F.elu, inplace=True),
    "silu": F.silu,
}


class EnsembleLinear(nn.Module):
    """`members` independent linear layers evaluated by one batched product."""

    def __init__(
        self, members: int, inputs: int, outputs: int, *, gain: float = 1.0, bias: float = 0.0
    ) -> None:
        super().__init__()
        bound = gain * math.sqrt(6.0 / (inputs + outputs))  # Xavier uniform, per member
        weight = torch.empty(members, inputs, outputs).uniform_(-bound, bound)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.full((members, 1, outputs), bias))

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            # One input for all members: one wide product instead of C small ones.
            members, inputs, outputs = self.weight.shape
            flat = self.weight.transpose(0, 1).reshape(inputs, members * outputs)
            return (x @ flat).view(-1, members, outputs).transpose(0, 1) + self.bias
        # Not baddbmm: it first copies the bias over the whole output, which costs more.
        return torch.bmm(x, self.weight).add_(self.bias)


class EnsembleMLP(nn.Module):
    """Hidden layers with an activation, optional layer normalisation before it, linear heads.

    Paper: plain layers. `norm=True` is one of our fast-preset options: it keeps bootstrapped
    critics stable at high update ratios. It has no gain and offset of its own: the layer behind
    it has weights and a bias anyway, and two passes over memory less are worth more here.
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        *,
        activation: str = "relu",
        norm: bool = False,
        hidden_bias: float = 0.1,
    ) -> None:
        super().__init__()
        sizes = [inputs, *hidden]
        self.layers = nn.ModuleList(
            EnsembleLinear(members, a, b, bias=hidden_bias) for a, b in pairwise(sizes)
        )
        self.head = EnsembleLinear(members, sizes[-1], outputs)
        self.activation, self.activation_name = ACTIVATIONS[activation], activation
        self.norm = norm
        self.plain_relu = activation == "relu" and not norm

    @property
    def first(self) -> EnsembleLinear:
        """The layer that meets the inputs."""
        return cast(EnsembleLinear, self.layers[0])

    def forward(self, begun: Tensor, rest: Tensor | None = None, *, frozen: bool = False) -> Tensor:
        """Go on from the first layer's sum over its leading inputs, `begun` (C, B, H).

        `rest` (B, .) are the remaining inputs, if any, for all members. Whoever makes `begun` may
        then fold linear maps of its own into the first layer, and use one sum for several `rest`s.
        `frozen`: the gradient passes through the layers, not into them.
        """
        layers = [*self.layers[1:], self.head]
        first = None if rest is None else self.first.weight[:, -rest.shape[-1] :]
        weights, biases = [x.weight for x in layers], [x.bias for x in layers]
        if frozen:
            weights, biases = [x.detach() for x in weights], [x.detach() for x in biases]
            first = None if first is None else first.detach()
        if self.plain_relu:
            return relu_mlp(begun, rest, first, weights, biases)
        x = begun
        if rest is not None and first is not None:
            x = torch.baddbmm(begun, rest.expand(len(begun), -1, -1), first)
        for weight, bias in zip(weights, biases, strict=True):
            x = torch.bmm(self._activate(x), weight).add_(bias)
        return x

    def _activate(self, x: Tensor) -> Tensor:
        return self.activation(F.layer_norm(x, x.shape[-1:]) if self.norm else x)
