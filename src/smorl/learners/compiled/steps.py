"""A step of Adam, as torch's fused one, and of the targets behind the critics."""

from __future__ import annotations

import math

from smorl.learners.compiled.jit import exact_kernel


@exact_kernel
def adam(values, grads, first, second, steps, begins, ends, lr, beta1, beta2, epsilon):
    """Step parameters that lie in `values` from begins[i] to ends[i], each with its own count."""
    number = values.dtype.type
    keep, keep2 = number(beta2), number(1 - beta2)
    take, small = number(1 - beta1), number(epsilon)
    for i in range(len(steps)):
        steps[i] += 1
        pace = number(lr / (1 - beta1 ** steps[i]))
        root = number(1 / math.sqrt(1 - beta2 ** steps[i]))
        for j in range(begins[i], ends[i]):
            grad = grads[j]
            first[j] += take * (grad - first[j])
            second[j] = keep * second[j] + keep2 * grad * grad
            values[j] -= pace * first[j] / (math.sqrt(second[j]) * root + small)


@exact_kernel
def follow(targets, values, rate):
    """Move the targets a share of the way to the values."""
    share = targets.dtype.type(rate)
    for j in range(len(targets)):
        targets[j] += share * (values[j] - targets[j])
