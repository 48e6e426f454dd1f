"""Softmax attention over the objects of each sample, and its gradient (`gradients.attend`).

In columns, see `looking`: objects (N, F, B), mask (N, B), goal (G + 1, B). C networks have R
queries each: queries (C R F, G + 1) are linear in the goal, pooled (C, W, B) is [features weighted
by each query; goal; extras].
"""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import exact_part, kernel, part

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
            for f in range(width):
                _add_product(objects[n, f], seen[q * width + f], score)
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
        into = pooled[q // asked]
        at = (q % asked) * width
        for n in range(slots):
            score = weights[q, n]
            for b in range(count):
                score[b] /= total[b]
            for f in range(width):
                if n == 0:
                    _set_product(objects[n, f], score, into[at + f])
                else:
                    _add_product(objects[n, f], score, into[at + f])
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
        given = to_pooled[q // asked]
        at, first = (q % asked) * width, q * width
        for n in range(slots):
            for f in range(width):
                if f == 0:
                    _set_product(objects[n, f], given[at + f], slopes[n])
                else:
                    _add_product(objects[n, f], given[at + f], slopes[n])
            if n == 0:
                _set_product(weights[q, n], slopes[n], mean)
            else:
                _add_product(weights[q, n], slopes[n], mean)
        for n in range(slots):
            slope = slopes[n]
            for b in range(count):
                slope[b] = weights[q, n, b] * (slope[b] - mean[b])
            for f in range(width):
                if n == 0:
                    _set_product(objects[n, f], slope, to_seen[first + f])
                else:
                    _add_product(objects[n, f], slope, to_seen[first + f])
    np.dot(to_seen, goal.T, to_queries)


@part
def _set_product(x, y, out):
    for b in range(len(out)):
        out[b] = x[b] * y[b]


@part
def _add_product(x, y, out):
    for b in range(len(out)):
        out[b] += x[b] * y[b]


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
