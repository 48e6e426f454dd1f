"""Look for objects that the model has lost: by their colour, near where they were.

SCALOR is trained on random motion, in which objects are seldom half hidden. An agent that pulls a
puck towards its own body has it half behind the hand all the time, and the model loses it there.
The rest of it still shows in the picture, next to where it was last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from smorl.perception.scalor.geometry import crop
from smorl.perception.scalor.masks import extent_of
from smorl.perception.scalor.model import Scalor
from smorl.perception.scalor.slots import Slots

_REACH = 0.3  # image coordinates, how far from its last place an object is looked for
_POINTS = 20  # per side of the square that is searched
_LIKE = 0.2  # difference of colour, 0 to 1, up to which a pixel may belong to an object
_LEAST = 0.01  # share of the square that must be like the object; about 4 pixels
_HALF = 6  # points on either side of an object's middle that its shape may reach
_SOFT = 1.0  # points by which a place may explain less and still count
_COVERED = 0.3  # share of an object's place that must be covered to hide it


@dataclass(frozen=True)
class Found:
    """Slots (B, N, .) where they may be now, whether each shows (B, N) and may be there (B, N)."""

    slots: Slots
    shows: Tensor
    possible: Tensor


def search(model: Scalor, lost: Slots, images: Tensor, covered: Tensor) -> Found:
    """Move lost objects to where pictures (B, 3, S, S) show their colour, or could hide them.

    An object goes to the centre of the pixels that have its colour. Without any it stays if its
    place is hidden, else it goes to the nearest place that is; if there is none, it is not there.
    `covered` (B, 1, S, S) says where something stands before the background.
    """
    shows, possible = torch.zeros_like(lost.alive), torch.zeros_like(lost.alive)
    rows = lost.alive.any(1).nonzero()[:, 0]
    if not len(rows):
        return Found(lost, shows, possible)
    some, images, covered = lost.rows(rows), images[rows], covered[rows].clamp(0, 1)
    colours, masks = model.decoder(some.what)
    place, extent = extent_of(masks, some.where)
    weight = masks.clamp_min(1e-6)
    colour = (colours * weight).sum((2, 4)) / weight.sum((2, 4))  # (R, N, 3)
    window = torch.cat([torch.full_like(place, _REACH), place], -1)
    view = crop(images, window, _POINTS)  # (R, N, P, 3, P)
    like = (view - colour[:, :, None, :, None]).abs().amax(3) < _LIKE
    hides = crop(covered, window, _POINTS)[:, :, :, 0]
    like &= hides > 0.5
    seen = like.float().mean((2, 3)) >= _LEAST
    at = _fit(like, hides <= 0.5, extent)
    hidden = crop(covered, torch.cat([extent / 2, place], -1), 4).mean((2, 3, 4)) > _COVERED
    near, beside = _nearest(hides > 0.5)
    move = torch.where(seen[..., None], at, torch.where(hidden[..., None], 0.0, beside))
    where = torch.cat([some.where[..., :2], some.where[..., 2:] + move], -1)
    everywhere = lost.where.clone()
    everywhere[rows] = where
    shows[rows], possible[rows] = seen, seen | hidden | near
    return Found(replace(lost, where=everywhere), shows & lost.alive, possible & lost.alive)


def _offsets() -> tuple[Tensor, Tensor]:
    """Offsets (P, P) of the square's points from its middle, down and across."""
    line = ((2 * torch.arange(_POINTS) + 1) / _POINTS - 1) * _REACH
    down, across = torch.meshgrid(line, line, indexing="ij")
    return down, across


def _fit(like: Tensor, clear: Tensor, extent: Tensor) -> Tensor:
    """Offset (R, N, 2) at which an ellipse of half axes `extent` (R, N, 2) explains a square best.

    It should contain the points that are `like` the object (R, N, P, P) and none that are `clear`
    and so show the background; what covers it may hide the rest. Among equals the mean is taken.
    """
    down, across = _offsets()
    axes = extent.clamp_min(2 * _REACH / _POINTS)[..., None, None]
    middle = slice(_POINTS // 2 - _HALF, _POINTS // 2 + _HALF)
    shape = (across[middle, middle] / axes[:, :, 0]) ** 2 + (
        down[middle, middle] / axes[:, :, 1]
    ) ** 2
    inside = (shape <= 1).float()
    count = like.shape[0] * like.shape[1]
    value = (like.float() - clear.float()).reshape(1, count, _POINTS, _POINTS)
    # The kernel has an even size, like the square, so a centre between the points is in the middle.
    value = F.pad(value, (_HALF, _HALF - 1, _HALF, _HALF - 1))
    score = F.conv2d(value, inside.reshape(count, 1, 2 * _HALF, 2 * _HALF), groups=count)
    weight = (score.reshape(*like.shape[:2], -1) / _SOFT).softmax(-1)
    # A kernel around a point that is half a spacing before the middle of its even size.
    shift = _REACH / _POINTS
    return torch.stack([weight @ across.flatten(), weight @ down.flatten()], -1) - shift


def _nearest(on: Tensor) -> tuple[Tensor, Tensor]:
    """Whether any point (R, N, P, P) is on, and the offset (R, N, 2) of the nearest one."""
    down, across = _offsets()
    distance = torch.where(on, (down**2 + across**2), torch.inf).flatten(2)
    least, index = distance.min(-1)
    offset = torch.stack([across.flatten()[index], down.flatten()[index]], -1)
    found = least.isfinite()
    return found, torch.where(found[..., None], offset, 0.0)
