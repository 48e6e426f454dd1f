"""Who is whom, for thousands of objects at once: by appearance, by cluster, by ID.

The same as `matching.match`, `priors.nearest_centre` and `own_body.steps_by_id`, which decide by
size. Sets are (S, N, .).
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import exact_kernel, kernel, part

_SAMPLES = 64  # turned into columns together, so that loops over them fill vector registers


@exact_kernel
def find_like(sets, present, asked, index, nearest):
    """Fill slot and distance (S, Q) of the present object of each set that is most like Q others.

    sets (S, N, W), asked (S, Q, W). Sums are made in four parts, as numpy makes them.
    """
    fours, zero = sets.shape[2] // 4, sets.dtype.type(0)
    for s in range(len(sets)):
        for q in range(asked.shape[1]):
            found, least = 0, sets.dtype.type(np.inf)
            wanted = asked[s, q]
            for n in range(sets.shape[1]):
                if not present[s, n]:
                    continue
                one = two = three = four = zero
                own = sets[s, n]
                for k in range(fours):
                    f = 4 * k
                    a, b = own[f] - wanted[f], own[f + 1] - wanted[f + 1]
                    c, d = own[f + 2] - wanted[f + 2], own[f + 3] - wanted[f + 3]
                    one, two, three, four = one + a * a, two + b * b, three + c * c, four + d * d
                for f in range(4 * fours, len(wanted)):
                    a = own[f] - wanted[f]
                    one += a * a if f % 4 == 0 else zero
                    two += a * a if f % 4 == 1 else zero
                    three += a * a if f % 4 == 2 else zero
                distance = math.sqrt((one + two) + (three + four))
                if distance < least:
                    found, least = n, distance
            index[s, q], nearest[s, q] = found, least


@exact_kernel
def follow(place, ids, present, next_place, next_ids, next_present, steps, known):
    """Fill how far (S, N, P) each object goes, and whether it is seen again (S, N)."""
    for s in range(len(ids)):
        for n in range(ids.shape[1]):
            found = 0
            known[s, n] = False
            if present[s, n] and ids[s, n] >= 0:
                for m in range(ids.shape[1]):
                    if next_present[s, m] and next_ids[s, m] == ids[s, n]:
                        found, known[s, n] = m, True
                        break
            for p in range(place.shape[2]):
                steps[s, n, p] = next_place[s, found, p] - place[s, n, p]


@kernel
def find_centre(what, centres, squares, found):
    """Fill which (M,) of the centres (C, W) is nearest to each of what (M, W).

    squares (C,) are those of the lengths of the centres.
    """
    width = what.shape[1]
    columns = np.zeros((width, _SAMPLES), what.dtype)
    along, least = np.empty(_SAMPLES, what.dtype), np.empty(_SAMPLES, what.dtype)
    slot = np.empty(_SAMPLES, np.int32)
    for begin in range(0, len(what), _SAMPLES):
        count = min(_SAMPLES, len(what) - begin)
        for b in range(count):
            for f in range(width):
                columns[f, b] = what[begin + b, f]
        for b in range(_SAMPLES):
            least[b], slot[b] = math.inf, 0
        for c in range(len(centres)):
            _products(columns, centres[c], along)
            _compare(along, squares[c], np.int32(c), least, slot)
        for b in range(count):
            found[begin + b] = slot[b]


@part
def _products(columns, centre, along):
    for b in range(len(along)):
        along[b] = 0
    for f in range(len(centre)):
        row, by = columns[f], centre[f]
        for b in range(len(along)):
            along[b] += row[b] * by


@part
def _compare(along, square, c, least, slot):
    two = along.dtype.type(2)
    for b in range(len(along)):
        distance = square - two * along[b]
        nearer = distance < least[b]
        least[b] = distance if nearer else least[b]
        slot[b] = c if nearer else slot[b]
