"""The linear ends of goal attention folded into its neighbours, see `GoalAttention.fold`.

Products of weights alone, so they cost the same for any batch. For each of C networks, with F
features of objects, the first G of which goals have too, embeddings of length E, H hidden numbers
behind the torso, and h heads of length d = E / h:

- `rows` (C, F + 1, E): what each feature adds to an embedding, and the constant part; `goal_rows`
  (C, G + 1, E) the same for goals.
- `keys`, `values` (C, h, F + 1, d) and `asks` (C, h, A, d): projected rows, and whoever asks: the
  goal's rows, or the learned queries.
- `mixed` (C, h (F + 1) + 1, E): what each feature's value adds to the output of each head, and
  the constant part of all.
- `queries` (C R, F, G + 1), `weight` (C, W, H), `bias` (C, 1, H): the result.
"""

from __future__ import annotations

import math

import numpy as np

from smorl.machine_code import kernel, part


@kernel
def fold_ends(embed, embed_bias, first, first_bias, size, rows, goal_rows, weight, bias, at):
    """Fill the rows, and begin `weight` (from row `at` on) and `bias` with goal and extras.

    The torso's output has length `size`, its last E numbers are the goal's embedding.
    """
    features, length = embed.shape[1], embed.shape[2]
    known = goal_rows.shape[1] - 1
    end = np.empty((known + 1, first.shape[2]), first.dtype)
    for c in range(len(rows)):
        _copy(embed[c], rows[c], 0, 0, features)
        _copy(embed_bias[c], rows[c], 0, features, 1)
        _copy(embed[c], goal_rows[c], 0, 0, known)
        _copy(embed_bias[c], goal_rows[c], 0, known, 1)
        np.dot(goal_rows[c], first[c, size - length : size], end)
        _copy(end, weight[c], 0, at, known)
        _copy(first[c], weight[c], size, at + known, weight.shape[1] - at - known)
        _copy(end, bias[c], known, 0, 1)
        _add(first_bias[c], bias[c], 0)


@kernel
def fold_ends_back(
    rows, goal_rows, first, size, to_weight, to_bias, to_rows, to_goal_rows, to_first,
    to_first_bias, at,
):  # fmt: skip
    """Gradients of what `fold_ends` used, but for the embedding's: begins those of the rows."""
    known, length = goal_rows.shape[1] - 1, rows.shape[2]
    end = np.empty((known + 1, first.shape[2]), first.dtype)
    for c in range(len(rows)):
        _copy(to_weight[c], end, at, 0, known)
        _copy(to_bias[c], end, 0, known, 1)
        np.dot(goal_rows[c].T, end, to_first[c, size - length : size])
        np.dot(end, first[c, size - length : size].T, to_goal_rows[c])
        _copy(to_weight[c], to_first[c], at + known, size, to_weight.shape[1] - at - known)
        _copy(to_bias[c], to_first_bias[c], 0, 0, 1)
        for r in range(rows.shape[1]):
            for i in range(length):
                to_rows[c, r, i] = 0


@kernel
def fold_heads(
    rows, asking, query, query_bias, key, value, value_bias, out, out_bias, learned, first,
    block, place, keys, values, asks, mixed, queries, weight, bias,
):  # fmt: skip
    """Fold one kind of heads, which `asking` asks: the goal's rows, or `learned` queries (C, M, E).

    Its output begins at `block` of what the first layer meets, its queries are those from `place`
    on of each network.
    """
    members, heads, width, depth = keys.shape
    features, length, many = width - 1, heads * depth, learned.shape[1]
    asked, last = len(queries) // members, queries.shape[2] - 1
    one, scale = keys.dtype.type(1), keys.dtype.type(1 / math.sqrt(depth))
    shown = np.empty((width, length), keys.dtype)
    put = np.empty((asks.shape[2], length), keys.dtype)
    constant, met = np.empty((1, length), keys.dtype), np.empty((1, first.shape[2]), keys.dtype)
    for c in range(members):
        np.dot(rows[c], key[c], shown)
        _by_head(shown, keys[c], one)
        np.dot(rows[c], value[c], shown)
        _by_head(shown, values[c], one)
        np.dot(asking[c], query[c], put)
        for r in range(0 if many else last, len(put)):
            _add(query_bias[c], put, r)
        _by_head(put, asks[c], scale)
        for h in range(heads):
            if many:
                for m in range(many):  # a learned query is constant: its part is the last one
                    for f in range(features):
                        score = _dot(keys[c, h, f], asks[c, h, m])
                        queries[c * asked + place + m * heads + h, f, last] = score
            else:
                np.dot(keys[c, h, :features], asks[c, h].T, queries[c * asked + place + h])
            own_out = out[c, h * depth : (h + 1) * depth]
            np.dot(values[c, h], own_out, mixed[c, h * width : (h + 1) * width])
        np.dot(value_bias[c], out[c], mixed[c, heads * width :])
        _add(out_bias[c], mixed[c], heads * width)
        _copy(mixed[c], constant, heads * width, 0, 1)
        for h in range(heads):
            _add(mixed[c, h * width + features :], constant, 0)
        for m in range(max(1, many)):
            following = first[c, block + m * length : block + (m + 1) * length]
            for h in range(heads):
                own, at = h * width, (place + m * heads + h) * features
                np.dot(mixed[c, own : own + features], following, weight[c, at : at + features])
            np.dot(constant, following, met)
            _add(met, bias[c], 0)


@kernel
def fold_heads_back(
    rows, asking, query, key, value, value_bias, out, first, block, place, keys, values, asks,
    mixed, to_queries, to_weight, to_bias, to_rows, to_asking, to_query, to_query_bias, to_key,
    to_value, to_value_bias, to_out, to_out_bias, to_learned, to_first,
):  # fmt: skip
    """Gradients of all that `fold_heads` used; adds to those of the rows."""
    members, heads, width, depth = keys.shape
    features, length, many = width - 1, heads * depth, to_learned.shape[1]
    asked, last = len(to_queries) // members, to_queries.shape[2] - 1
    one, scale = keys.dtype.type(1), keys.dtype.type(1 / math.sqrt(depth))
    to_met = np.empty((mixed.shape[1], first.shape[2]), keys.dtype)
    to_mixed, part = np.empty_like(mixed[0]), np.empty_like(mixed[0])
    to_keys, to_values = np.zeros_like(keys[0]), np.empty_like(values[0])
    to_asks = np.empty_like(asks[0])
    shown, some = np.empty((width, length), keys.dtype), np.empty((width, length), keys.dtype)
    put = np.empty((asks.shape[2], length), keys.dtype)
    for c in range(members):
        for m in range(max(1, many)):
            for h in range(heads):
                at = (place + m * heads + h) * features
                _copy(to_weight[c], to_met, at, h * width, features)
                _copy(to_bias[c], to_met, 0, h * width + features, 1)
            _copy(to_bias[c], to_met, 0, heads * width, 1)
            begin, end = block + m * length, block + (m + 1) * length
            np.dot(mixed[c].T, to_met, to_first[c, begin:end])
            np.dot(to_met, first[c, begin:end].T, part if m else to_mixed)
            if m:
                _add_all(part, to_mixed)
        _copy(to_mixed, to_out_bias[c], heads * width, 0, 1)
        np.dot(to_mixed[heads * width :], out[c].T, to_value_bias[c])
        for h in range(heads):
            own, begin, end = to_mixed[h * width : (h + 1) * width], h * depth, (h + 1) * depth
            np.dot(values[c, h].T, own, to_out[c, begin:end])
            np.dot(own, out[c, begin:end].T, to_values[h])
            if many:
                _learned_back(
                    to_queries, keys[c, h], asks[c, h], to_keys[h], to_asks[h],
                    c * asked + place + h, heads, last,
                )  # fmt: skip
            else:
                given = to_queries[c * asked + place + h]
                np.dot(given, asks[c, h], to_keys[h, :features])
                np.dot(given.T, keys[c, h, :features], to_asks[h])
        for i in range(length):
            for j in range(length):
                to_out[c, i, j] += value_bias[c, 0, i] * to_mixed[heads * width, j]
        _together(to_keys, shown, one)
        np.dot(rows[c].T, shown, to_key[c])
        np.dot(shown, key[c].T, some)
        _add_all(some, to_rows[c])
        _together(to_values, shown, one)
        np.dot(rows[c].T, shown, to_value[c])
        np.dot(shown, value[c].T, some)
        _add_all(some, to_rows[c])
        _together(to_asks, put, scale)
        for i in range(length):
            to_query_bias[c, 0, i] = 0
        for r in range(0 if many else last, len(put)):
            _add(put[r:], to_query_bias[c], 0)
        np.dot(asking[c].T, put, to_query[c])
        if many:
            np.dot(put, query[c].T, to_learned[c])
        else:
            by_goal = np.empty_like(put)
            np.dot(put, query[c].T, by_goal)
            _add_all(by_goal, to_asking[c])


@part
def _learned_back(to_queries, keys, asks, to_keys, to_asks, first, heads, last):
    """Gradients of keys and learned queries of one head; its queries are every `heads`-th one."""
    zero = keys.dtype.type(0)
    for f in range(len(keys) - 1):
        for i in range(keys.shape[1]):
            to_keys[f, i] = zero
    for m in range(len(asks)):
        given = to_queries[first + m * heads]
        for i in range(keys.shape[1]):
            total = zero
            for f in range(len(keys) - 1):
                total += given[f, last] * keys[f, i]
                to_keys[f, i] += given[f, last] * asks[m, i]
            to_asks[m, i] = total


@part
def _dot(x, y):
    total = x.dtype.type(0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@part
def _copy(source, target, begin, to, count):
    """Copy `count` rows of `source`, from row `begin` on, to row `to` on."""
    for r in range(count):
        for i in range(source.shape[1]):
            target[to + r, i] = source[begin + r, i]


@part
def _add(source, target, row):
    """Add the first row of `source` to a row of `target`."""
    for i in range(source.shape[1]):
        target[row, i] += source[0, i]


@part
def _add_all(source, target):
    for r in range(len(source)):
        for i in range(source.shape[1]):
            target[r, i] += source[r, i]


@part
def _by_head(flat, split, factor):
    """(rows, h d) -> (h, rows, d), times a factor."""
    depth = split.shape[2]
    for h in range(len(split)):
        for r in range(len(flat)):
            for i in range(depth):
                split[h, r, i] = flat[r, h * depth + i] * factor


@part
def _together(split, flat, factor):
    """(h, rows, d) -> (rows, h d), times a factor."""
    depth = split.shape[2]
    for h in range(len(split)):
        for r in range(len(flat)):
            for i in range(depth):
                flat[r, h * depth + i] = split[h, r, i] * factor
