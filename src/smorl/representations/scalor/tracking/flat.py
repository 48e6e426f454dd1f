"""Objects as flat lists: of (B, N) slots only those that hold something."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from torch import Tensor

from smorl.devices import to_array, to_tensor
from smorl.representations.scalor.kernels import boxes
from smorl.representations.scalor.model.slots import Slots


def columns(which: Tensor) -> tuple[Tensor, Tensor]:
    """Of `which` (B, N): the rows (M,) of what is true, and its places (M,) in a flat list."""
    index = which.flatten().nonzero()[:, 0]
    return index // which.shape[1], index


def flat(slots: Slots, index: Tensor) -> Slots:
    """Pick objects of slots (B, N, .) by their places in a flat list (M,)."""
    parts = (getattr(slots, field.name) for field in fields(slots))
    return Slots(*(part.flatten(0, 1).index_select(0, index) for part in parts))


def plain(*tensors: Tensor) -> list[np.ndarray]:
    """Return contiguous arrays for the kernels, which work on the processor.

    They share memory where tensors are contiguous and lie there.
    """
    return [to_array(tensor.contiguous()) for tensor in tensors]


def cover(alpha: Tensor, rows: Tensor, masks: Tensor, presence: Tensor, where: Tensor) -> Tensor:
    """Return `alpha` (B, 1, S, S) with what a flat list of objects covers; it may be changed."""
    whole, *parts = plain(alpha, rows, masks, presence, where)
    boxes.cover(whole, *parts)
    return to_tensor(whole, alpha.device)


@dataclass(frozen=True)
class Cutter:
    """Cuts the boxes of a flat list of objects, as `geometry.crop` those of slots."""

    rows: Tensor

    def __call__(self, pictures: Tensor, where: Tensor, glimpse: int) -> Tensor:
        """Cut boxes where (M, 4) out of pictures (B, C, S, S): (M, G, C, G)."""
        whole, rows, box = plain(pictures, self.rows, where)
        return to_tensor(boxes.cut(whole, rows, box, glimpse), where.device)
