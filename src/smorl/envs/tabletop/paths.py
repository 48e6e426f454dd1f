"""Ways around discs on the table: a small visibility graph with soft walls (metres)."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Corners of the polygon drawn around each disc, and how far outside the disc they lie: adjacent
# corners must see each other past the disc, 1 / cos(pi / 8) = 1.082.
_CORNERS = 8
_OUTSIDE = 1.09
_RING = np.stack(
    [np.cos(2 * np.pi * np.arange(_CORNERS) / _CORNERS),
     np.sin(2 * np.pi * np.arange(_CORNERS) / _CORNERS)],
    axis=-1,
)  # fmt: skip
# Metres of detour that one metre of intrusion into a disc is worth. Soft, so that there is always
# an answer, even from inside a disc or to a place that is taken.
_INTRUSION = 20.0
# Legs of the longest path looked for; around four pucks no useful path needs more.
_LEGS = 8
_CORNER_CUT = 0.006


def clearance(starts: Array, ends: Array, centres: Array) -> Array:
    """Distance from each centre (m, 2) to each segment (..., 2) to (..., 2), as (..., m)."""
    along = (ends - starts)[..., None, :]
    offset = centres - starts[..., None, :]
    length = np.maximum((along**2).sum(-1), 1e-12)
    share = np.clip((offset * along).sum(-1) / length, 0.0, 1.0)
    return np.linalg.norm(offset - share[..., None] * along, axis=-1)


def leg_cost(starts: Array, ends: Array, centres: Array, radii: Array) -> Array:
    """Length of each segment plus the price of intruding into discs of `radii` (m,)."""
    length = np.linalg.norm(ends - starts, axis=-1)
    intrusion = np.maximum(radii - clearance(starts, ends, centres), 0.0)
    return length + _INTRUSION * intrusion.sum(-1)


def detour(
    start: Array, end: Array, centres: Array, radii: Array, low: Array, high: Array
) -> tuple[Array, float]:
    """Return the first waypoint (2,) from `start` to `end` around discs, and the path's cost.

    Waypoints stay inside the box `low` to `high`. Without an obstacle the waypoint is `end`.
    """
    straight = float(leg_cost(start, end, centres, radii - _CORNER_CUT))
    if straight <= np.linalg.norm(end - start) + 1e-9:
        return end, straight
    ring = (centres[:, None] + _OUTSIDE * radii[:, None, None] * _RING).reshape(-1, 2)
    ring = ring[((ring >= low) & (ring <= high)).all(axis=1)]
    nodes = np.concatenate([start[None], end[None], ring])
    legs = leg_cost(nodes[:, None], nodes[None], centres, radii)
    # Seen from the start the discs are a little smaller, so that a corner need not be reached
    # exactly before the next one comes into view.
    legs[0] = leg_cost(start, nodes, centres, radii - _CORNER_CUT)
    to_end = legs[:, 1]
    for _ in range(_LEGS - 1):
        to_end = np.minimum(to_end, (legs + to_end).min(axis=1))
    first = legs[0] + to_end
    first[0], first[1] = np.inf, straight
    choice = int(first.argmin())
    return nodes[choice], float(first[choice])


def turn_within(normal: Array, direction: Array, cone: float) -> Array:
    """Return the unit vector nearest to `direction` within `cone` radians of `normal`."""
    angle = np.arctan2(normal[0] * direction[1] - normal[1] * direction[0], normal @ direction)
    angle = np.clip(angle, -cone, cone)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([cos * normal[0] - sin * normal[1], sin * normal[0] + cos * normal[1]])


def unit(vector: Array) -> Array:
    """Return the vector at length 1 (a zero vector stays zero)."""
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
