"""Layers of an ensemble of MLPs and their gradients, on rows of a batch.

Arrays are (C, B, width), weights (C, in, out), biases (C, 1, out), as in `learners/layers.py`; what
a torso pooled and its gradient are columns, (C, W, B). `kind` is the activation, an index of
`ACTIVATIONS`; `norm` normalises the layer before it. `before` keeps what goes into the activation
and `scales` (C, B) what the norm divided by, where the gradient needs it.
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import kernel, part

ACTIVATIONS = ("relu", "elu", "silu")
_RELU, _ELU, _SILU = range(3)
_EPSILON = 1e-5  # of `torch.nn.functional.layer_norm`


@kernel
def begin(pooled, weight, out, start):
    """The first layer's products with what a torso pooled, in rows `start` on."""
    width, count = pooled.shape[1], pooled.shape[2]
    for c in range(len(pooled)):
        np.dot(pooled[c].T, weight[c, :width], out[c, start : start + count])


@kernel
def join(begun, action, first, bias, out, before, scales, start, kind, norm):
    """Finish the first layer, rows `start` on: add the inputs that were missing, and activate.

    The last A rows of the weight `first` are those of the missing inputs (B, A).
    """
    size, end = action.shape[1], start + len(action)
    rest = first.shape[1] - size
    for c in range(len(begun)):
        rows = out[c, start:end]
        np.dot(action, first[c, rest:], rows)
        if kind == _RELU and not norm:
            _join_relu(begun[c], bias[c, 0], rows)
        else:
            _add_rows(begun[c], rows)
            _activate(out[c], bias[c, 0], before[c], scales[c], start, end, kind, norm)


@kernel
def finish(out, bias, before, scales, stop, kind, norm):
    """Finish the first layer where nothing is missing, rows 0 to `stop`."""
    for c in range(len(out)):
        _activate(out[c], bias[c, 0], before[c], scales[c], 0, stop, kind, norm)


@kernel
def layer(x, weight, bias, out, before, scales, stop, kind, norm):
    """A hidden layer on rows 0 to `stop`."""
    for c in range(len(x)):
        np.dot(x[c, :stop], weight[c], out[c, :stop])
        _activate(out[c], bias[c, 0], before[c], scales[c], 0, stop, kind, norm)


@kernel
def head(x, weight, bias, out, stop):
    """The linear end on rows 0 to `stop`."""
    for c in range(len(x)):
        np.dot(x[c, :stop], weight[c], out[c, :stop])
        for b in range(stop):
            for i in range(out.shape[2]):
                out[c, b, i] += bias[c, 0, i]


@kernel
def layer_back(
    grad, x, weight, to_weight, to_x, to_bias, before, scales, start, stop, learn, kind, norm
):
    """From the gradient of a layer's sum to those of its weight, and of the sum and bias before it.

    x is what the layer met, so the gradient goes on through the activation that made x. Weight and
    bias learn from rows `start` to `learn`; `to_x` is filled from `start` to `stop`.
    """
    outputs = weight.shape[2]
    for c in range(len(x)):
        np.dot(x[c, start:learn].T, grad[c, start:learn], to_weight[c])
        if outputs > 1:
            np.dot(grad[c, start:stop], weight[c].T, to_x[c, start:stop])
        else:
            for b in range(start, stop):
                for i in range(weight.shape[1]):
                    to_x[c, b, i] = grad[c, b, 0] * weight[c, i, 0]
        _activate_back(to_x[c], x[c], before[c], scales[c], start, stop, kind, norm)
        _sum_rows(to_x[c, start:learn], to_bias[c, 0])


@kernel
def begin_back(grad, pooled, weight, to_weight, to_pooled, start):
    """Gradients of the first layer's weight, and of the leading inputs it met.

    Rows of `grad` from `start` on belong to pooled (C, W, B). The rows of `to_pooled` (C, ., B)
    say how many inputs need a gradient.
    """
    width, wanted, end = pooled.shape[1], to_pooled.shape[1], start + pooled.shape[2]
    for c in range(len(grad)):
        np.dot(pooled[c], grad[c, start:end], to_weight[c, :width])
        if wanted:
            np.dot(weight[c, :wanted], grad[c, start:end].T, to_pooled[c])


@kernel
def join_back(grad, action, to_first):
    """Gradient of the last rows of the weight `first`, which `join` multiplies by the action."""
    rest = to_first.shape[1] - action.shape[1]
    for c in range(len(grad)):
        np.dot(action.T, grad[c, : len(action)], to_first[c, rest:])


@kernel
def to_joined(grad, first, to_action, start):
    """Gradient (B, A) of what `join` added, from the rows of `grad` from `start` on."""
    rest = first.shape[1] - to_action.shape[1]
    for b in range(len(to_action)):
        for a in range(to_action.shape[1]):
            total = grad.dtype.type(0)
            for c in range(len(grad)):
                for i in range(grad.shape[2]):
                    total += grad[c, start + b, i] * first[c, rest + a, i]
            to_action[b, a] = total


@kernel
def head_bias(grad, to_bias, start, learn):
    """Gradient of the bias of the linear end."""
    for c in range(len(grad)):
        _sum_rows(grad[c, start:learn], to_bias[c, 0])


@part
def _sum_rows(rows, into):
    """Sum over rows, four at a time: what is summed up then stays in registers longer."""
    fours = len(rows) // 4
    for i in range(len(into)):
        into[i] = 0
    for k in range(fours):
        b = 4 * k
        one, two, three, four = rows[b], rows[b + 1], rows[b + 2], rows[b + 3]
        for i in range(len(into)):
            into[i] += (one[i] + two[i]) + (three[i] + four[i])
    for k in range(len(rows) - 4 * fours):
        for i in range(len(into)):
            into[i] += rows[4 * fours + k, i]


@part
def _join_relu(begun, bias, rows):
    """`_add_rows` and `_activate` in one pass, for what nearly everybody uses."""
    zero = rows.dtype.type(0)
    for b in range(len(rows)):
        for i in range(rows.shape[1]):
            value = rows[b, i] + begun[b, i] + bias[i]
            rows[b, i] = zero if value <= zero else value


@part
def _add_rows(source, into):
    for b in range(len(into)):
        for i in range(into.shape[1]):
            into[b, i] += source[b, i]


@part
def _activate(rows, bias, before, scales, start, stop, kind, norm):
    one, zero = rows.dtype.type(1), rows.dtype.type(0)
    width = rows.shape[1]
    if kind == _RELU and not norm:  # what nearly everybody uses: one pass
        for b in range(start, stop):
            for i in range(width):
                value = rows[b, i] + bias[i]
                rows[b, i] = zero if value <= zero else value
        return
    for b in range(start, stop):
        for i in range(width):
            rows[b, i] += bias[i]
        if norm:
            scales[b] = _normalise(rows[b])
        if norm or kind == _SILU:
            for i in range(width):
                before[b, i] = rows[b, i]
        for i in range(width):
            value = rows[b, i]
            if kind == _RELU:
                rows[b, i] = zero if value <= zero else value
            elif kind == _ELU:
                rows[b, i] = value if value > zero else math.expm1(value)
            else:
                rows[b, i] = value / (one + math.exp(-value))


@part
def _normalise(row):
    """Shift and scale to mean 0 and variance 1; return the factor."""
    count = row.dtype.type(len(row))
    mean = square = row.dtype.type(0)
    for i in range(len(row)):
        mean += row[i]
    mean /= count
    for i in range(len(row)):
        row[i] -= mean
        square += row[i] * row[i]
    scale = row.dtype.type(1) / math.sqrt(square / count + row.dtype.type(_EPSILON))
    for i in range(len(row)):
        row[i] *= scale
    return scale


@part
def _activate_back(grad, rows, before, scales, start, stop, kind, norm):
    one, zero = rows.dtype.type(1), rows.dtype.type(0)
    width = rows.shape[1]
    for b in range(start, stop):
        if kind == _RELU:
            for i in range(width):
                grad[b, i] = zero if rows[b, i] <= zero else grad[b, i]
        elif kind == _ELU:
            for i in range(width):
                grad[b, i] *= one if rows[b, i] > zero else rows[b, i] + one
        else:
            for i in range(width):
                share = one / (one + math.exp(-before[b, i]))
                grad[b, i] *= share * (one + before[b, i] * (one - share))
        if norm:
            mean = along = zero
            for i in range(width):
                mean += grad[b, i]
                along += grad[b, i] * before[b, i]
            mean /= rows.dtype.type(width)
            along /= rows.dtype.type(width)
            for i in range(width):
                grad[b, i] = (grad[b, i] - mean - before[b, i] * along) * scales[b]
