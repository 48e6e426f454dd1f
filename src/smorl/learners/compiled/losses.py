"""The policy's samples, the critics' targets, and the gradients of both losses, row by row."""

from __future__ import annotations

import math

from smorl.machine_code import exact_kernel, exact_part

_NORMAL = math.log(2 * math.pi)
_JACOBIAN = 1e-6  # Release: inside the log of the Jacobian


@exact_kernel
def sample(output, noise, offset, low, high, action, log_prob, step, start):
    """Squashed actions and log densities in rows `start` on; `gradients.squashed_sample`.

    `output` (B, 2 A) are mean and log standard deviation. step (B, A) is kept for the gradient.
    """
    number = action.dtype.type
    size = action.shape[1]
    for b in range(len(noise)):
        row = start + b
        density = number(0)
        for a in range(size):
            log_std = output[row, size + a] + number(offset)
            log_std = min(max(log_std, number(low)), number(high))
            step[row, a] = math.exp(log_std) * noise[b, a]
            chosen = math.tanh(output[row, a] + step[row, a])
            action[row, a] = chosen
            normal = number(-0.5) * (noise[b, a] * noise[b, a] + number(_NORMAL)) - log_std
            density += normal - math.log(number(1) - chosen * chosen + number(_JACOBIAN))
        log_prob[row] = density


@exact_kernel
def sample_back(to_action, to_density, output, action, step, offset, low, high, to_output, start):
    """Gradient (B, 2 A) of the policy's output, in rows `start` on.

    `to_density` is that of every log density, `to_action` (B, A) that of the actions.
    """
    number = action.dtype.type
    size = action.shape[1]
    given = number(to_density)
    for b in range(len(to_action)):
        row = start + b
        for a in range(size):
            chosen = action[row, a]
            slope = number(1) - chosen * chosen
            by_density = given * (number(2) * chosen / (slope + number(_JACOBIAN)))
            to_sum = (to_action[b, a] + by_density) * slope
            to_output[row, a] = to_sum
            log_std = output[row, size + a] + number(offset)
            free = number(low) <= log_std <= number(high)
            to_output[row, size + a] = to_sum * step[row, a] - given if free else number(0)


@exact_kernel
def mean_of(values, start):
    """Mean of the values from `start` on."""
    total = 0.0
    for i in range(start, len(values)):
        total += values[i]
    return total / (len(values) - start)


@exact_kernel
def targets(q, reward, log_prob, temperature, scale, discount, pessimism, target):
    """r + discount (Q - alpha log pi), from the target critics' values (2, B, 1)."""
    number = target.dtype.type
    for b in range(len(target)):
        value = _combined(q[0, b, 0], q[1, b, 0], number(pessimism))
        value -= number(temperature) * log_prob[b]
        target[b] = number(scale) * reward[b] + number(discount) * value


@exact_kernel
def critic_loss(q, target, to_q):
    """Gradient of both critics' mean squared errors; return its value and the mean Q."""
    number = target.dtype.type
    rows = len(target)
    loss = mean = 0.0
    for c in range(2):
        for b in range(rows):
            error = q[c, b, 0] - target[b]
            loss += error * error
            mean += q[c, b, 0]
            to_q[c, b, 0] = error * number(2 / rows)
    return loss / rows, mean / (2 * rows)


@exact_kernel
def policy_loss(q, log_prob, temperature, pessimism, to_q, start):
    """Gradient of minus the mean Q of the policy's actions, in rows `start` on; return the loss.

    Row b of log_prob belongs to row b of q (2, B, 1).
    """
    number = to_q.dtype.type
    rows = q.shape[1] - start
    share = number(1 / rows)
    half = number(0.5)
    loss = 0.0
    for b in range(start, start + rows):
        one, two = q[0, b, 0], q[1, b, 0]
        loss += number(temperature) * log_prob[b] - _combined(one, two, number(pessimism))
        if pessimism == 1.0:
            to_q[0, b, 0] = -share if one <= two else number(0)
            to_q[1, b, 0] = number(0) if one <= two else -share
        else:
            apart = half * number(pessimism) * number((one > two) - (one < two))
            to_q[0, b, 0] = -share * (half - apart)
            to_q[1, b, 0] = -share * (half + apart)
    return loss / rows


@exact_part
def _combined(one, two, pessimism):
    if pessimism == 1:
        return min(one, two)
    # Halved by adding, because 0.5 would be a double here, whatever the critics are.
    return (one + two - pessimism * abs(one - two)) / (pessimism - pessimism + 2)
