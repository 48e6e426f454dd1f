"""The linear ends of goal attention folded into its neighbours, see `GoalAttention.fold`.

Products of weights alone, so they cost the same for any batch. For each of C networks, with F
features, embeddings of length E, H hidden numbers behind the torso, and heads of length d = E / h:

- `rows` (C, F + 1, E): what each feature adds to an embedding, and the constant part.
- `keys`, `values` (C, h, F + 1, d) and `asks` (C, h, A, d): projected rows, and whoever asks: the
  rows again, for heads that are asked by the goal, or the learned queries.
- `mixed` (C, h (F + 1) + 1, E): what each feature's value adds to the output of each head, and
  the constant part of all.
- `queries` (F + 1, C R F), `weight` (C, W, H), `bias` (C, 1, H): the result.
"""

from __future__ import annotations

import math

import numpy as np

from smorl.learners.compiled.jit import kernel


@kernel
def fold_ends(embed, embed_bias, first, first_bias, size, asked, rows, weight, bias):
    """Begin `weight` and `bias` with the goal's embedding and the extras, and fill `rows`.

    The torso's output has length `size`, its last E numbers are the goal's embedding.
    """
    features, length = embed.shape[1], embed.shape[2]
    at = asked * features
    extra = weight.shape[1] - at - features
    end = np.empty((features + 1, first.shape[2]), first.dtype)
    for c in range(len(rows)):
        rows[c, :features] = embed[c]
        rows[c, features] = embed_bias[c, 0]
        np.dot(rows[c], first[c, size - length : size], end)
        weight[c, at : at + features] = end[:features]
        weight[c, at + features :] = first[c, size : size + extra]
        for i in range(first.shape[2]):
            bias[c, 0, i] = first_bias[c, 0, i] + end[features, i]


@kernel
def fold_heads(
    rows, query, query_bias, key, value, value_bias, out, out_bias, learned, first,
    block, place, asked, keys, values, asks, mixed, queries, weight, bias,
):  # fmt: skip
    """Fold one kind of heads; `learned` (C, M, E) are its queries, none if the goal asks.

    Its output begins at `block` of what the first layer meets, and its queries are those from
    `place` on of the `asked` ones of each network.
    """
    members, heads, width, depth = keys.shape
    features, length = width - 1, heads * depth
    many = learned.shape[1]
    scale = keys.dtype.type(1 / math.sqrt(depth))
    shown = np.empty((width, length), keys.dtype)
    put = np.empty((asks.shape[2], length), keys.dtype)
    met = np.empty((mixed.shape[1], first.shape[2]), keys.dtype)
    for c in range(members):
        np.dot(rows[c], key[c], shown)
        _by_head(shown, keys[c])
        np.dot(rows[c], value[c], shown)
        _by_head(shown, values[c])
        if many:
            np.dot(learned[c], query[c], put)
        else:
            np.dot(rows[c], query[c], put)
        for r in range(0 if many else features, len(put)):
            for i in range(length):
                put[r, i] += query_bias[c, 0, i]
        for r in range(len(put)):
            for i in range(length):
                put[r, i] *= scale
        _by_head(put, asks[c])
        for h in range(heads):
            for r in range(len(put)):
                # A learned query is constant: its row is the last one.
                number = place + (r * heads if many else 0) + h
                row = queries[features if many else r]
                at = (c * asked + number) * features
                for f in range(features):
                    score = keys.dtype.type(0)
                    for i in range(depth):
                        score += asks[c, h, r, i] * keys[c, h, f, i]
                    row[at + f] = score
            own = mixed[c, h * width : (h + 1) * width]
            np.dot(values[c, h], out[c, h * depth : (h + 1) * depth], own)
        np.dot(value_bias[c], out[c], mixed[c, heads * width :])
        for i in range(length):
            mixed[c, heads * width, i] += out_bias[c, 0, i]
        for m in range(max(1, many)):
            np.dot(mixed[c], first[c, block + m * length : block + (m + 1) * length], met)
            for h in range(heads):
                at = (place + m * heads + h) * features
                weight[c, at : at + features] = met[h * width : h * width + features]
                for i in range(met.shape[1]):
                    bias[c, 0, i] += met[h * width + features, i]
            for i in range(met.shape[1]):
                bias[c, 0, i] += met[heads * width, i]


@kernel
def fold_heads_back(
    rows, query, key, value, value_bias, out, learned, first, block, place, asked, keys, values,
    asks, mixed, to_queries, to_weight, to_bias, to_rows, to_query, to_query_bias, to_key,
    to_value, to_value_bias, to_out, to_out_bias, to_learned, to_first,
):  # fmt: skip
    """Gradients of all that `fold_heads` used; adds to `to_rows`, which `fold_ends_back` begins."""
    members, heads, width, depth = keys.shape
    features, length, hidden = width - 1, heads * depth, first.shape[2]
    many = learned.shape[1]
    scale = keys.dtype.type(1 / math.sqrt(depth))
    to_met = np.empty((mixed.shape[1], hidden), keys.dtype)
    to_mixed, part = np.empty_like(mixed[0]), np.empty_like(mixed[0])
    to_keys, to_values = np.empty_like(keys[0]), np.empty_like(values[0])
    to_asks = np.empty_like(asks[0])
    shown, some = np.empty((width, length), keys.dtype), np.empty((width, length), keys.dtype)
    put = np.empty((asks.shape[2], length), keys.dtype)
    for c in range(members):
        to_mixed[:] = 0
        for m in range(max(1, many)):
            for h in range(heads):
                at = (place + m * heads + h) * features
                to_met[h * width : h * width + features] = to_weight[c, at : at + features]
                to_met[h * width + features] = to_bias[c, 0]
            to_met[heads * width] = to_bias[c, 0]
            begin, end = block + m * length, block + (m + 1) * length
            np.dot(mixed[c].T, to_met, to_first[c, begin:end])
            np.dot(to_met, first[c, begin:end].T, part)
            to_mixed += part
        to_out_bias[c, 0] = to_mixed[heads * width]
        np.dot(to_mixed[heads * width :], out[c].T, to_value_bias[c])
        to_asks[:] = 0
        to_keys[:] = 0
        for h in range(heads):
            own = to_mixed[h * width : (h + 1) * width]
            begin, end = h * depth, (h + 1) * depth
            np.dot(values[c, h].T, own, to_out[c, begin:end])
            np.dot(own, out[c, begin:end].T, to_values[h])
            for r in range(len(put)):
                number = place + (r * heads if many else 0) + h
                row = to_queries[features if many else r]
                at = (c * asked + number) * features
                for f in range(features):
                    for i in range(depth):
                        to_asks[h, r, i] += row[at + f] * keys[c, h, f, i] * scale
                        to_keys[h, f, i] += row[at + f] * asks[c, h, r, i]
        for i in range(length):
            for j in range(length):
                to_out[c, i, j] += value_bias[c, 0, i] * to_mixed[heads * width, j]
        _together(to_keys, shown)
        np.dot(rows[c].T, shown, to_key[c])
        np.dot(shown, key[c].T, some)
        to_rows[c] += some
        _together(to_values, shown)
        np.dot(rows[c].T, shown, to_value[c])
        np.dot(shown, value[c].T, some)
        to_rows[c] += some
        _together(to_asks, put)
        to_query_bias[c, 0] = 0
        for r in range(0 if many else features, len(put)):
            to_query_bias[c, 0] += put[r]
        if many:
            np.dot(learned[c].T, put, to_query[c])
            np.dot(put, query[c].T, to_learned[c])
        else:
            np.dot(rows[c].T, put, to_query[c])
            np.dot(put, query[c].T, some)
            to_rows[c] += some


@kernel
def fold_ends_back(rows, first, size, asked, to_weight, to_bias, to_rows, to_first, to_first_bias):
    """Gradients of what `fold_ends` used, but for the embedding's: begins `to_rows`."""
    features, length = rows.shape[1] - 1, rows.shape[2]
    at = asked * features
    extra = to_weight.shape[1] - at - features
    end = np.empty((features + 1, first.shape[2]), first.dtype)
    for c in range(len(rows)):
        end[:features] = to_weight[c, at : at + features]
        end[features] = to_bias[c, 0]
        np.dot(rows[c].T, end, to_first[c, size - length : size])
        np.dot(end, first[c, size - length : size].T, to_rows[c])
        to_first[c, size : size + extra] = to_weight[c, at + features :]
        to_first_bias[c, 0] = to_bias[c, 0]


@kernel
def unfold_rows(to_rows, to_embed, to_embed_bias):
    """Gradients of the embedding, once `to_rows` is complete."""
    features = to_embed.shape[1]
    for c in range(len(to_rows)):
        to_embed[c] = to_rows[c, :features]
        to_embed_bias[c, 0] = to_rows[c, features]


@kernel
def _by_head(flat, split):
    """(rows, h d) -> (h, rows, d)."""
    depth = split.shape[2]
    for h in range(len(split)):
        for r in range(len(flat)):
            for i in range(depth):
                split[h, r, i] = flat[r, h * depth + i]


@kernel
def _together(split, flat):
    """(h, rows, d) -> (rows, h d)."""
    depth = split.shape[2]
    for h in range(len(split)):
        for r in range(len(flat)):
            for i in range(depth):
                flat[r, h * depth + i] = split[h, r, i]
