"""From objects to a picture: masks and depths decide who is seen where."""

from dataclasses import dataclass

import torch
from torch import Tensor

from smorl.representations.scalor.model.geometry import paste_sum


@dataclass(frozen=True)
class Layers:
    """Sums over objects, on the picture (B, ., S, S): add two to compose both groups.

    colour (3) and weight (1) are sums of importance-weighted colours and of importances; alpha
    (1) is the sum of masks.
    """

    colour: Tensor
    weight: Tensor
    alpha: Tensor

    def __add__(self, other: "Layers") -> "Layers":
        return Layers(
            self.colour + other.colour, self.weight + other.weight, self.alpha + other.alpha
        )


def layers(
    colours: Tensor | None,
    masks: Tensor,
    presence: Tensor,
    depth: Tensor,
    where: Tensor,
    size: int,
) -> Layers:
    """Paste objects: colours (B, N, G, 3, G), masks (B, N, G, 1, G), presence and depth (B, N, 1).

    An object's importance where objects overlap is mask * presence * sigmoid(-depth): nearer
    (smaller depth) wins. The sum over objects is folded into the pasting.
    """
    assert colours is not None, "objects without colours cannot be drawn"
    seen = masks * presence[..., None, None]
    weight = seen * torch.sigmoid(-depth)[..., None, None]
    pasted = paste_sum(torch.cat([weight * colours, weight, seen], -2), where, size)
    return Layers(*pasted.split([3, 1, 1], 1))


def coverage(masks: Tensor, presence: Tensor, where: Tensor, size: int) -> Tensor:
    """Return the `alpha` of `layers` alone, (B, 1, S, S)."""
    return paste_sum(masks * presence[..., None, None], where, size)


def blend(objects: Layers, background: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (picture, foreground, alpha): the importance-weighted mean colour over background.

    Alpha is clamped to [0, 1] with a straight-through gradient (Release), so that overlapping
    objects still learn to make room.
    """
    alpha = objects.alpha + (objects.alpha.clamp(0, 1) - objects.alpha).detach()
    foreground = alpha / (objects.weight + 1e-5) * objects.colour
    return foreground + (1 - alpha) * background, foreground, alpha
