"""Softmax attention over the objects of each sample, and its gradient (`gradients.attend`).

In columns, see `looking`: objects (N, F, B), mask (N, B), goal (G + 1, B). C networks have R
queries each: queries (C R F, G + 1) are linear in the goal, pooled (C, W, B) is [features weighted
by each query; goal; extras].
"""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import exact_kernel, kernel

_SAMPLES = 64  # attended to together, so that they stay in the cache
# exp(r) for |r| < log(2) / 2 by its series, and log(2) in two parts, of which the first is exact.
_SERIES = tuple(1 / math.factorial(k) for k in range(7, -1, -1))
_LOG2_HIGH = 0.693359375
_LOG2_LOW = math.log(2) - _LOG2_HIGH


@kernel
def attend(queries, goal, objects, mask, extras, seen, weights, pooled):
    """Fill pooled; seen (C R F, B) and weights (C R, N, B) are kept for the gradient."""
    slots, width, count = objects.shape
    members, asked = len(pooled), len(weights) // len(pooled)
    zero = objects.dtype.type(0)
    top, total = np.empty(_SAMPLES, objects.dtype), np.empty(_SAMPLES, objects.dtype)
    np.dot(queries, goal, seen)
    for begin in range(0, count, _SAMPLES):
        end = min(begin + _SAMPLES, count)
        for q in range(len(weights)):
            for n in range(slots):
                score = weights[q, n]
                for b in range(begin, end):
                    score[b] = mask[n, b]
                for f in range(width):
                    for b in range(begin, end):
                        score[b] += objects[n, f, b] * seen[q * width + f, b]
            for b in range(begin, end):
                top[b - begin], total[b - begin] = weights[q, 0, b], zero
            for n in range(1, slots):
                for b in range(begin, end):
                    higher = weights[q, n, b] > top[b - begin]
                    top[b - begin] = weights[q, n, b] if higher else top[b - begin]
            for n in range(slots):
                score = weights[q, n]
                for b in range(begin, end):
                    score[b] -= top[b - begin]
                _exponentials(score, begin, end)
                for b in range(begin, end):
                    total[b - begin] += score[b]
            into = pooled[q // asked]
            at = (q % asked) * width
            for n in range(slots):
                score = weights[q, n]
                for b in range(begin, end):
                    score[b] /= total[b - begin]
                for f in range(width):
                    if n == 0:
                        for b in range(begin, end):
                            into[at + f, b] = score[b] * objects[n, f, b]
                    else:
                        for b in range(begin, end):
                            into[at + f, b] += score[b] * objects[n, f, b]
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
    zero = objects.dtype.type(0)
    slopes, mean = np.empty((slots, _SAMPLES), objects.dtype), np.empty(_SAMPLES, objects.dtype)
    for begin in range(0, count, _SAMPLES):
        end = min(begin + _SAMPLES, count)
        for q in range(len(weights)):
            given = to_pooled[q // asked]
            at, first = (q % asked) * width, q * width
            for b in range(end - begin):
                mean[b] = zero
            for n in range(slots):
                slope = slopes[n]
                for b in range(end - begin):
                    slope[b] = zero
                for f in range(width):
                    for b in range(begin, end):
                        slope[b - begin] += objects[n, f, b] * given[at + f, b]
                for b in range(begin, end):
                    mean[b - begin] += weights[q, n, b] * slope[b - begin]
            for n in range(slots):
                slope = slopes[n]
                for b in range(begin, end):
                    slope[b - begin] = weights[q, n, b] * (slope[b - begin] - mean[b - begin])
                for f in range(width):
                    if n == 0:
                        for b in range(begin, end):
                            to_seen[first + f, b] = slope[b - begin] * objects[n, f, b]
                    else:
                        for b in range(begin, end):
                            to_seen[first + f, b] += slope[b - begin] * objects[n, f, b]
    np.dot(to_seen, goal.T, to_queries)


@kernel
def take_first(goal, objects, extras, pooled):
    """Fill pooled with [the first object; goal; extras]: there is no attention."""
    slots, width, count = objects.shape
    tail = len(goal) - 1
    for c in range(len(pooled)):
        for f in range(width):
            for b in range(count):
                pooled[c, f, b] = objects[0, f, b]
                pooled[c, width + f, b] = goal[f, b] if f < tail else 0
        for f in range(len(extras)):
            for b in range(count):
                pooled[c, 2 * width + f, b] = extras[f, b]


@kernel
def _exponentials(x, begin, end):
    """exp of numbers that are not above 0, in place."""
    if x.itemsize == 4:
        for b in range(begin, end):
            x[b] = _exponential(np.float32(x[b]))
    else:
        for b in range(begin, end):
            x[b] = math.exp(x[b])


@exact_kernel
def _exponential(x):
    """exp(x) = 2^n exp(x - n log 2), without a call, so that the loop around it is vectorised."""
    n = np.float32(np.rint(x * np.float32(1 / math.log(2))))
    rest = x - n * np.float32(_LOG2_HIGH) - n * np.float32(_LOG2_LOW)
    value = np.float32(_SERIES[0])
    for k in range(1, 8):
        value = value * rest + np.float32(_SERIES[k])
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(0) if x < np.float32(-87) else value * power
