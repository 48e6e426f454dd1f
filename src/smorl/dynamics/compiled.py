"""The gradient of the fit in machine code: that of `fitting.loss`, without what does not count.

Torch predicts the steps of all slots. Most are empty, or hold what is not seen again, and have no
part in the loss; here only the others are predicted.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from smorl.dynamics import kernels
from smorl.dynamics.fitting import HUBER, Transitions
from smorl.dynamics.object_model import FAR, SCALES, ObjectModel, Steps
from smorl.machine_code import BlasThreads


class CompiledFit:
    """Work arrays for batches of a size, and the kernels that fill a model's gradients."""

    def __init__(self, model: ObjectModel, batch: int, slots: int) -> None:
        self._model, self.size = model, (batch, slots)
        dtype = model.unit.numpy().dtype
        self._hand = _Network(model.hand, batch, dtype)
        self._thing = _Network(model.thing, batch * slots, dtype)
        shape = (batch, slots, len(model.unit))
        self._squash = np.array(SCALES, dtype), FAR
        self._scaled = [np.zeros(shape, dtype) for _ in range(3)]
        self._row, self._slot = (np.zeros(batch * slots, np.int64) for _ in range(2))
        self._counted = np.zeros(batch, np.bool_)
        self._threads = BlasThreads()

    def gradients(self, batch: Transitions) -> float:
        """Set the gradients of the model's parameters; return the loss."""
        self._threads.limit(torch.get_num_threads())
        model, bodies = self._model, batch.bodies
        hand, things = bodies.hand.numpy(), bodies.things.numpy()
        centre, spread, unit = (t.numpy() for t in (model.centre, model.spread, model.unit))
        dtype = unit.dtype
        position, motion, actions, steps = (
            np.ascontiguousarray(tensor.numpy(), dtype)
            for tensor in (bodies.position, bodies.motion, batch.actions, batch.steps)
        )
        kernels.scaled(position, motion, centre, spread, unit, *self._scaled)
        seen = *self._scaled, actions, hand, things, *self._squash
        kernels.look_at_hand(*seen, self._hand.x)
        own = self._hand.forward(len(hand))
        chosen = self._row, self._slot
        count = kernels.choose(batch.known.numpy(), things, hand, *chosen, self._counted)
        kernels.look_at_things(*seen, own, *chosen, count, self._thing.x)
        pushed = self._thing.forward(count)
        loss = kernels.huber(
            steps, unit, hand, self._counted, *chosen, count, own, pushed, HUBER,
            self._hand.to_out, self._thing.to_out,
        )  # fmt: skip
        self._hand.backward(len(hand))
        self._thing.backward(count)
        return loss


class _Network:
    """One of the model's networks: arrays for up to so many rows."""

    def __init__(self, network: Steps, rows: int, dtype: np.dtype) -> None:
        first, norm, _, second, _ = network.body
        tensors = [
            tensor
            for part in (network.linear, first, norm, second, network.head)
            for tensor in _parameters(part)
        ]
        for tensor in tensors:
            tensor.grad = torch.zeros_like(tensor)
        self._values = [tensor.detach().numpy() for tensor in tensors]
        self._grads = [_gradient(tensor) for tensor in tensors]
        outputs, inputs = self._values[0].shape
        width = len(self._values[3])
        self.x = np.zeros((rows, inputs), dtype)
        wide = np.zeros((5, rows, width), dtype)
        self._normal, self._one, self._two, self._to_one, self._to_two = wide
        self._scales = np.zeros(rows, dtype)
        self._out, self._beside, self.to_out = np.zeros((3, rows, outputs), dtype)

    def forward(self, rows: int) -> np.ndarray:
        """Return what the network makes of the first rows of `x`."""
        arrays = self._normal, self._scales, self._one, self._two, self._out, self._beside
        kernels.forward(self.x[:rows], *self._values, *(array[:rows] for array in arrays))
        return self._out[:rows]

    def backward(self, rows: int) -> None:
        """Set the gradients from the first rows of `to_out`."""
        _, _, first, _, gain, _, second, _, head, _ = self._values
        kernels.backward(
            self.to_out[:rows], self.x[:rows], first, gain, second, head, self._normal[:rows],
            self._scales[:rows], self._one[:rows], self._two[:rows], *self._grads,
            self._to_one[:rows], self._to_two[:rows],
        )  # fmt: skip


def _parameters(part: nn.Module) -> tuple[Tensor, Tensor]:
    weight, bias = part.parameters()
    return weight, bias


def _gradient(tensor: Tensor) -> np.ndarray:
    assert tensor.grad is not None
    return tensor.grad.numpy()
