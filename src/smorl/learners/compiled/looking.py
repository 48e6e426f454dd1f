"""What the networks see of a batch, as `networks.Inputs` works it out; present objects only."""

from __future__ import annotations

import math

from smorl.learners.compiled.jit import kernel


@kernel
def look(
    raw, present, raw_goal, shift, scale, what, places, relative, matched, body, whole,
    centres, rest, reach, objects, count, goal, extras,
):  # fmt: skip
    """Fill objects (B, N, F), count (B,), goal (B, F) and extras (B, M) from raw features.

    Of the slots only those that hold something are kept, one after the other; `count` says how
    many these are. With `whole` all stay where they are, and only the first one counts.
    """
    slots, used, width = present.shape[1], len(shift), objects.shape[2]
    for b in range(len(present)):
        for f in range(used):
            goal[b, f] = (raw_goal[b, f] - shift[f]) * scale[f]
        for f in range(used, width):
            goal[b, f] = 0
        like = hand = at_like = at_hand = 0
        if relative or matched:
            like = _match(raw[b], present[b], raw_goal[b], what)
        if body:
            hand = _own(raw[b], present[b], shift, scale, what, centres, rest, reach)
        found = 0
        for n in range(slots):
            if not (present[b, n] or whole):
                continue
            if n == like:
                at_like = found
            if n == hand:
                at_hand = found
            if present[b, n]:
                for f in range(used):
                    objects[b, found, f] = (raw[b, n, f] - shift[f]) * scale[f]
                if relative:
                    _offsets(raw[b, like], shift, scale, goal[b], objects[b, found], what, places)
            else:
                objects[b, found] = 0
            found += 1
        if not found:  # nothing is there, and that is what the extras show
            objects[b, 0] = 0
        count[b] = 1 if whole else found
        for f in range(width):
            if matched:
                extras[b, f] = objects[b, at_like, f]
            if body:
                extras[b, f + (width if matched else 0)] = objects[b, at_hand, f]


@kernel
def _offsets(like, shift, scale, goal, own, what, places):
    """Append the offsets to the goal's place and to the goal's object, plain and sharpened."""
    used, four = len(shift), own.dtype.type(4)
    for p in range(places):
        at = what + p
        own[used + p] = goal[at] - own[at]
        own[used + places + p] = (like[at] - shift[at]) * scale[at] - own[at]
    for p in range(used, used + 2 * places):
        own[p + 2 * places] = math.tanh(four * own[p])


@kernel
def _match(raw, present, goal, what):
    """Slot of the present object that looks most like the goal's."""
    best, least = 0, math.inf
    for n in range(len(present)):
        if present[n]:
            distance = raw.dtype.type(0)
            for f in range(what):
                distance += (raw[n, f] - goal[f]) ** 2
            if distance < least:
                best, least = n, distance
    return best


@kernel
def _own(raw, present, shift, scale, what, centres, rest, reach):
    """Slot of the agent's hand, see `Inputs._own`."""
    known = False
    for p in range(len(reach)):
        known = known or reach[p] != 0
    still, least, hand, farthest = 0, math.inf, -1, -math.inf
    for n in range(len(present)):
        if not present[n]:
            continue
        cluster, nearest = 0, math.inf
        for c in range(len(centres)):
            distance = raw.dtype.type(0)
            for f in range(what):
                distance += (raw[n, f] - centres[c, f]) ** 2
            if distance < nearest:
                cluster, nearest = c, distance
        if rest[cluster] < least:
            still, least = n, rest[cluster]
        if known and rest[cluster] < 0.5:
            along = raw.dtype.type(0)
            for p in range(len(reach)):
                along += (raw[n, what + p] - shift[what + p]) * scale[what + p] * reach[p]
            if along > farthest:
                hand, farthest = n, along
    return hand if hand >= 0 else still
