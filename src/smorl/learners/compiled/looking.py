"""What the networks see of a batch, as `networks.Inputs` works it out, in columns.

A row of every array is one number of all B samples, so that loops over samples fill vector
registers: objects (N, F, B), goal (G + 1, B), whose last row is ones, mask (N, B), extras (M, B).
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import exact_part, kernel, part

_SAMPLES = 64  # turned into columns together, so that they stay in the cache
# tanh(x) / x as a series in x^2, good for small x; exp(r) as one in r, and log(2) in two parts.
_SMALL = 0.3
_TANH = (62 / 2835, -17 / 315, 2 / 15, -1 / 3, 1.0)
_EXP = tuple(1 / math.factorial(k) for k in range(7, -1, -1))
_LOG2_HIGH = 0.693359375
_LOG2_LOW = math.log(2) - _LOG2_HIGH


@kernel
def look(
    raw, present, raw_goal, shift, scale, what, places, relative, matched, body, centres, rest,
    reach, objects, mask, goal, extras, like, hand,
):  # fmt: skip
    """Fill objects, mask, goal and extras from raw features (B, N, .).

    The extras are features of who stands out: `like` (B,) is the slot that looks most like the
    goal's object, `hand` (B,) that of the agent's own.
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
    width = objects.shape[1]
    if matched:
        _hand_over(objects, like, extras[:width])
    if body:
        _hand_over(objects, hand, extras[len(extras) - width :])


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


@part
def _hand_over(objects, slot, extras):
    """Copy the features of one slot (B,) of each sample."""
    for f in range(objects.shape[1]):
        for b in range(objects.shape[2]):
            extras[f, b] = objects[slot[b], f, b]


@part
def _add_offsets(objects, mask, goal, like, what, places, used):
    """Append the offsets to the goal's place and to the goal's object, plain and sharpened."""
    zero = objects.dtype.type(0)
    for n in range(len(objects)):
        own = objects[n]
        for p in range(places):
            at, one, two = what + p, used + p, used + places + p
            for b in range(objects.shape[2]):
                there = mask[n, b] == zero
                own[one, b] = goal[at, b] - own[at, b] if there else zero
                own[two, b] = objects[like[b], at, b] - own[at, b] if there else zero
        for p in range(used, used + 2 * places):
            _sharpen(own[p], own[p + 2 * places])


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


@part
def _sharpen(offset, sharp):
    """tanh(4 x) of a row."""
    if offset.itemsize == 4:
        for b in range(len(offset)):
            sharp[b] = _tanh(np.float32(4) * np.float32(offset[b]))
    else:
        for b in range(len(offset)):
            sharp[b] = math.tanh(4 * offset[b])


@exact_part
def _tanh(x):
    """tanh(x) without a call, so that the loop around it is vectorised; 1e-7 off at most."""
    square = x * x
    series = np.float32(_TANH[0])
    for k in range(1, 5):
        series = series * square + np.float32(_TANH[k])
    size = min(abs(x), np.float32(20))
    n = np.float32(np.rint(size * np.float32(-2 / math.log(2))))
    rest = np.float32(-2) * size - n * np.float32(_LOG2_HIGH) - n * np.float32(_LOG2_LOW)
    power = np.float32(_EXP[0])
    for k in range(1, 8):
        power = power * rest + np.float32(_EXP[k])
    power *= np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    large = (np.float32(1) - power) / (np.float32(1) + power)
    large = large if x > np.float32(0) else -large
    return x * series if size < np.float32(_SMALL) else large
