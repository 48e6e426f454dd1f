"""Cutting out boxes, and pasting them in.

A crop is bilinear sampling, one `grid_sample` for all boxes of a picture: their points form one
tall grid, so no picture is repeated. Pasting is the same the other way round, equal in value and
gradient to `torch.nn.functional.grid_sample(align_corners=False, padding_mode="zeros")`. Boxes are
axis-aligned, so it separates into rows and columns. The sum over objects is compiled and looks at
the pixels of each box alone; each object on its own picture is `Wy @ glimpse @ Wx.T`, two small
matrix products with hat-function weights.

A box is `where` (..., 4) = (scale x, scale y, x, y) in image coordinates: it covers
(x, y) +- scale. Glimpses are laid out (batch, objects, row, channel, column), because then the
products below need no copies.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import grid_sample

from smorl.devices import CPU, to_array, to_tensor
from smorl.representations.scalor.kernels import pasting


def _centres(count: int, device: torch.device = CPU) -> Tensor:
    return (2 * torch.arange(count, device=device) + 1) / count - 1


def _hats(coordinates: Tensor, count: int) -> Tensor:
    """Weights (..., count) that read a row of `count` samples at image coordinates (...)."""
    index = (coordinates + 1) * (count / 2) - 0.5
    offset = index.unsqueeze(-1) - torch.arange(count, dtype=index.dtype, device=index.device)
    if torch.is_grad_enabled():
        return (1 - offset.abs()).clamp_min(0)
    return offset.abs_().neg_().add_(1).clamp_min_(0)  # the same, without copies


def _paste_weights(where: Tensor, glimpse: int, size: int) -> tuple[Tensor, Tensor]:
    """Weights (..., size, glimpse) along x and along y that put boxes into a picture."""
    grid = _centres(size, where.device)
    points = (grid - where[..., 2:, None]) / where[..., :2, None]
    weights = _hats(points, glimpse)
    return weights[..., 0, :, :], weights[..., 1, :, :]


def crop(pictures: Tensor, where: Tensor, glimpse: int) -> Tensor:
    """Cut boxes where (B, N, 4) out of pictures (B, C, S, S): (B, N, G, C, G)."""
    batch, count = where.shape[:2]
    grid = _centres(glimpse, where.device)
    points = where[..., 2:, None] + where[..., :2, None] * grid  # (B, N, 2, G)
    across = points[:, :, 0, None, :].expand(-1, -1, glimpse, -1)
    down = points[:, :, 1, :, None].expand(-1, -1, -1, glimpse)
    grid = torch.stack([across, down], -1).reshape(batch, count * glimpse, glimpse, 2)
    cut = grid_sample(pictures, grid, "bilinear", "zeros", align_corners=False)
    return cut.reshape(batch, -1, count, glimpse, glimpse).permute(0, 2, 3, 1, 4)


def paste_sum(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Put glimpses (B, N, G, C, G) at boxes where (B, N, 4) and add them up: (B, C, S, S)."""
    return _Pasted.apply(glimpses, where, size)  # pyright: ignore[reportReturnType]


class _Pasted(torch.autograd.Function):
    """The sum of pasted glimpses and its gradients, compiled."""

    @staticmethod
    def forward(ctx: Any, glimpses: Tensor, where: Tensor, size: int) -> Tensor:  # pyright: ignore
        parts = glimpses.contiguous(), where.contiguous()
        ctx.save_for_backward(*parts)
        return to_tensor(pasting.paste(*map(to_array, parts), size), where.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # pyright: ignore
        parts = map(to_array, (gradient.contiguous(), *ctx.saved_tensors))
        of_glimpses, of_where = (to_tensor(a, gradient.device) for a in pasting.paste_back(*parts))
        return of_glimpses, of_where, None


def paste_each(glimpses: Tensor, where: Tensor, size: int) -> Tensor:
    """Put glimpses (B, N, G, C, G) at their boxes, each on its own picture: (B, N, C, S, S)."""
    batch, count, glimpse, channels, _ = glimpses.shape
    across, down = _paste_weights(where, glimpse, size)
    wide = glimpses.reshape(batch, count, glimpse * channels, glimpse) @ across.mT
    wide = wide.reshape(batch, count, glimpse, channels * size)
    return (down @ wide).reshape(batch, count, size, channels, size).transpose(2, 3)


def box(raw: Tensor, size: float, size_range: float, ratio: float, ratio_range: float) -> Tensor:
    """Map raw (..., 2) to half extents (..., 2): size in size +- range, height/width likewise."""
    extent = size + size_range * torch.tanh(raw[..., 0])
    shape = torch.sqrt(ratio + ratio_range * torch.tanh(raw[..., 1]))
    return torch.stack([extent / shape, extent * shape], -1)


def cell_centres(cells: int) -> Tensor:
    """Image coordinates (cells**2, 2) of the discovery grid, row by row."""
    grid = _centres(cells)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    return torch.stack([x, y], -1).reshape(-1, 2)
