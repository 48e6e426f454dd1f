"""Layers of an ensemble of MLPs and their gradients, on rows `start` to `stop` of a batch.

Arrays are (C, B, width), weights (C, in, out), biases (C, 1, out), as in `learners/layers.py`.
`kind` is the activation, an index of `ACTIVATIONS`; `norm` normalises the layer before it. `before`
keeps what goes into the activation and `scales` (C, B) what the norm divided by, where needed.
"""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import kernel

ACTIVATIONS = ("relu", "elu", "silu")
_RELU, _ELU, _SILU = range(3)
_EPSILON = 1e-5  # of `torch.nn.functional.layer_norm`


@kernel
def begin(pooled, weight, bias, out, start, stop):
    """The first layer's sum, in rows 0 to stop - start of `out`, from what a torso pooled."""
    width = pooled.shape[2]
    for c in range(len(pooled)):
        rows = out[c, : stop - start]
        np.dot(pooled[c, start:stop], weight[c, :width], rows)
        for b in range(len(rows)):
            for i in range(rows.shape[1]):
                rows[b, i] += bias[c, 0, i]


@kernel
def join(begun, action, first, out, before, scales, start, kind, norm):
    """Finish the first layer: add the inputs that were missing, (B, A), and activate.

    Row b of the result is row `start` + b of `out`. The last A rows of the weight `first` are the
    missing inputs'.
    """
    size = action.shape[1]
    rest = first.shape[1] - size
    for c in range(len(begun)):
        for b in range(len(action)):
            row = out[c, start + b]
            for i in range(len(row)):
                row[i] = begun[c, b, i]
            for a in range(size):
                for i in range(len(row)):
                    row[i] += action[b, a] * first[c, rest + a, i]
            _activate(row, before, scales, c, start + b, kind, norm)


@kernel
def layer(x, weight, bias, out, before, scales, stop, kind, norm):
    """A hidden layer on rows 0 to `stop`."""
    for c in range(len(x)):
        np.dot(x[c, :stop], weight[c], out[c, :stop])
        for b in range(stop):
            row = out[c, b]
            for i in range(len(row)):
                row[i] += bias[c, 0, i]
            _activate(row, before, scales, c, b, kind, norm)


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
    grad, x, weight, to_weight, to_bias, to_x, before, scales, start, stop, learn, kind, norm
):
    """From the gradient of a layer's sum to those of its weights and of the sum before it.

    x is what the layer met, so the gradient goes on through the activation that made x. Weights
    learn from rows `start` to `learn`; `to_x` is filled from `start` to `stop`.
    """
    outputs = weight.shape[2]
    for c in range(len(x)):
        if learn > start:
            np.dot(x[c, start:learn].T, grad[c, start:learn], to_weight[c])
            _sum_rows(grad[c, start:learn], to_bias[c, 0])
        if outputs > 1:
            np.dot(grad[c, start:stop], weight[c].T, to_x[c, start:stop])
        for b in range(start, stop):
            row = to_x[c, b]
            if outputs == 1:
                for i in range(len(row)):
                    row[i] = grad[c, b, 0] * weight[c, i, 0]
            _activate_back(row, x[c, b], before, scales, c, b, kind, norm)


@kernel
def begin_back(grad, pooled, weight, to_weight, to_bias, to_pooled, start, origin):
    """Gradients of the first layer's weight and bias, and of the leading inputs it met.

    Rows of `grad` from `start` on belong to those of pooled from `origin` on, and are as many as
    rows of `to_pooled` (C, B, .), whose width says how many inputs need a gradient.
    """
    rows, wanted, width = to_pooled.shape[1], to_pooled.shape[2], pooled.shape[2]
    for c in range(len(grad)):
        given = grad[c, start : start + rows]
        np.dot(pooled[c, origin : origin + rows].T, given, to_weight[c, :width])
        _sum_rows(given, to_bias[c, 0])
        if wanted:
            np.dot(given, weight[c, :wanted].T, to_pooled[c])


@kernel
def join_back(grad, action, to_first):
    """Gradient of the last rows of the weight `first`, which `join` multiplies by the action."""
    size = action.shape[1]
    rest = to_first.shape[1] - size
    for c in range(len(grad)):
        np.dot(action.T, grad[c, : len(action)], to_first[c, rest:])


@kernel
def to_joined(grad, first, to_action, start):
    """Gradient (B, A) of what `join` added, from the rows of `grad` from `start` on."""
    size = to_action.shape[1]
    rest = first.shape[1] - size
    for b in range(len(to_action)):
        for a in range(size):
            total = grad.dtype.type(0)
            for c in range(len(grad)):
                for i in range(grad.shape[2]):
                    total += grad[c, start + b, i] * first[c, rest + a, i]
            to_action[b, a] = total


@kernel
def _sum_rows(rows, into):
    into[:] = 0
    for b in range(len(rows)):
        for i in range(len(into)):
            into[i] += rows[b, i]


@kernel
def _activate(row, before, scales, c, b, kind, norm):
    one, zero = row.dtype.type(1), row.dtype.type(0)
    if norm:
        mean = square = zero
        for i in range(len(row)):
            mean += row[i]
        mean /= row.dtype.type(len(row))
        for i in range(len(row)):
            square += (row[i] - mean) ** 2
        scale = one / math.sqrt(square / row.dtype.type(len(row)) + row.dtype.type(_EPSILON))
        scales[c, b] = scale
        for i in range(len(row)):
            row[i] = (row[i] - mean) * scale
    if norm or kind == _SILU:
        before[c, b] = row
    if kind == _RELU:
        for i in range(len(row)):
            row[i] = zero if row[i] <= zero else row[i]
    elif kind == _ELU:
        for i in range(len(row)):
            row[i] = row[i] if row[i] > zero else math.expm1(row[i])
    else:
        for i in range(len(row)):
            row[i] /= one + math.exp(-row[i])


@kernel
def _activate_back(grad, row, before, scales, c, b, kind, norm):
    one, zero = row.dtype.type(1), row.dtype.type(0)
    if kind == _RELU:
        for i in range(len(row)):
            grad[i] = zero if row[i] <= zero else grad[i]
    elif kind == _ELU:
        for i in range(len(row)):
            grad[i] *= one if row[i] > zero else row[i] + one
    else:
        for i in range(len(row)):
            share = one / (one + math.exp(-before[c, b, i]))
            grad[i] *= share * (one + before[c, b, i] * (one - share))
    if norm:
        mean = along = zero
        for i in range(len(row)):
            mean += grad[i]
            along += grad[i] * before[c, b, i]
        mean /= row.dtype.type(len(row))
        along /= row.dtype.type(len(row))
        for i in range(len(row)):
            grad[i] = (grad[i] - mean - before[c, b, i] * along) * scales[c, b]
