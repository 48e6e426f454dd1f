"""Where an object is, told by its mask: the place it stands, its extent, the pixels it shows."""

from __future__ import annotations

from torch import Tensor

from smorl.devices import to_tensor
from smorl.representations.scalor.kernels import shapes
from smorl.representations.scalor.tracking.flat import plain

FOOT = 0.32  # of an object's height, image coordinates, decides where it stands; a puck's height


def visible_pixels(masks: Tensor, where: Tensor, size: int) -> Tensor:
    """How many pixels of a picture of `size` each mask (..., G, 1, G) covers, (...)."""
    found = shapes.pixels(*plain(*_flat(masks, where)), size)
    return to_tensor(found, where.device).view(where.shape[:-1])


def extent_of(masks: Tensor, where: Tensor, foot: float = FOOT) -> tuple[Tensor, Tensor]:
    """Place and half extent (..., 2) of masks (..., G, 1, G) in boxes where (..., 4).

    The place is the centre of the mask's lowest part, up to `foot` high. For a puck that is all of
    it. Of something tall, such as the arm, it is the end that reaches down to the table: a camera
    that looks from above sees where things stand at their lower end. If that centre is beside the
    mask, the nearest point on the mask is taken. Places stay inside the picture. The half extent is
    two standard deviations, which is the radius of a disc. An empty mask has its box's.
    """
    found = shapes.extents(*plain(*_flat(masks, where)), foot)
    place, extent = (to_tensor(a, where.device).view(*where.shape[:-1], 2) for a in found)
    return place, extent


def _flat(masks: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
    glimpse = masks.shape[-1]
    return masks.reshape(-1, glimpse, glimpse), where.reshape(-1, 4)
