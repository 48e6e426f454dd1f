"""What the networks see of a batch, as `networks.Inputs` works it out, in columns.

A row of every array is one number of all B samples, so that loops over samples fill vector
registers: objects (N, F, B), goal (G + 1, B), whose last row is ones, mask (N, B), extras (M, B).
"""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import kernel, part

_SAMPLES = 64  # turned into columns together, so that they stay in the cache


@kernel
def look(
    raw, present, raw_goal, shift, scale, what, places, relative, matched, body, centres, rest,
    reach, objects, mask, goal, like, hand,
):  # fmt: skip
    """Fill objects, mask and goal from raw features (B, N, .), and slots (B,) of who stands out.

    `like` looks most like the goal's object, `hand` is the agent's own. The last quarter of the
    offsets is still to be squashed.
    """
    slots, used, count = present.shape[1], len(shift), len(present)
    flat = raw.reshape((count, slots * raw.shape[2]))
    for n in range(slots):
        for b in range(count):
            mask[n, b] = 0 if present[b, n] else -1e9
    for begin in range(0, count, _SAMPLES):
        end = min(begin + _SAMPLES, count)
        for f in range(used):
            _turn(raw_goal[begin:end], f, shift[f], scale[f], goal[f, begin:end])
        for n in range(slots):
            for f in range(used):
                into, column = objects[n, f, begin:end], n * raw.shape[2] + f
                _turn(flat[begin:end], column, shift[f], scale[f], into)
                _hide(mask[n, begin:end], into)
    if relative or matched:
        _find_like(objects, mask, goal, what, like)
    if relative:
        _add_offsets(objects, mask, goal, like, what, places, used)
    if body:
        _find_hand(objects, mask, what, centres, rest, reach, hand)


@part
def _turn(raw, column, shift, scale, into):
    for b in range(len(into)):
        into[b] = (raw[b, column] - shift) * scale


@part
def _hide(mask, row):
    """What is absent is zero."""
    zero = row.dtype.type(0)
    for b in range(len(row)):
        row[b] = row[b] if mask[b] == zero else zero


@kernel
def hand_over(objects, like, hand, matched, body, extras):
    """Copy the features of those who stand out to the extras: of `like`, then of `hand`."""
    width, count = objects.shape[1], objects.shape[2]
    for f in range(width):
        if matched:
            for b in range(count):
                extras[f, b] = objects[like[b], f, b]
        if body:
            row = extras[f + (width if matched else 0)]
            for b in range(count):
                row[b] = objects[hand[b], f, b]


@part
def _add_offsets(objects, mask, goal, like, what, places, used):
    """Append the offsets to the goal's place and to the goal's object, plain and times 4."""
    four, zero = objects.dtype.type(4), objects.dtype.type(0)
    for n in range(len(objects)):
        own = objects[n]
        for p in range(places):
            at, one, two = what + p, used + p, used + places + p
            for b in range(objects.shape[2]):
                there = mask[n, b] == zero
                own[one, b] = goal[at, b] - own[at, b] if there else zero
                own[two, b] = objects[like[b], at, b] - own[at, b] if there else zero
        for p in range(used, used + 2 * places):
            for b in range(objects.shape[2]):
                own[p + 2 * places, b] = four * own[p, b]


@part
def _find_like(objects, mask, goal, what, like):
    """Slot of the present object that looks most like the goal's."""
    count, zero = objects.shape[2], objects.dtype.type(0)
    least, distance = np.empty(count, objects.dtype), np.empty(count, objects.dtype)
    for b in range(count):
        least[b], like[b] = math.inf, 0
    for n in range(len(objects)):
        for b in range(count):
            distance[b] = zero
        for f in range(what):
            for b in range(count):
                distance[b] += (objects[n, f, b] - goal[f, b]) * (objects[n, f, b] - goal[f, b])
        for b in range(count):
            if mask[n, b] == zero and distance[b] < least[b]:
                least[b], like[b] = distance[b], n


@part
def _find_hand(objects, mask, what, centres, rest, reach, hand):
    """Slot of the agent's hand, see `Inputs._own`."""
    count, zero = objects.shape[2], objects.dtype.type(0)
    nearest, distance = np.empty(count, objects.dtype), np.empty(count, objects.dtype)
    least, farthest = np.empty(count, objects.dtype), np.empty(count, objects.dtype)
    resting, moves = np.empty(count, objects.dtype), np.empty(count, np.bool_)
    known = False
    for p in range(len(reach)):
        known = known or reach[p] != zero
    for b in range(count):
        least[b], farthest[b], moves[b], hand[b] = math.inf, -math.inf, False, 0
    for n in range(len(objects)):
        for b in range(count):
            nearest[b] = math.inf
        for c in range(len(centres)):
            for b in range(count):
                distance[b] = zero
            for f in range(what):
                for b in range(count):
                    offset = objects[n, f, b] - centres[c, f]
                    distance[b] += offset * offset
            for b in range(count):
                if distance[b] < nearest[b]:
                    nearest[b], resting[b] = distance[b], rest[c]
        for b in range(count):
            if mask[n, b] != zero:
                continue
            if known and resting[b] < 0.5:
                along = zero
                for p in range(len(reach)):
                    along += objects[n, what + p, b] * reach[p]
                if along > farthest[b]:
                    farthest[b], moves[b], hand[b] = along, True, n
            if not moves[b] and resting[b] < least[b]:
                least[b], hand[b] = resting[b], n
