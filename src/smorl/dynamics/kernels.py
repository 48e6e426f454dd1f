"""What the model of objects sees, its networks and their gradients, as kernels on arrays.

Only transitions' things that are seen again take part, M rows of all: `row` and `slot` (M,) say
where they are. Weights (out, in) and biases are torch's.
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import exact_kernel, exact_part, kernel, part

_EPSILON = 1e-5  # of `torch.nn.LayerNorm`
_PLAIN = 10  # steps of the hand: farther offsets count as so far


@exact_kernel
def scaled(position, motion, centre, spread, unit, place, pace, usual):
    """Fill places and motion in steps of the hand, and how unusual places are, (B, N, P)."""
    for b in range(len(position)):
        for n in range(position.shape[1]):
            for p in range(position.shape[2]):
                place[b, n, p] = position[b, n, p] / unit[p]
                pace[b, n, p] = motion[b, n, p] / unit[p]
                usual[b, n, p] = (position[b, n, p] - centre[p]) / spread[p]


@exact_kernel
def look_at_hand(place, pace, usual, actions, hand, things, scales, far, x):
    """Fill the inputs (B, .) of the hand's network; see `ObjectModel.forward`."""
    offset = np.empty(place.shape[2], place.dtype)
    for b in range(len(place)):
        own, to = hand[b], x[b]
        _nearest(place[b], place[b, own], things[b], -1, far, offset)
        at = _copy(usual[b, own], to, 0)
        at = _copy(pace[b, own], to, at)
        at = _copy(actions[b], to, at)
        _squash(offset, scales, to, at)


@exact_kernel
def look_at_things(
    place, pace, usual, actions, hand, things, scales, far, step, row, slot, count, x
):
    """Fill the first `count` inputs (M, .) of the things' network; `step` (B, P) is the hand's."""
    size = place.shape[2]
    offset = np.empty(size, place.dtype)
    for i in range(count):
        b, n, to = row[i], slot[i], x[i]
        here, there, along = place[b, n], place[b, hand[b]], step[b]
        at = _copy(usual[b, n], to, 0)
        at = _copy(pace[b, n], to, at)
        at = _copy(actions[b], to, at)
        for p in range(size):
            offset[p] = here[p] - there[p]
        at = _squash(offset, scales, to, at)
        for p in range(size):
            offset[p] = here[p] - (there[p] + along[p])
        at = _squash(offset, scales, to, at)
        at = _copy(along, to, at)
        at = _copy(pace[b, hand[b]], to, at)
        found = _nearest(place[b], here, things[b], n, far, offset)
        at = _squash(offset, scales, to, at)
        for p in range(size):
            to[at + p] = pace[b, found, p] if found >= 0 else 0


@exact_kernel
def choose(known, things, hand, row, slot, counted):
    """List the things whose steps are known, and whether the hand's is (B,); return how many."""
    count = 0
    for b in range(len(known)):
        counted[b] = known[b, hand[b]] and not things[b, hand[b]]
        for n in range(known.shape[1]):
            if known[b, n] and things[b, n]:
                row[count], slot[count] = b, n
                count += 1
    return count


@exact_kernel
def huber(steps, unit, hand, counted, row, slot, count, own, pushed, delta, to_own, to_pushed):
    """Gradients of the loss by the steps of hands (B, P) and things (M, P); return the loss."""
    size, total = own.shape[1], 0.0
    number, small = count, own.dtype.type(delta)
    for b in range(len(own)):
        number += counted[b]
    share = own.dtype.type(1 / max(number, 1))
    for b in range(len(own)):
        for p in range(size):
            wrong = own[b, p] - steps[b, hand[b], p] / unit[p]
            if counted[b]:
                total += _cost(wrong, small)
                to_own[b, p] = min(max(wrong, -small), small) * share
            else:
                to_own[b, p] = 0
    for i in range(count):
        for p in range(size):
            wrong = pushed[i, p] - steps[row[i], slot[i], p] / unit[p]
            total += _cost(wrong, small)
            to_pushed[i, p] = min(max(wrong, -small), small) * share
    return total / max(number, 1)


@exact_part
def _cost(wrong, delta):
    size = abs(wrong)
    return wrong * wrong * 0.5 if size <= delta else delta * (size - delta * 0.5)


@exact_part
def _copy(source, into, at):
    for p in range(len(source)):
        into[at + p] = source[p]
    return at + len(source)


@exact_part
def _squash(offset, scales, into, at):
    """An offset, plain as far as it matters and squashed at several scales."""
    number, size = offset.dtype.type, len(offset)
    for p in range(size):
        into[at + p] = min(max(offset[p], number(-_PLAIN)), number(_PLAIN)) / number(_PLAIN)
        for k in range(len(scales)):
            into[at + (k + 1) * size + p] = math.tanh(offset[p] / scales[k])
    return at + (len(scales) + 1) * size


@exact_part
def _nearest(place, here, things, without, far, offset):
    """Fill the offset to the nearest thing but one, and return its slot; -1: there is none."""
    found, least = -1, place.dtype.type(np.inf)
    for n in range(len(place)):
        if not things[n] or n == without:
            continue
        distance = place.dtype.type(0)
        for p in range(len(here)):
            away = place[n, p] - here[p]
            distance += away * away
        if found < 0 or distance < least:
            found, least = n, distance
    for p in range(len(here)):
        offset[p] = place[found, p] - here[p] if found >= 0 else place.dtype.type(far)
    return found


@kernel
def forward(
    x, straight, straight_bias, first, first_bias, gain, shift, second, second_bias, head,
    head_bias, normal, scales, one, two, out, beside,
):  # fmt: skip
    """Fill what the network makes of x (M, .), and what its gradient needs."""
    np.dot(x, first.T, normal)
    zero, count = x.dtype.type(0), x.dtype.type(normal.shape[1])
    for b in range(len(x)):
        mean = square = zero
        for i in range(normal.shape[1]):
            normal[b, i] += first_bias[i]
            mean += normal[b, i]
        mean /= count
        for i in range(normal.shape[1]):
            normal[b, i] -= mean
            square += normal[b, i] * normal[b, i]
        scale = x.dtype.type(1) / math.sqrt(square / count + x.dtype.type(_EPSILON))
        scales[b] = scale
        for i in range(normal.shape[1]):
            normal[b, i] *= scale
            value = normal[b, i] * gain[i] + shift[i]
            one[b, i] = zero if value <= zero else value
    np.dot(one, second.T, two)
    for b in range(len(x)):
        for i in range(two.shape[1]):
            value = two[b, i] + second_bias[i]
            two[b, i] = zero if value <= zero else value
    np.dot(two, head.T, out)
    np.dot(x, straight.T, beside)
    for b in range(len(x)):
        for p in range(out.shape[1]):
            out[b, p] += beside[b, p] + head_bias[p] + straight_bias[p]


@kernel
def backward(
    grad, x, first, gain, second, head, normal, scales, one, two, to_straight, to_straight_bias,
    to_first, to_first_bias, to_gain, to_shift, to_second, to_second_bias, to_head, to_head_bias,
    to_one, to_two,
):  # fmt: skip
    """Fill the gradients of all parameters from that of the output, (M, P)."""
    zero, count = x.dtype.type(0), x.dtype.type(normal.shape[1])
    np.dot(grad.T, two, to_head)
    np.dot(grad.T, x, to_straight)
    _sum_rows(grad, to_head_bias)
    to_straight_bias[:] = to_head_bias
    np.dot(grad, head, to_two)
    for b in range(len(x)):
        for i in range(two.shape[1]):
            to_two[b, i] = zero if two[b, i] <= zero else to_two[b, i]
    _sum_rows(to_two, to_second_bias)
    np.dot(to_two.T, one, to_second)
    np.dot(to_two, second, to_one)
    to_gain[:] = zero
    to_shift[:] = zero
    for b in range(len(x)):
        mean = along = zero
        for i in range(normal.shape[1]):
            given = zero if one[b, i] <= zero else to_one[b, i]
            to_shift[i] += given
            to_gain[i] += given * normal[b, i]
            given *= gain[i]
            mean += given
            along += given * normal[b, i]
            to_one[b, i] = given
        mean /= count
        along /= count
        for i in range(normal.shape[1]):
            to_one[b, i] = (to_one[b, i] - mean - normal[b, i] * along) * scales[b]
    _sum_rows(to_one, to_first_bias)
    np.dot(to_one.T, x, to_first)


@part
def _sum_rows(rows, into):
    into[:] = 0
    for b in range(len(rows)):
        for i in range(len(into)):
            into[i] += rows[b, i]
