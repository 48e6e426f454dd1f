"""Where networks compute: the processor, or an accelerator that torch knows (docs/speed.md).

Everything outside of networks is an array. `to_tensor` and `to_array` are the two ways between an
array and a network's device; on the processor neither copies. Random numbers are always drawn on
the processor, so that a run draws the same ones wherever it computes and a resume repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from smorl.errors import InvalidInput, did_you_mean

DeviceName = Literal["cpu", "cuda", "mps"]
NAMES: tuple[str, ...] = get_args(DeviceName)
CPU = torch.device("cpu")
_KINDS = {"cuda": "an NVIDIA or AMD GPU", "mps": "an Apple GPU"}


def check_device(name: str) -> None:
    """Raise unless torch can compute on that device on this machine."""
    if name not in NAMES:
        raise InvalidInput(
            f"device {name!r} is unknown.{did_you_mean(name, NAMES)} Use {', '.join(NAMES)}."
        )
    if not _available(name):
        raise InvalidInput(
            f"device {name} needs {_KINDS[name]}, and torch {torch.__version__} finds none on this "
            "machine; use --device cpu, or install a torch made for it (pytorch.org)."
        )


def _available(name: str) -> bool:
    if name == "cuda":
        return torch.cuda.is_available()
    return name == "cpu" or torch.backends.mps.is_available()


def place(name: str) -> torch.device:
    """Return torch's name of a device that has passed `check_device`."""
    return torch.device(name)


def device_of(module: torch.nn.Module) -> torch.device:
    """Return where a network computes: where its parameters are."""
    return next(module.parameters()).device


def to_tensor(array: np.ndarray, device: torch.device = CPU) -> Tensor:
    """Return an array as a tensor on a device."""
    array = np.asarray(array, order="C")
    if device.type == "mps" and array.dtype == np.float64:  # which has no double precision
        array = array.astype(np.float32)
    return torch.from_numpy(array).to(device)


def to_array(tensor: Tensor) -> np.ndarray:
    """Return a tensor as an array; on the processor they share their memory."""
    return tensor.detach().cpu().numpy()


def normal(shape: Sequence[int], generator: torch.Generator, like: Tensor) -> Tensor:
    """Draw from Normal(0, 1) on the processor, for the device of `like`."""
    return torch.randn(shape, generator=generator, dtype=like.dtype).to(like.device)


def uniform(shape: Sequence[int], generator: torch.Generator, like: Tensor) -> Tensor:
    """Draw from [0, 1) on the processor, for the device of `like`."""
    return torch.rand(shape, generator=generator).to(like.device)
