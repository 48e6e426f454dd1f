"""Parameters, their gradients and Adam's state side by side in memory, one after the other.

They stay the tensors they are, with names and shapes; only their numbers move into one block, so
that one kernel steps all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_ALIGN = 16  # numbers: every parameter begins on a cache line


class Block:
    """Tensors of one type in one block of memory; zeros lie between them."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.shapes = [tuple(t.shape) for t in tensors]
        sizes = np.array([t.numel() for t in tensors], np.int64)
        room = -(-sizes // _ALIGN) * _ALIGN
        self.begins = np.concatenate([[0], np.cumsum(room)[:-1]]).astype(np.int64)
        self.ends = self.begins + sizes
        self._total, self._dtype = int(room.sum()), tensors[0].dtype

    def zeros(self) -> Tensor:
        """Return a block of zeros."""
        # Torch aligns its memory to cache lines.
        return torch.zeros(self._total, dtype=self._dtype)

    def parts(self, block: Tensor) -> list[Tensor]:
        """Return the parts of a block in the shapes of the tensors."""
        bounds = zip(self.begins.tolist(), self.ends.tolist(), self.shapes, strict=True)
        return [block[a:b].view(shape) for a, b, shape in bounds]

    @torch.no_grad()
    def adopt(self, tensors: Sequence[Tensor]) -> Tensor:
        """Move the tensors' numbers into a block, unless they lie in one already; return it."""
        first, size = tensors[0].detach(), tensors[0].element_size()
        storage, offset = first.untyped_storage(), first.storage_offset()
        addresses = [first.data_ptr() + size * begin for begin in self.begins.tolist()]
        room = storage.nbytes() >= size * (offset + self._total)
        if room and [tensor.data_ptr() for tensor in tensors] == addresses:
            return first.as_strided((self._total,), (1,), offset)
        block = self.zeros()
        for tensor, part in zip(tensors, self.parts(block), strict=True):
            tensor.data = part.copy_(tensor)
        return block


class Learned:
    """Some parameters with gradients and the state of their Adam, each in a block of memory."""

    def __init__(self, parameters: Sequence[Tensor], optimizer: torch.optim.Optimizer) -> None:
        self.parameters, self.optimizer = list(parameters), optimizer
        self.block = Block(self.parameters)
        values, grads = self.block.adopt(self.parameters), self.block.zeros()
        self.values, self.grads = values.numpy(), grads.numpy()
        for parameter, grad in zip(self.parameters, self.block.parts(grads), strict=True):
            parameter.grad = grad
        self._adopt_state()

    def _adopt_state(self) -> None:
        first, second = self.block.zeros(), self.block.zeros()
        steps = torch.zeros(len(self.parameters))
        parts = zip(
            self.parameters, self.block.parts(first), self.block.parts(second), steps, strict=True
        )
        for parameter, mean, square, step in parts:
            state = self.optimizer.state[parameter]
            own = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
            for name, tensor in own.items():
                if name in state:
                    tensor.copy_(state[name])
                state[name] = tensor
        self.first, self.second, self.steps = first.numpy(), second.numpy(), steps.numpy()
        self._state = self.optimizer.state

    def take_in_state(self) -> None:
        """Take in a state that was loaded: loading replaces all of an optimiser's."""
        if self.optimizer.state is not self._state:
            self._adopt_state()


class Arrays:
    """Work arrays, zero at first. After `again` the same ones are handed out once more.

    So two networks that never work at the same time share memory, and more of it stays in the
    cache.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype, self._made, self._next = dtype, [], 0

    def __call__(self, *shape: int) -> np.ndarray:
        """Return an array of that shape."""
        if self._next == len(self._made):
            self._made.append(np.zeros(shape, self._dtype))
        found = self._made[self._next]
        assert found.shape == shape
        self._next += 1
        return found

    def again(self) -> None:
        """Begin anew with the first array."""
        self._next = 0
