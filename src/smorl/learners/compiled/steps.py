"""A step of Adam, as torch's fused one, and of the targets behind the critics."""

from __future__ import annotations

import math

from smorl.machine_code import exact_kernel, exact_part


@exact_kernel
def adam(values, grads, first, second, steps, begins, ends, lr, beta1, beta2, epsilon):
    """Step parameters that lie in `values` from begins[i] to ends[i], each with its own count."""
    number = values.dtype.type
    take, small = number(1 - beta1), number(epsilon)
    keep, rest = number(beta2), number(1 - beta2)
    for i in range(len(steps)):
        steps[i] += 1
        pace = number(lr / (1 - beta1 ** steps[i]))
        root = number(1 / math.sqrt(1 - beta2 ** steps[i]))
        begin, end = begins[i], ends[i]
        _step(
            values[begin:end], grads[begin:end], first[begin:end], second[begin:end],
            take, keep, rest, pace, root, small,
        )  # fmt: skip


@exact_part
def _step(values, grads, first, second, take, keep, rest, pace, root, small):
    for j in range(len(values)):
        grad = grads[j]
        mean = first[j] + take * (grad - first[j])
        square = keep * second[j] + rest * grad * grad
        first[j], second[j] = mean, square
        values[j] -= pace * mean / (math.sqrt(square) * root + small)


@exact_kernel
def follow(targets, values, rate):
    """Move the targets a share of the way to the values."""
    share = targets.dtype.type(rate)
    for j in range(len(targets)):
        targets[j] += share * (values[j] - targets[j])
