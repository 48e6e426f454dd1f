"""A device that this machine does not have, computed by its processor but kept apart from it.

Tensors on it say that they are on `meta`, hold real numbers, and refuse to meet a tensor of the
processor, as those of an accelerator do. So what runs here without an error has moved everything
that it must move, and its numbers can be compared with the processor's, bit by bit.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = torch.device("meta")
_aten = torch.ops.aten
# These may read from one device and write to another.
_MOVING = {_aten._to_copy.default, _aten.copy_.default}


class MixedDevices(RuntimeError):
    """An operation met tensors of both devices."""


class Far(Tensor):
    """A tensor of the simulated device; `near` holds its numbers."""

    near: Tensor

    @staticmethod
    def __new__(cls, near: Tensor) -> Far:
        with torch.inference_mode(False):  # torch cannot wrap views otherwise
            far = torch.Tensor._make_wrapper_subclass(  # pyright: ignore
                cls,
                near.size(),
                strides=near.stride(),
                storage_offset=near.storage_offset(),
                dtype=near.dtype,
                device=DEVICE,
            )
        far.near = near
        return far

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self) -> str:
        return f"Far({self.near!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Far:
        copied = Far(self.near.detach().clone())
        if isinstance(self, torch.nn.Parameter):
            copied = torch.nn.Parameter(copied, self.requires_grad)
        memo[id(self)] = copied
        return copied  # pyright: ignore[reportReturnType]

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _compute(function, args, kwargs or {})


class SimulatedDevice(TorchDispatchMode):
    """While it is entered, `DEVICE` computes."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _compute(function, args, kwargs or {})


def _compute(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Do on the processor what is asked of either device."""
    found = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    far = [isinstance(x, Far) for x in found]
    if any(far) and function not in _MOVING:
        # A single number of the processor may go along, but not be written to.
        alien = [x for x, is_far in zip(found, far, strict=True) if not is_far and x.dim()]
        if alien or not (far[0] or found[0].dim() == 0):
            raise MixedDevices(f"{function} met {[(type(x).__name__, x.shape) for x in found]}")
    asked = kwargs.get("device")
    kwargs = {**kwargs, "device": torch.device("cpu")} if asked is not None else kwargs
    there = any(far) if asked is None else torch.device(asked) == DEVICE
    if function is _aten.copy_.default:
        there = far[0]
    near = pytree.tree_map_only(Far, lambda x: x.near, (args, kwargs))
    result = function(*near[0], **near[1])
    if not there:
        return result
    known = {id(x.near): x for x in found if isinstance(x, Far)}

    def back(tensor: Tensor) -> Tensor:  # what was written to stays the same tensor
        return known[id(tensor)] if id(tensor) in known else Far(tensor)

    return pytree.tree_map_only(Tensor, back, result)
