"""Where pictures show a colour: in a box, around a place, in what belongs to another object.

Objects are flat lists of M, with what was cut out of their pictures: views (M, G, 3, G). A point is
like a colour if none of its three numbers differs by `like` or more.
"""

from math import exp, pi

import numpy as np

from smorl.machine_code import exact_kernel as kernel
from smorl.machine_code import exact_part as part

POINTS = 20  # per side of the square that is searched
HALF = 6  # points on either side of an object's middle that its shape may reach
SOFT = 1.0  # points by which a place may explain less and still count
MASK_FLOOR = 0.5  # An object is where its mask exceeds this.
DRAWN, FRINGE = 0.3, 1.4  # share of an object that is drawn twice, and radii its edge reaches


@part
def _centres(count):
    """The middles (count,) of as many equal parts of [-1, 1], rounded as PyTorch does."""
    odd = (2 * np.arange(count) + 1).astype(np.float32)
    return odd / np.float32(count) - np.float32(1)


@part
def _alike(view, colour, like):
    """Which points (G, G) of a view (G, 3, G) have a colour (3,)."""
    same = np.ones((view.shape[0], view.shape[2]), np.bool_)
    for g in range(view.shape[0]):
        for c in range(3):
            for k in range(view.shape[2]):
                same[g, k] = same[g, k] and abs(view[g, c, k] - colour[c]) < like
    return same


@kernel
def shares(views, colours, like):
    """Share (M,) of each view's points that have its colour (M, 3)."""
    found = np.empty(len(views), np.float32)
    for m in range(len(views)):
        found[m] = _alike(views[m], colours[m], like).mean()
    return found


@kernel
def fit(value, extent, reach):
    """Offset (2,) at which an ellipse of half axes `extent` (2,) explains a square best.

    It should contain the points with a `value` (P, P) of 1, which are like the object, and none of
    -1, which show the background; what covers it may hide the rest. Among equals the mean is taken.
    """
    line = _centres(len(value)) * reach
    axes = np.maximum(extent, np.float32(2 * reach / POINTS))
    score = np.zeros((POINTS, POINTS))
    for a in range(-HALF, HALF):
        for b in range(-HALF, HALF):
            x, y = line[POINTS // 2 + b] / axes[0], line[POINTS // 2 + a] / axes[1]
            if x**2 + y**2 <= 1:
                for g in range(max(0, -a), min(POINTS, POINTS - a)):
                    for k in range(max(0, -b), min(POINTS, POINTS - b)):
                        score[g, k] += value[g + a, k + b]
    best, total = score.max(), 0.0
    offset = np.zeros(2)
    for g in range(POINTS):
        for k in range(POINTS):
            weight = exp((score[g, k] - best) / SOFT)
            total += weight
            offset[0] += weight * line[k]
            offset[1] += weight * line[g]
    # The middle of an even kernel lies half a spacing before the point that it belongs to.
    return (offset / total - reach / POINTS).astype(np.float32)


@kernel
def seek(views, covers, colours, extent, reach, like, least):
    """Whether objects (M,) show in squares of half size `reach`, and how far off they are (M, 2).

    Only what is covered, covers (M, P, 1, P), counts. So many points as `least` says for a square
    of reach 1 make an object show.
    """
    shows, away = np.zeros(len(views), np.bool_), np.zeros((len(views), 2), np.float32)
    value = np.empty((covers.shape[1], covers.shape[3]), np.int64)
    for m in range(len(views)):
        same, count = _alike(views[m], colours[m], like), 0
        for g in range(value.shape[0]):
            for k in range(value.shape[1]):
                value[g, k] = same[g, k] if covers[m, g, 0, k] > 0.5 else -1
                count += value[g, k] > 0
        shows[m] = count >= max(1.0, least / reach**2)
        if shows[m]:
            away[m] = fit(value, extent[m], reach)
    return shows, away


@kernel
def nearest_cover(covers, reach):
    """Whether anything is covered in squares (M, P, 1, P), and the way to the nearest (M, 2)."""
    found, offset = np.zeros(len(covers), np.bool_), np.zeros((len(covers), 2), np.float32)
    line = _centres(covers.shape[1]) * np.float32(reach)
    for m in range(len(covers)):
        least = np.float32(np.inf)
        for g in range(len(line)):
            for k in range(len(line)):
                distance = line[g] * line[g] + line[k] * line[k]
                if covers[m, g, 0, k] > 0.5 and distance < least:
                    least, offset[m, 0], offset[m, 1] = distance, line[k], line[g]
        found[m] = least < np.inf
    return found, offset


@kernel
def overlaps(rows, where, place, extent, smaller):
    """Which pairs (K, 2) of a picture are an object and one `smaller` times smaller in its box."""
    pairs = []
    for m in range(len(rows)):
        for other in range(len(rows)):
            if rows[m] != rows[other]:
                continue
            area, its = extent[m, 0] * extent[m, 1], extent[other, 0] * extent[other, 1]
            across = abs(where[m, 2] - place[other, 0]) < where[m, 0] + extent[other, 0]
            down = abs(where[m, 3] - place[other, 1]) < where[m, 1] + extent[other, 1]
            if across and down and smaller * its < area:
                pairs.append((m, other))
    found = np.empty((len(pairs), 2), np.int64)
    for i in range(len(pairs)):
        found[i] = pairs[i]
    return found


@kernel
def carve(views, masks, where, place, extent, pairs, colours, like):
    """Return masks (M, G, G) without what is a smaller object's.

    Of each of the pairs (K, 2) the second is drawn as part of the first, where the view (G, 3, G)
    of the first shows the second's colour (K, 3) in its place and the first is drawn there.
    """
    glimpse, own = masks.shape[1], masks.copy()
    grid, away = _centres(glimpse), np.empty((glimpse, glimpse), np.float32)
    for i in range(len(pairs)):
        m, other = pairs[i]
        same = _alike(views[i], colours[i], like)
        half_x, half_y = max(extent[other, 0], 1e-6), max(extent[other, 1], 1e-6)
        twice = 0
        for g in range(glimpse):
            y = (where[m, 3] + where[m, 1] * grid[g] - place[other, 1]) / half_y
            for k in range(glimpse):
                x = (where[m, 2] + where[m, 0] * grid[k] - place[other, 0]) / half_x
                away[g, k] = np.sqrt(x**2 + y**2)
                twice += same[g, k] and away[g, k] < 1 and masks[m, g, k] > MASK_FLOOR
        disc = 0.25 * pi * glimpse**2 * half_x * half_y / (where[m, 0] * where[m, 1])
        if twice <= DRAWN * disc:
            continue
        # One point more on every side: an edge is a mixture of two colours.
        for g in range(glimpse):
            for k in range(glimpse):
                if away[g, k] < FRINGE:
                    edge = same[max(g - 1, 0) : g + 2, max(k - 1, 0) : k + 2]
                    if edge.any():
                        own[m, g, k] = 0
    return own
