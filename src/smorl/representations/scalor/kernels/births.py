"""Who is there after a frame: which proposals become objects, in which slot, and who is missing."""

from math import sqrt

import numpy as np

from smorl.representations.scalor.kernels.boxes import overlap, paste
from smorl.representations.scalor.kernels.compiled import compiled
from smorl.representations.scalor.model.discovery import EXPLAINED_ALPHA, PROPOSED_MASK


@compiled
def judge(rows, masks, where, alpha, free, explained, most):
    """Which proposals (M,) are accepted: not explained by `alpha` (B, 1, S, S), and room for them.

    `rows` ascend, and within a picture the surest comes first. One that overlaps what is covered
    by the share `explained` is rejected, and one that a surer one covers by more than `most`. Of
    the others at most `free` (B,) are accepted in a picture, the surest.
    """
    count, size = len(rows), alpha.shape[-1]
    accepted = np.zeros(count, np.bool_)
    on, canvas = np.zeros((count, size, size), np.bool_), np.empty((size, size), np.float32)
    ends, taken = np.zeros((count, 4), np.int64), np.zeros(len(free), np.int64)
    standing = np.ones(count, np.bool_)
    for m in range(count):
        top, bottom, left, right = paste(masks[m], where[m], canvas)
        ends[m] = top, bottom, left, right
        area, known = 0, 0
        for y in range(top, bottom):
            for x in range(left, right):
                if canvas[y, x] > PROPOSED_MASK:
                    on[m, y, x] = True
                    area += 1
                    known += alpha[rows[m], 0, y, x] > EXPLAINED_ALPHA
        standing[m] = known / max(area, 1) < explained
        for other in range(m if most < 1 else 0):
            if rows[other] == rows[m] and standing[other] and standing[m]:
                standing[m] = overlap(on, ends, m, other) / max(area, 1) <= most
        if standing[m] and taken[rows[m]] < free[rows[m]]:
            accepted[m] = True
            taken[rows[m]] += 1
    return accepted


@compiled
def arrange(rows, alive, ids, found_rows, born, slots, next_id):
    """Put tracked objects (M,) that are alive, then those `born` (D,), into `slots` per picture.

    Both keep their order. New objects get IDs from `next_id` (B,) on. Returns where each slot
    (B, N) comes from (m: tracked, M + d: found, M + D: it is empty), its ID, whether it was just
    found, and the next free IDs.
    """
    batch, tracked = len(next_id), len(rows)
    source = np.full((batch, slots), tracked + len(found_rows))
    names, new = np.full((batch, slots), -1), np.zeros((batch, slots), np.bool_)
    used, free_id = np.zeros(batch, np.int64), next_id.copy()
    for m in range(tracked):
        row = rows[m]
        if alive[m]:
            source[row, used[row]], names[row, used[row]] = m, ids[m]
            used[row] += 1
    for d in range(len(found_rows)):
        row = found_rows[d]
        if born[d]:
            source[row, used[row]], names[row, used[row]] = tracked + d, free_id[row]
            new[row, used[row]] = True
            used[row] += 1
            free_id[row] += 1
    return source, names, new, free_id


@compiled
def stirring(before_alive, before_ids, before, alive, ids, now, remembered, basis, turned):
    """In which pictures (B,) somebody is missing, changed or remembered.

    Looks `before` and `now` (B, N, W) are normalised by `basis`. In the others every object goes
    on under its ID, and looks as it did within `turned`.
    """
    batch, count = before_ids.shape
    stirs = np.zeros(batch, np.bool_)
    for row in range(batch):
        stirs[row] = remembered[row].any()
        for i in range(count):
            if not before_alive[row, i]:
                continue
            steady = False
            for j in range(count):
                if alive[row, j] and before_ids[row, i] == ids[row, j]:
                    gap = (before[row, i] - now[row, j]) @ basis
                    steady = sqrt((gap**2).sum()) <= turned
                    stirs[row] = stirs[row] or not steady
            stirs[row] = stirs[row] or not steady
    return stirs
