"""Boxes cut out of pictures and pasted into them, object by object.

`model/geometry.py` does the same for whole batches of slots, with gradients. Few slots hold an
object, and its box is a small part of the picture: a loop over what is there does less.

Objects are flat lists of M: `rows` (M,) says which picture of the batch each belongs to, `where`
(M, 4) its box, masks are (M, G, G). All arrays are contiguous, floats 32 bits.
"""

from math import floor

import numpy as np

from smorl.machine_code import exact_kernel as kernel
from smorl.machine_code import exact_part as part


@part
def _centres(count):
    """The middles (count,) of as many equal parts of [-1, 1], rounded as PyTorch does."""
    odd = (2 * np.arange(count) + 1).astype(np.float32)
    return odd / np.float32(count) - np.float32(1)


@part
def _read_at(points, count, low, high, below, above):
    """How to read `count` samples at `points`: two neighbours each, and their weights.

    Beyond the samples are zeros, as in `grid_sample`.
    """
    for i in range(len(points)):
        first = floor(points[i])
        share = points[i] - first
        low[i] = min(max(first, 0), count - 1)
        high[i] = min(max(first + 1, 0), count - 1)
        below[i] = 1 - share if 0 <= first < count else 0.0
        above[i] = share if 0 <= first + 1 < count else 0.0


@part
def _axes_of_cut(box, glimpse, size):
    """Neighbours (2, 2, G) and weights (2, 2, G) along x and y that read a box's points."""
    near, share = np.empty((2, 2, glimpse), np.int64), np.empty((2, 2, glimpse), np.float32)
    grid = _centres(glimpse)
    for axis in range(2):
        points = (box[2 + axis] + box[axis] * grid + 1) * (size / 2) - 0.5
        _read_at(points, size, near[axis, 0], near[axis, 1], share[axis, 0], share[axis, 1])
    return near, share


@kernel
def cut(pictures, rows, where, glimpse):
    """Cut boxes out of pictures (B, C, S, S): (M, G, C, G)."""
    channels = pictures.shape[1]
    out = np.empty((len(rows), glimpse, channels, glimpse), np.float32)
    for m in range(len(rows)):
        near, share = _axes_of_cut(where[m], glimpse, pictures.shape[-1])
        for g in range(glimpse):
            top, bottom = near[1, 0, g], near[1, 1, g]
            above, below = share[1, 0, g], share[1, 1, g]
            for c in range(channels):
                upper, lower = pictures[rows[m], c, top], pictures[rows[m], c, bottom]
                for k in range(glimpse):
                    left, right = near[0, 0, k], near[0, 1, k]
                    out[m, g, c, k] = share[0, 0, k] * (
                        above * upper[left] + below * lower[left]
                    ) + share[0, 1, k] * (above * upper[right] + below * lower[right])
    return out


@part
def _paste(mask, box, canvas):
    """Put a mask (G, G) at its box on a canvas (S, S); return the range it covers, y then x.

    Outside that range the canvas is left as it was.
    """
    glimpse, size = mask.shape[0], canvas.shape[0]
    near, share = np.empty((2, 2, size), np.int64), np.empty((2, 2, size), np.float32)
    grid, ends = _centres(size), np.zeros((2, 2), np.int64)
    for axis in range(2):
        points = ((grid - box[2 + axis]) / box[axis] + 1) * (glimpse / 2) - 0.5
        for i in range(size):
            if -1 < points[i] < glimpse:
                ends[axis, 1] = i + 1
            elif points[i] <= -1:
                ends[axis, 0] = i + 1
            else:
                points[i] = glimpse
        points = np.maximum(points, -2)
        _read_at(points, glimpse, near[axis, 0], near[axis, 1], share[axis, 0], share[axis, 1])
    for y in range(ends[1, 0], ends[1, 1]):
        upper, lower = mask[near[1, 0, y]], mask[near[1, 1, y]]
        above, below = share[1, 0, y], share[1, 1, y]
        for x in range(ends[0, 0], ends[0, 1]):
            left, right = near[0, 0, x], near[0, 1, x]
            canvas[y, x] = share[0, 0, x] * (above * upper[left] + below * lower[left]) + share[
                0, 1, x
            ] * (above * upper[right] + below * lower[right])
    return ends[1, 0], ends[1, 1], ends[0, 0], ends[0, 1]


@kernel
def cover(alpha, rows, masks, presence, where):
    """Add masks, times presence (M, 1), to what is covered, alpha (B, 1, S, S), in place."""
    canvas = np.empty(alpha.shape[2:], np.float32)
    for m in range(len(rows)):
        top, bottom, left, right = _paste(masks[m], where[m], canvas)
        for y in range(top, bottom):
            for x in range(left, right):
                alpha[rows[m], 0, y, x] += presence[m, 0] * canvas[y, x]


@kernel
def behind(rows, masks, where, depth, alive, size, most):
    """Which objects (M,) have more than `most` of them behind a nearer one of their picture.

    `rows` ascend; only those that are `alive` (M,) count. Pictures are `size` pixels wide.
    """
    hidden = np.zeros(len(rows), np.bool_)
    on, canvas = np.zeros((len(rows), size, size), np.bool_), np.empty((size, size), np.float32)
    ends = np.zeros((len(rows), 4), np.int64)
    area = np.zeros(len(rows), np.int64)
    for m in range(len(rows)):
        if alive[m]:
            top, bottom, left, right = _paste(masks[m], where[m], canvas)
            ends[m] = top, bottom, left, right
            for y in range(top, bottom):
                for x in range(left, right):
                    on[m, y, x] = canvas[y, x] > 0.5
                    area[m] += on[m, y, x]
    for m in range(len(rows)):
        for other in range(len(rows)):
            if rows[m] == rows[other] and alive[m] and depth[m, 0] > depth[other, 0]:
                shared = _overlap(on, ends, m, other)
                hidden[m] = hidden[m] or shared / max(area[m], 1) > most
    return hidden


@part
def _overlap(on, ends, one, two):
    """How many pixels two of the shapes on (M, S, S) share, within the range of the first."""
    shared = 0
    for y in range(ends[one, 0], ends[one, 1]):
        for x in range(ends[one, 2], ends[one, 3]):
            shared += on[one, y, x] and on[two, y, x]
    return shared


@kernel
def judge(rows, order, masks, where, alpha, free, floors, explained, most):
    """Which proposals (M,) are accepted, and which are rejected.

    `order` lists them by picture, the surest first. A proposal's pixels are where its mask exceeds
    the first of two `floors`; explained are those where alpha (B, 1, S, S) exceeds the second. One
    that is explained by the share `explained` is rejected, and one that a surer one covers by more
    than `most`. Of the others at most `free` (B,) are accepted in a picture, the surest.
    """
    count, size = len(rows), alpha.shape[-1]
    accepted, standing = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    on, canvas = np.zeros((count, size, size), np.bool_), np.empty((size, size), np.float32)
    ends, taken = np.zeros((count, 4), np.int64), np.zeros(len(free), np.int64)
    for i in range(count):
        m = order[i]
        top, bottom, left, right = _paste(masks[m], where[m], canvas)
        ends[m] = top, bottom, left, right
        area, known = 0, 0
        for y in range(top, bottom):
            for x in range(left, right):
                if canvas[y, x] > floors[0]:
                    on[m, y, x] = True
                    area += 1
                    known += alpha[rows[m], 0, y, x] > floors[1]
        standing[m] = known / max(area, 1) < explained
        for other in order[: i if most < 1 else 0]:
            if rows[other] == rows[m] and standing[other] and standing[m]:
                standing[m] = _overlap(on, ends, m, other) / max(area, 1) <= most
        if standing[m] and taken[rows[m]] < free[rows[m]]:
            accepted[m] = True
            taken[rows[m]] += 1
    return accepted, ~standing
