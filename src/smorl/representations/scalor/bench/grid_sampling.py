"""Cutting out and pasting in by `grid_sample`, as SCALOR's release does: the reference of ours.

Same arguments and results as `representations.scalor.model.geometry` (tested, with gradients).
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from smorl.bench.clock import columns, take_turns
from smorl.representations.scalor.model import geometry
from smorl.representations.scalor.model.settings import ScalorConfig


def _grid(scale: Tensor, shift: Tensor, size: int) -> Tensor:
    """Points (B N, size, size, 2) of `scale * coordinate + shift`."""
    diagonal = torch.diag_embed(scale)
    theta = torch.cat([diagonal, shift.unsqueeze(-1)], -1)
    return affine_grid(theta, [len(scale), 1, size, size], align_corners=False)


def crop(pictures: Tensor, where: Tensor, glimpse: int) -> Tensor:
    """Cut boxes where (B, N, 4) out of pictures (B, C, S, S): (B, N, G, C, G)."""
    batch, count = where.shape[:2]
    flat = where.reshape(-1, 4)
    repeated = pictures.repeat_interleave(count, 0)
    grid = _grid(flat[:, :2], flat[:, 2:], glimpse)
    cut = grid_sample(repeated, grid, "bilinear", "zeros", align_corners=False)
    return cut.reshape(batch, count, -1, glimpse, glimpse).transpose(2, 3)


def paste_each(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Put glimpses (B, N, G, C, G) at their boxes, each on its own picture: (B, N, C, S, S)."""
    batch, count = where.shape[:2]
    flat = where.reshape(-1, 4)
    grid = _grid(1 / flat[:, :2], -flat[:, 2:] / flat[:, :2], size)
    pictures = glimpses.transpose(2, 3).flatten(0, 1)
    pasted = grid_sample(pictures, grid, "bilinear", "zeros", align_corners=False)
    return pasted.reshape(batch, count, -1, size, size)


def paste_sum(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Put glimpses at their boxes and add them up, by way of a picture per object."""
    return paste_each(glimpses, where, size).sum(1)


def measure_sampling(sizes: ScalorConfig, batch: int, repeats: int) -> Iterator[dict]:
    """Crop and paste, forward and backward, ours against `grid_sample`, taking turns."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator)

    extents, places = 0.1 + 0.3 * random(batch, sizes.slots, 2), 2 * random(batch, sizes.slots, 2)
    where = torch.cat([extents, places - 1], -1).requires_grad_()
    pictures = random(batch, 3, sizes.image_size, sizes.image_size).requires_grad_()
    glimpses = random(batch, sizes.slots, sizes.glimpse, 5, sizes.glimpse).requires_grad_()

    def both_ways(function, source: Tensor, size: int, leaves: tuple[Tensor, ...]) -> None:
        torch.autograd.grad(function(source, where, size).square().sum(), leaves)

    # Training needs no gradient of the pictures it cuts from, only of the boxes.
    for name, ours, grid, source, size, leaves in (
        ("crop", geometry.crop, crop, pictures.detach(), sizes.glimpse, (where,)),
        ("crop, all gradients", geometry.crop, crop, pictures, sizes.glimpse, (pictures, where)),
        ("paste_sum", geometry.paste_sum, paste_sum, glimpses, sizes.image_size, (glimpses, where)),
    ):
        cases = {
            "ours": partial(both_ways, ours, source, size, leaves),
            "grid": partial(both_ways, grid, source, size, leaves),
        }
        cost = take_turns(cases, 5 * repeats)
        yield {
            "what": name,
            **columns("ours", "ms", cost["ours"]),
            **columns("grid_sample", "ms", cost["grid"]),
            **columns("", "ratio", cost["grid"] / cost["ours"]),
        }
