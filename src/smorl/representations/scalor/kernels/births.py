"""Who is there after a frame: who is in which slot, and where somebody is missing."""

from math import sqrt

import numpy as np

from smorl.machine_code import exact_kernel as kernel


@kernel
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


@kernel
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
