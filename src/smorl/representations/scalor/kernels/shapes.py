"""What masks tell: how many pixels an object shows, where it stands, how far it reaches.

Objects are a flat list: masks (M, G, G) in boxes where (M, 4). `tracking/masks.py` says what the
results mean.
"""

from math import sqrt

import numpy as np

from smorl.machine_code import exact_kernel as kernel
from smorl.machine_code import exact_part as part

MASK_FLOOR = 0.5  # An object is where its mask exceeds this.
_LEAST = np.float32(1e-6)


@part
def _centres(count):
    """The middles (count,) of as many equal parts of [-1, 1], rounded as PyTorch does."""
    odd = (2 * np.arange(count) + 1).astype(np.float32)
    return odd / np.float32(count) - np.float32(1)


@part
def _onto(x, y, weight, grid):
    """Move a centre that is not on the mask to the mask's nearest point."""
    nearest, best_x, best_y = np.inf, x, y
    for g in range(len(grid)):
        for k in range(len(grid)):
            if weight[g, k] > 1e-3:
                distance = (grid[k] - x) ** 2 + (grid[g] - y) ** 2
                if distance < nearest:
                    nearest, best_x, best_y = distance, grid[k], grid[g]
    return (best_x, best_y) if 3 / len(grid) < sqrt(nearest) < np.inf else (x, y)


@kernel
def pixels(masks, where, size):
    """How many pixels of a picture of `size` each mask covers, (M,)."""
    glimpse = masks.shape[1]
    grid, shown = _centres(glimpse), np.zeros(len(masks), np.float32)
    for m in range(len(masks)):
        half_x, half_y, x, y = where[m]
        for g in range(glimpse):
            if abs(y + half_y * grid[g]) <= 1:
                for k in range(glimpse):
                    if masks[m, g, k] > MASK_FLOOR and abs(x + half_x * grid[k]) <= 1:
                        shown[m] += 1
        shown[m] *= half_x * half_y * (size / glimpse) ** 2
    return shown


@kernel
def extents(masks, where, foot):
    """Place and half extent (M, 2) of each mask."""
    count, glimpse = masks.shape[:2]
    grid, step = _centres(glimpse), 2 / glimpse
    place, half = np.empty((count, 2), np.float32), np.empty((count, 2), np.float32)
    weight = np.empty((glimpse, glimpse), np.float32)
    for m in range(count):
        box = where[m]
        across, down = np.zeros(glimpse), np.zeros(glimpse)
        for g in range(glimpse):
            for k in range(glimpse):
                weight[g, k] = max(masks[m, g, k] - MASK_FLOOR, 0) + _LEAST
                across[k] += weight[g, k]
                down[g] += weight[g, k]
        total = down.sum()
        for axis, profile in enumerate((across, down)):
            profile /= total
            mean = (profile * grid).sum()
            spread = (profile * grid**2).sum() - mean**2
            half[m, axis] = box[axis] * min(2 * sqrt(max(spread, 1e-6)), 1)
        # Both ends of the foot are found to a fraction of a row, so that it moves smoothly.
        most, lowest = max(down.max(), 1e-9), -1.0
        for g in range(glimpse):
            filled = min(down[g] / most / 0.25, 1)
            if filled > 0.05:
                lowest = max(lowest, grid[g] + step * (filled - 0.5))
        top = lowest - foot / max(box[1], 1e-6)
        low, x, y = 0.0, 0.0, 0.0
        for g in range(glimpse):
            share = min(max((grid[g] + step / 2 - top) / step, 1e-6), 1)
            for k in range(glimpse):
                low += share * weight[g, k]
                x += share * weight[g, k] * grid[k]
                y += share * weight[g, k] * grid[g]
        x, y = _onto(x / low, y / low, weight, grid)
        place[m, 0] = min(max(box[2] + box[0] * x, -1), 1)
        place[m, 1] = min(max(box[3] + box[1] * y, -1), 1)
    return place, half


@kernel
def mean_colours(colours, masks):
    """Mean colour (M, 3) of objects painted in colours (M, G, 3, G)."""
    count, glimpse = masks.shape[:2]
    means = np.zeros((count, 3), np.float32)
    for m in range(count):
        total, sums = 0.0, np.zeros(3)
        for g in range(glimpse):
            for k in range(glimpse):
                weight = max(masks[m, g, k], _LEAST)
                total += weight
                for c in range(3):
                    sums[c] += weight * colours[m, g, c, k]
        means[m] = sums / total
    return means


@kernel
def doubles(rows, what, masks, where, age, near):
    """Which objects (M,) are a smaller view of another one whose `what` (M, W) is `near`."""
    count = len(rows)
    area, twice = np.empty(count), np.zeros(count, np.bool_)
    for m in range(count):
        area[m] = masks[m].sum() * where[m, 0] * where[m, 1] / (1 + age[m])
    for m in range(count):
        for other in range(count):
            if rows[m] == rows[other] and area[other] > area[m]:
                gap = ((what[m] - what[other]) ** 2).sum()
                twice[m] = twice[m] or sqrt(gap) < near
    return twice
