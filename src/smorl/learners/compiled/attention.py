"""Softmax attention over the objects of each sample, and its gradient (`gradients.attend`).

In columns, see `looking`: objects (N, F, B), mask (N, B), goal (G + 1, B). C networks have R
queries each: queries (C R F, G + 1) are linear in the goal, pooled (C, W, B) is [features weighted
by each query; goal; extras].
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import exact_part, kernel, part

# exp(r) for |r| < log(2) / 2 by its series, and log(2) in two parts, of which the first is exact.
_SERIES = tuple(1 / math.factorial(k) for k in range(7, -1, -1))
_LOG2_HIGH = 0.693359375
_LOG2_LOW = math.log(2) - _LOG2_HIGH


@kernel
def attend(queries, goal, objects, mask, extras, seen, weights, pooled):
    """Fill pooled; seen (C R F, B) and weights (C R, N, B) are kept for the gradient."""
    slots, width, count = objects.shape
    members, asked = len(pooled), len(weights) // len(pooled)
    top, total = np.empty(count, objects.dtype), np.empty(count, objects.dtype)
    np.dot(queries, goal, seen)
    for q in range(len(weights)):
        for n in range(slots):
            score = weights[q, n]
            for b in range(count):
                score[b] = mask[n, b]
            _add_products(objects[n], seen[q * width : (q + 1) * width], score)
            for b in range(count):
                higher = n == 0 or score[b] > top[b]
                top[b] = score[b] if higher else top[b]
        for n in range(slots):
            score = weights[q, n]
            for b in range(count):
                score[b] -= top[b]
            _exponentials(score)
            for b in range(count):
                total[b] = score[b] if n == 0 else total[b] + score[b]
        for n in range(slots):
            for b in range(count):
                weights[q, n, b] /= total[b]
        at = (q % asked) * width
        _weigh(weights[q], objects, pooled[q // asked, at : at + width])
    tail = len(goal) - 1
    for c in range(members):
        for f in range(tail):
            for b in range(count):
                pooled[c, asked * width + f, b] = goal[f, b]
        for f in range(len(extras)):
            for b in range(count):
                pooled[c, asked * width + tail + f, b] = extras[f, b]


@kernel
def attend_back(to_pooled, goal, objects, weights, to_seen, to_queries):
    """Gradient of the queries from that of the pooled features, (C, R F, B)."""
    slots, width, count = objects.shape
    asked = len(weights) // len(to_pooled)
    slopes, mean = np.empty((slots, count), objects.dtype), np.empty(count, objects.dtype)
    for q in range(len(weights)):
        at = (q % asked) * width
        given = to_pooled[q // asked, at : at + width]
        for b in range(count):
            mean[b] = 0
        for n in range(slots):
            for b in range(count):
                slopes[n, b] = 0
            _add_products(objects[n], given, slopes[n])
            _add_one(weights[q, n], slopes[n], mean)
        for n in range(slots):
            for b in range(count):
                slopes[n, b] = weights[q, n, b] * (slopes[n, b] - mean[b])
        _weigh(slopes, objects, to_seen[q * width : (q + 1) * width])
    np.dot(to_seen, goal.T, to_queries)


@part
def _add_products(x, y, out):
    """Add products of rows x (K, B) and y (K, B) to out (B,), two rows at a time."""
    pairs = len(x) // 2
    for k in range(pairs):
        _add_two(x[2 * k], y[2 * k], x[2 * k + 1], y[2 * k + 1], out)
    if len(x) > 2 * pairs:
        _add_one(x[2 * pairs], y[2 * pairs], out)


@part
def _add_two(x, y, v, w, out):
    for b in range(len(out)):
        out[b] += x[b] * y[b] + v[b] * w[b]


@part
def _add_one(x, y, out):
    for b in range(len(out)):
        out[b] += x[b] * y[b]


@part
def _weigh(weights, objects, out):
    """out (F, B): sums over slots of weights (N, B) times objects (N, F, B)."""
    slots, width, count = objects.shape
    for f in range(width):
        row = out[f]
        for b in range(count):
            row[b] = weights[0, b] * objects[0, f, b]
        for n in range(1, slots - 1, 2):
            _add_two(weights[n], objects[n, f], weights[n + 1], objects[n + 1, f], row)
        if slots % 2 == 0:
            _add_one(weights[slots - 1], objects[slots - 1, f], row)


@kernel
def take_first(goal, objects, extras, pooled):
    """Fill pooled with [the first object; goal; extras]: there is no attention."""
    width, count = objects.shape[1], objects.shape[2]
    tail = len(goal) - 1
    for c in range(len(pooled)):
        for f in range(width):
            for b in range(count):
                pooled[c, f, b] = objects[0, f, b]
                pooled[c, width + f, b] = goal[f, b] if f < tail else 0
        for f in range(len(extras)):
            for b in range(count):
                pooled[c, 2 * width + f, b] = extras[f, b]


@part
def _exponentials(x):
    """exp of numbers that are not above 0, in place."""
    if x.itemsize == 4:
        for b in range(len(x)):
            x[b] = _exponential(np.float32(x[b]))
    else:
        for b in range(len(x)):
            x[b] = math.exp(x[b])


@exact_part
def _exponential(x):
    """exp(x) = 2^n exp(x - n log 2), without a call, so that the loop around it is vectorised."""
    n = np.float32(np.rint(x * np.float32(1 / math.log(2))))
    rest = x - n * np.float32(_LOG2_HIGH) - n * np.float32(_LOG2_LOW)
    value = np.float32(_SERIES[0])
    for k in range(1, 8):
        value = value * rest + np.float32(_SERIES[k])
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(0) if x < np.float32(-87) else value * power
