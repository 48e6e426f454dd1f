"""What the kernels compute, written as whole-array formulas: slower, and easy to check by eye."""

import torch
from torch import Tensor
from torch.nn import functional as F

from smorl.representations.scalor.model.geometry import crop, paste_each


def extent_of(masks: Tensor, where: Tensor, foot: float) -> tuple[Tensor, Tensor]:
    """Place and half extent (M, 2) of masks (M, G, G) in boxes where (M, 4)."""
    weight, glimpse = (masks - 0.5).clamp_min(0) + 1e-6, masks.shape[1]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    profiles = torch.stack([weight.sum(1), weight.sum(2)], 1) / weight.sum((1, 2))[:, None, None]
    mean = profiles @ grid
    deviation = ((profiles @ grid**2) - mean**2).clamp_min(1e-6).sqrt()
    low = weight * _lowest(profiles[:, 1], grid, where[:, 1:2], foot)[..., None]
    sides = torch.stack([low.sum(1), low.sum(2)], 1) / low.sum((1, 2))[:, None, None]
    at = _onto(sides @ grid, weight > 1e-3, grid)
    place = (where[:, 2:] + where[:, :2] * at).clamp(-1, 1)
    return place, where[:, :2] * (2 * deviation).clamp_max(1)


def _lowest(rows: Tensor, grid: Tensor, half_height: Tensor, foot: float) -> Tensor:
    step = 2 / len(grid)
    filled = (rows / rows.amax(-1, keepdim=True).clamp_min(1e-9) / 0.25).clamp_max(1)
    lowest = torch.where(filled > 0.05, grid + step * (filled - 0.5), -1.0).amax(-1, keepdim=True)
    top = lowest - foot / half_height.clamp_min(1e-6)
    return ((grid + step / 2 - top) / step).clamp(1e-6, 1)


def _onto(mean: Tensor, mask: Tensor, grid: Tensor) -> Tensor:
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    points = torch.stack([x, y], -1).reshape(-1, 2)
    distance = (mean[:, None] - points).norm(dim=-1).masked_fill(~mask.flatten(1), torch.inf)
    nearest = distance.min(1)
    beside = torch.isfinite(nearest.values) & (nearest.values > 3 / len(grid))
    return torch.where(beside[:, None], points[nearest.indices], mean)


def visible_pixels(masks: Tensor, where: Tensor, size: int) -> Tensor:
    """Pixels (M,) that masks (M, G, G) cover."""
    glimpse = masks.shape[1]
    grid = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    inside = ((where[:, 2:, None] + where[:, :2, None] * grid).abs() <= 1).float()
    covered = torch.einsum("mgk,mk,mg->m", (masks > 0.5).float(), inside[:, 0], inside[:, 1])
    return covered * where[:, 0] * where[:, 1] * (size / glimpse) ** 2


def behind(masks: Tensor, where: Tensor, depth: Tensor, alive: Tensor, size: int, most: float):
    """Which objects (B, N) lie behind a nearer one; masks (B, N, G, 1, G), depth (B, N, 1)."""
    pasted = paste_each(masks, where, size)[:, :, 0].flatten(2)
    covers = ((pasted > 0.5) & alive[..., None]).float()
    shared = covers @ covers.mT / (covers.sum(-1, keepdim=True) + 1e-6)
    return ((depth > depth.mT) & (shared > most)).any(2)


def judge(
    masks: Tensor, where: Tensor, presence: Tensor, alpha: Tensor, free: Tensor, explained: float,
    most: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Which proposals (B, D) are accepted, which rejected; presence (B, D)."""
    proposed = paste_each(masks, where, alpha.shape[-1])[:, :, 0].flatten(2) > 0.3
    area = proposed.sum(-1).clamp_min(1)
    known = (proposed & (alpha > 0.1).flatten(1)[:, None]).sum(-1)
    rejected = known / area >= explained
    covers = (proposed.float() @ proposed.float().mT) / area[..., None] > most
    for row in range(len(masks)):
        standing = []
        for i in presence[row].argsort(descending=True).tolist():
            if not rejected[row, i] and not any(covers[row, i, j] for j in standing):
                standing.append(i)
            else:
                rejected[row, i] = True
    rank = torch.where(rejected, -1.0, presence).argsort(1, descending=True).argsort(1)
    return ~rejected & (rank < free[:, None]), rejected


def fit(value: Tensor, extent: Tensor, reach: float, points: int, half: int) -> Tensor:
    """Offset (2,) at which an ellipse explains a square (P, P) best."""
    line = ((2 * torch.arange(points) + 1) / points - 1) * reach
    down, across = torch.meshgrid(line, line, indexing="ij")
    axes = extent.clamp_min(2 * reach / points)
    middle = slice(points // 2 - half, points // 2 + half)
    x, y = across[middle, middle] / axes[0], down[middle, middle] / axes[1]
    padded = F.pad(value[None, None], (half, half - 1, half, half - 1))
    score = F.conv2d(padded, (x**2 + y**2 <= 1).float()[None, None])
    weight = score.flatten().softmax(0)
    return torch.stack([weight @ across.flatten(), weight @ down.flatten()]) - reach / points


def carve(
    images: Tensor, rows: Tensor, masks: Tensor, where: Tensor, place: Tensor, extent: Tensor,
    pairs: Tensor, colours: Tensor, like: float,
) -> Tensor:  # fmt: skip
    """Masks (M, G, G) without what is drawn twice."""
    own, glimpse = masks.clone(), masks.shape[1]
    line = (2 * torch.arange(glimpse) + 1) / glimpse - 1
    for (big, small), colour in zip(pairs.tolist(), colours, strict=True):
        view = crop(images[rows[big]][None], where[big][None, None], glimpse)[0, 0]
        same = (view - colour[:, None]).abs().amax(1) < like
        grid = where[big, 2:, None] + where[big, :2, None] * line
        off = (grid - place[small, :, None]) / extent[small, :, None].clamp_min(1e-6)
        away = (off[1, :, None] ** 2 + off[0] ** 2).sqrt()
        disc = 0.25 * torch.pi * glimpse**2 * extent[small].prod() / where[big, :2].prod()
        if ((masks[big] > 0.5) & same & (away < 1)).sum() > 0.3 * disc:
            edge = F.max_pool2d(same.float()[None], 3, stride=1, padding=1)[0] > 0
            own[big] = own[big] * ~((away < 1.4) & edge)
    return own
