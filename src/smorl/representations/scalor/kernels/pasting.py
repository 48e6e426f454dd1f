"""Glimpses pasted into pictures and added up, with gradients; each costs what its box covers.

Glimpses are (B, N, G, C, G) at boxes where (B, N, 4), as in `model/geometry.py`.
"""

from math import floor

import numpy as np

from smorl.machine_code import exact_kernel as kernel
from smorl.machine_code import exact_part as part


@part
def _reading(place, half, glimpse, size, dtype):
    """How pixels along one side read a glimpse: first and last pixel, two neighbours and weights.

    Weights are those of linear interpolation; `inside` says which neighbours exist. Beyond the
    glimpse are zeros.
    """
    near, weight = np.zeros((2, size), np.int64), np.zeros((2, size), dtype)
    inside = np.zeros((2, size), dtype)
    first, last = size, 0
    for i in range(size):
        index = (((2 * i + 1) / size - 1 - place) / half + 1) * (glimpse / 2) - 0.5
        if not -1 < index < glimpse:
            continue
        first, last = min(first, i), i + 1
        low = floor(index)
        for side in range(2):
            near[side, i] = min(max(low + side, 0), glimpse - 1)
            inside[side, i] = 0 <= low + side < glimpse
        weight[0, i] = (1 - (index - low)) * inside[0, i]
        weight[1, i] = (index - low) * inside[1, i]
    return first, last, near, weight, inside


@kernel
def paste(glimpses, where, size):
    """Return the sum of all glimpses of a picture at their boxes, (B, C, size, size)."""
    batch, count, glimpse, channels = glimpses.shape[:4]
    kind = glimpses.dtype
    out = np.zeros((batch, channels, size, size), kind)
    for b in range(batch):
        for n in range(count):
            box, patch = where[b, n], glimpses[b, n]
            left, right, columns, across, _ = _reading(box[2], box[0], glimpse, size, kind)
            top, bottom, rows, down, _ = _reading(box[3], box[1], glimpse, size, kind)
            for y in range(top, bottom):
                line = down[0, y] * patch[rows[0, y]] + down[1, y] * patch[rows[1, y]]
                for c in range(channels):
                    for x in range(left, right):
                        out[b, c, y, x] += (
                            across[0, x] * line[c, columns[0, x]]
                            + across[1, x] * line[c, columns[1, x]]
                        )
    return out


@kernel
def paste_back(gradient, glimpses, where):
    """Return the gradients of glimpses and boxes, given that of `paste` (B, C, size, size)."""
    batch, count, glimpse, channels = glimpses.shape[:4]
    size, kind = gradient.shape[-1], glimpses.dtype
    of_glimpses, of_where = np.zeros_like(glimpses), np.zeros_like(where)
    for b in range(batch):
        for n in range(count):
            box, patch = where[b, n], glimpses[b, n]
            left, right, columns, across, has_column = _reading(box[2], box[0], glimpse, size, kind)
            top, bottom, rows, down, has_row = _reading(box[3], box[1], glimpse, size, kind)
            slope = np.zeros(size, kind)  # by the place along x at which each column is read
            moved, grown = 0.0, 0.0
            for y in range(top, bottom):
                upper, lower = patch[rows[0, y]], patch[rows[1, y]]
                line = down[0, y] * upper + down[1, y] * lower
                of_line = np.zeros((channels, glimpse), kind)
                for c in range(channels):
                    for x in range(left, right):
                        pull, low, high = gradient[b, c, y, x], columns[0, x], columns[1, x]
                        of_line[c, low] += across[0, x] * pull
                        of_line[c, high] += across[1, x] * pull
                        slope[x] += pull * (
                            has_column[1, x] * line[c, high] - has_column[0, x] * line[c, low]
                        )
                rise = (of_line * (has_row[1, y] * lower - has_row[0, y] * upper)).sum()
                of_glimpses[b, n, rows[0, y]] += down[0, y] * of_line
                of_glimpses[b, n, rows[1, y]] += down[1, y] * of_line
                moved -= rise
                grown -= rise * ((2 * y + 1) / size - 1 - box[3]) / box[1]
            of_where[b, n, 3] = moved * glimpse / (2 * box[1])
            of_where[b, n, 1] = grown * glimpse / (2 * box[1])
            for x in range(left, right):
                of_where[b, n, 2] -= slope[x] * glimpse / (2 * box[0])
                offset = ((2 * x + 1) / size - 1 - box[2]) / box[0]
                of_where[b, n, 0] -= slope[x] * offset * glimpse / (2 * box[0])
    return of_glimpses, of_where
