"""Where an object is, told by its mask: the place it stands, its extent, the pixels it shows."""

from __future__ import annotations

import torch
from torch import Tensor

MASK_FLOOR = 0.5  # An object is where its mask exceeds this.
FOOT = 0.32  # of an object's height, image coordinates, decides where it stands; a puck's height


def visible_pixels(masks: Tensor, where: Tensor, size: int) -> Tensor:
    """How many pixels of a picture of `size` each mask (B, N, G, 1, G) covers, (B, N)."""
    glimpse = masks.shape[2]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    inside = ((where[..., 2:, None] + where[..., :2, None] * grid).abs() <= 1).float()
    on = (masks[:, :, :, 0] > MASK_FLOOR).float()
    covered = torch.einsum("bngk,bnk,bng->bn", on, inside[:, :, 0], inside[:, :, 1])
    return covered * where[..., 0] * where[..., 1] * (size / glimpse) ** 2


def extent_of(masks: Tensor, where: Tensor, foot: float = FOOT) -> tuple[Tensor, Tensor]:
    """Place and half extent (B, N, 2) of masks (B, N, G, 1, G) in boxes where (B, N, 4).

    The place is the centre of the mask's lowest part, up to `foot` high. For a puck that is all of
    it. Of something tall, such as the arm, it is the end that reaches down to the table: a camera
    that looks from above sees where things stand at their lower end. If that centre is beside the
    mask, the nearest point on the mask is taken. Places stay inside the picture. The half extent is
    two standard deviations, which is the radius of a disc. An empty mask has its box's.
    """
    weight = (masks[:, :, :, 0] - MASK_FLOOR).clamp_min(0) + 1e-6
    glimpse = masks.shape[2]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    total = weight.sum((2, 3))
    profiles = torch.stack([weight.sum(2), weight.sum(3)], 2) / total[..., None, None]
    mean = profiles @ grid
    deviation = ((profiles @ grid**2) - mean**2).clamp_min(1e-6).sqrt()
    low = weight * _lowest(profiles[:, :, 1], grid, where[..., 1:2], foot)[..., None]
    sides = torch.stack([low.sum(2), low.sum(3)], 2) / low.sum((2, 3))[..., None, None]
    place = where[..., 2:] + where[..., :2] * _onto(sides @ grid, weight > 1e-3, grid)
    return place.clamp(-1, 1), where[..., :2] * (2 * deviation).clamp_max(1)


def _lowest(rows: Tensor, grid: Tensor, half_height: Tensor, foot: float) -> Tensor:
    """Share (B, N, G) of each row that belongs to the lowest `foot` of a mask.

    rows (B, N, G) is the mask's mass per row. Both ends are found to a fraction of a row, so that
    a moving object has a smoothly moving foot.
    """
    step = 2 / len(grid)
    filled = (rows / rows.amax(-1, keepdim=True).clamp_min(1e-9) / 0.25).clamp_max(1)
    lowest = torch.where(filled > 0.05, grid + step * (filled - 0.5), -1.0).amax(-1, keepdim=True)
    top = lowest - foot / half_height.clamp_min(1e-6)
    return ((grid + step / 2 - top) / step).clamp(1e-6, 1)


def _onto(mean: Tensor, mask: Tensor, grid: Tensor) -> Tensor:
    """Move centres (B, N, 2) that are not on the mask (B, N, G, G) to its nearest point."""
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    points = torch.stack([x, y], -1).reshape(-1, 2)
    distance = torch.cdist(mean, points).masked_fill(~mask.flatten(2), torch.inf)
    nearest = distance.min(2)
    beside = torch.isfinite(nearest.values) & (nearest.values > 3 / len(grid))
    return torch.where(beside[..., None], points[nearest.indices], mean)
