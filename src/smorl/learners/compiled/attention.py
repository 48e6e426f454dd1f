"""Softmax attention over the present objects of each row, and its gradient (`gradients.attend`)."""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import kernel


@kernel
def attend(queries, goal, objects, count, extras, seen, weights, pooled, start, stop):
    """Rows `start` to `stop` of pooled (C, B, W): [features weighted by each query; goal; extras].

    queries (F + 1, C R F) are linear in the goal: a row per feature of it, and a constant one. Row
    b of objects (2 G, N, F) has row b of goal (G, F), or b - G. An empty set pools to zero.
    """
    members, width = pooled.shape[0], objects.shape[2]
    asked = weights.shape[1] // members
    goals = len(goal)
    np.dot(goal, queries[:width], seen)
    constant = queries[width]
    for b in range(goals):
        for i in range(len(constant)):
            seen[b, i] += constant[i]
    for b in range(start, stop):
        g = b if b < goals else b - goals
        for q in range(members * asked):
            begin = q * width
            weight = weights[b, q]
            highest = weights.dtype.type(-math.inf)
            for n in range(count[b]):
                score = weights.dtype.type(0)
                for f in range(width):
                    score += objects[b, n, f] * seen[g, begin + f]
                weight[n] = score
                highest = max(highest, score)
            total = weights.dtype.type(0)
            for n in range(count[b]):
                weight[n] = math.exp(weight[n] - highest)
                total += weight[n]
            into = pooled[q // asked, b]
            at = (q % asked) * width
            for f in range(width):
                into[at + f] = 0
            for n in range(count[b]):
                weight[n] /= total
                for f in range(width):
                    into[at + f] += weight[n] * objects[b, n, f]
        for c in range(members):
            into = pooled[c, b]
            for f in range(width):
                into[asked * width + f] = goal[g, f]
            for f in range(extras.shape[1]):
                into[(asked + 1) * width + f] = extras[b, f]


@kernel
def attend_back(to_pooled, goal, objects, count, weights, seen, to_queries, start):
    """Gradient of the queries (F + 1, C R F) from that of the pooled features, (C, G, R F).

    The rows are those from `start` on, as many as goals. `seen` is overwritten.
    """
    members, width, rows = len(to_pooled), objects.shape[2], len(goal)
    asked = weights.shape[1] // members
    slopes = np.empty(objects.shape[1], weights.dtype)
    constant = to_queries[width]
    constant[:] = 0
    for g in range(rows):
        b = start + g
        for q in range(members * asked):
            given = to_pooled[q // asked, g]
            at, begin = (q % asked) * width, q * width
            weight = weights[b, q]
            mean = weights.dtype.type(0)
            for n in range(count[b]):
                slope = weights.dtype.type(0)
                for f in range(width):
                    slope += objects[b, n, f] * given[at + f]
                slopes[n] = slope
                mean += weight[n] * slope
            for f in range(width):
                seen[g, begin + f] = 0
            for n in range(count[b]):
                slope = weight[n] * (slopes[n] - mean)
                for f in range(width):
                    seen[g, begin + f] += slope * objects[b, n, f]
        for i in range(len(constant)):
            constant[i] += seen[g, i]
    np.dot(goal.T, seen, to_queries[:width])


@kernel
def take_first(goal, objects, extras, pooled, start, stop):
    """Rows `start` to `stop` of pooled (C, B, W): [the first object; goal; extras], no attention."""
    width, goals = objects.shape[2], len(goal)
    for c in range(len(pooled)):
        for b in range(start, stop):
            g = b if b < goals else b - goals
            for f in range(width):
                pooled[c, b, f] = objects[b, 0, f]
                pooled[c, b, width + f] = goal[g, f]
            for f in range(extras.shape[1]):
                pooled[c, b, 2 * width + f] = extras[b, f]
