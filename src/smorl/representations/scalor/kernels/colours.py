"""Where pictures show a colour: in a box, around a place, in what belongs to another object.

Objects are flat lists of M: `rows` (M,) says which picture (B, 3, S, S) each belongs to. A pixel is
like a colour if none of its three numbers differs by `like` or more.
"""

from math import exp, pi

import numpy as np

from smorl.representations.scalor.kernels.boxes import centres, cut
from smorl.representations.scalor.kernels.compiled import compiled
from smorl.representations.scalor.kernels.shapes import MASK_FLOOR

POINTS = 20  # per side of the square that is searched
HALF = 6  # points on either side of an object's middle that its shape may reach
SOFT = 1.0  # points by which a place may explain less and still count
DRAWN, FRINGE = 0.3, 1.4  # share of an object that is drawn twice, and radii its edge reaches


@compiled
def alike(view, colour, like):
    """Which points (G, G) of a view (G, 3, G) have a colour (3,)."""
    same = np.ones((view.shape[0], view.shape[2]), np.bool_)
    for g in range(view.shape[0]):
        for c in range(3):
            for k in range(view.shape[2]):
                same[g, k] = same[g, k] and abs(view[g, c, k] - colour[c]) < like
    return same


@compiled
def shares(images, rows, where, colours, points, like):
    """Share (M,) of the points of each box that have its colour (M, 3)."""
    views = cut(images, rows, where, points)
    found = np.empty(len(rows), np.float32)
    for m in range(len(rows)):
        found[m] = alike(views[m], colours[m], like).sum() / points**2
    return found


@compiled
def fit(value, extent, reach):
    """Offset (2,) at which an ellipse of half axes `extent` (2,) explains a square best.

    It should contain the points with a `value` (P, P) of 1, which are like the object, and none of
    -1, which show the background; what covers it may hide the rest. Among equals the mean is taken.
    """
    line = centres(POINTS) * reach
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


@compiled
def around(image, covered, place, extent, colour, reach, like, least):
    """Whether an object shows in a square around `place` (2,), and how far off it is (2,).

    `image` (1, 3, S, S) and `covered` (1, 1, S, S) are of its picture.
    """
    row, box = np.zeros(1, np.int64), np.empty((1, 4), np.float32)
    box[0, :2], box[0, 2:] = reach, place
    hides = cut(covered, row, box, POINTS)[0, :, 0] > 0.5
    same = alike(cut(image, row, box, POINTS)[0], colour, like)
    value, count = np.zeros((POINTS, POINTS), np.int64), 0
    for g in range(POINTS):
        for k in range(POINTS):
            value[g, k] = same[g, k] if hides[g, k] else -1
            count += value[g, k] > 0
    if count < max(1.0, least / reach**2):
        return False, np.zeros(2, np.float32)
    return True, fit(value, extent, reach)


@compiled
def nearest_cover(covered, place, reach):
    """Whether anything is covered around `place` (2,), and how far off the nearest is (2,)."""
    row, box = np.zeros(1, np.int64), np.empty((1, 4), np.float32)
    box[0, :2], box[0, 2:] = reach, place
    on = cut(covered, row, box, POINTS)[0, :, 0] > 0.5
    line, least = centres(POINTS) * np.float32(reach), np.float32(np.inf)
    offset = np.zeros(2, np.float32)
    for g in range(POINTS):
        for k in range(POINTS):
            distance = line[g] * line[g] + line[k] * line[k]
            if on[g, k] and distance < least:
                least, offset[0], offset[1] = distance, line[k], line[g]
    return least < np.inf, offset


@compiled
def look_for(images, covered, rows, place, extent, colour, near, far, like, least, hiding):
    """Where lost objects (M,) are now: whether each shows, whether it may be there, its way (M, 2).

    One that does not show `near` its place is looked for as far as `far`, and then more closely.
    Where more than the share `hiding` of its place is covered, it may be hidden there.
    """
    count = len(rows)
    shows, possible = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    way = np.zeros((count, 2), np.float32)
    middle, row = np.empty((1, 4), np.float32), np.zeros(1, np.int64)
    for m in range(count):
        image, cover = images[rows[m] : rows[m] + 1], covered[rows[m] : rows[m] + 1]
        went, seen = np.zeros(2, np.float32), False
        for turn in range(3):
            reach, at = far if turn == 1 else near, place[m] + went
            seen, off = around(image, cover, at, extent[m], colour[m], reach, like, least)
            went += off
            if seen != (turn == 1):  # seen close by, or not even from afar
                break
        if seen:
            shows[m], possible[m], way[m] = True, True, went
            continue
        middle[0, :2], middle[0, 2:] = extent[m] / 2, place[m]
        hidden = cut(cover, row, middle, 4).mean() > hiding
        close, beside = nearest_cover(cover, place[m], near)
        possible[m] = hidden or close
        if not hidden:
            way[m] = beside
    return shows, possible, way


@compiled
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


@compiled
def carve(images, rows, masks, where, place, extent, pairs, colours, like):
    """Return masks (M, G, G) without what is a smaller object's.

    Of each of the pairs (K, 2) the second is drawn as part of the first, where pictures show the
    second's colour (K, 3) in its place, and that is where the first is drawn.
    """
    glimpse, own = masks.shape[1], masks.copy()
    grid, away = centres(glimpse), np.empty((glimpse, glimpse), np.float32)
    for i in range(len(pairs)):
        m, other = pairs[i]
        same = alike(cut(images, rows[m : m + 1], where[m : m + 1], glimpse)[0], colours[i], like)
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
