"""How well detections agree with the simulator: definitions and numbers, pure functions of arrays.

E episodes, T frames, N slots, n pucks. Pixels are those of the observation (1 pixel = 2 / size).

- A puck is *visible* when at least 30 % of the pixels it would cover alone show it, and 8 pixels
  or more. The arm is visible when 40 pixels or more show it.
- A *detection* is a present slot that was seen in this very frame (age 0).
- Detections are assigned one to one to visible pucks so that as many as possible, and then the
  nearest, lie within 4 pixels of the projected centre of the puck.
- An unassigned detection within 2 pixels of an arm pixel is an *arm* detection. Otherwise, within
  4 pixels of a puck that is partly seen but not visible, it is *ignored*. All others are *false*,
  duplicates on a found puck included.
- An arm detection within 8 pixels of a puck that is seen and that no detection was assigned to may
  well mean that puck. It counts as an arm detection, but its appearance is *doubtful* and takes no
  part in identities and match rates.
- A puck is *touching* when another one is within two radii and 1 cm, or the hand within one radius,
  1 cm for the finger, and 1 cm; *occluded* when less than 90 % of it is seen; *free* otherwise.
  A puck can be touching and occluded.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation
from scipy.optimize import linear_sum_assignment

from smorl.envs.tabletop.scene import PUCK_RADIUS

GATE_PIXELS = 4.0
ARM_MARGIN_PIXELS = 2
LEAST_SHARE, LEAST_PIXELS, LEAST_ARM_PIXELS = 0.3, 8, 40
OCCLUDED_SHARE = 0.9
PUCKS_TOUCH = 2 * PUCK_RADIUS + 0.01
HAND_TOUCHES = PUCK_RADIUS + 0.02

Bools = NDArray[np.bool_]


class Kind(IntEnum):
    """What a slot turned out to be."""

    EMPTY = 0
    PUCK = 1
    ARM = 2
    IGNORED = 3
    FALSE = 4


@dataclass(frozen=True)
class Detections:
    """What the encoder said: seen (E, T, N) bool, position (E, T, N, 2) in image coordinates,
    what (E, T, N, W), and the tracker's ids (E, T, N) or None if it has none."""

    seen: Bools
    position: NDArray[np.float64]
    what: NDArray[np.float64]
    ids: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Truth:
    """What the simulator knows: centres (E, T, n, 2) in image coordinates, pixel counts visible and
    alone (E, T, n), arm (E, T, S, S) bool, hand (E, T, 2) and objects (E, T, n, 2) in metres."""

    centres: NDArray[np.float64]
    visible: NDArray[np.int64]
    alone: NDArray[np.int64]
    arm: Bools
    hand: NDArray[np.float64]
    objects: NDArray[np.float64]

    @property
    def share(self) -> NDArray[np.float64]:
        """Visible share (E, T, n) of each puck."""
        return self.visible / np.maximum(self.alone, 1)

    @property
    def is_visible(self) -> Bools:
        """Which pucks (E, T, n) count as visible."""
        return (self.share >= LEAST_SHARE) & (self.visible >= LEAST_PIXELS)

    @property
    def arm_visible(self) -> Bools:
        """In which frames (E, T) the arm counts as visible."""
        return self.arm.sum(axis=(-1, -2)) >= LEAST_ARM_PIXELS

    def categories(self) -> dict[str, Bools]:
        """Return masks (E, T, n) of the free, touching and occluded pucks."""
        offset = self.objects[..., :, None, :] - self.objects[..., None, :, :]
        distance = np.hypot(offset[..., 0], offset[..., 1])
        distance = distance + 1e9 * np.eye(distance.shape[-1])
        to_hand = np.linalg.norm(self.objects - self.hand[..., None, :], axis=-1)
        touching = (distance.min(-1) <= PUCKS_TOUCH) | (to_hand <= HAND_TOUCHES)
        occluded = self.share < OCCLUDED_SHARE
        return {"free": ~(touching | occluded), "touching": touching, "occluded": occluded}


@dataclass(frozen=True)
class Labels:
    """What each slot (E, T, N) is: its kind, its puck and the distance to it in pixels (where the
    kind is PUCK), for false ones the nearest visible puck (-1: there is none), and whether its
    appearance is doubtful."""

    kind: NDArray[np.int64]
    puck: NDArray[np.int64]
    error: NDArray[np.float64]
    doubtful: Bools

    def slot_of(self, pucks: int) -> NDArray[np.int64]:
        """Return the slot that shows each puck, (E, T, n), -1 where it is not found."""
        slots = np.full((*self.kind.shape[:2], pucks), -1)
        episode, frame, slot = np.nonzero(self.kind == Kind.PUCK)
        slots[episode, frame, self.puck[episode, frame, slot]] = slot
        return slots


def label(detections: Detections, truth: Truth) -> Labels:
    """Decide for every slot what it shows, by the definitions at the top of this module."""
    shape = detections.seen.shape
    kind = np.full(shape, int(Kind.EMPTY))
    puck = np.full(shape, -1)
    error = np.full(shape, np.nan)
    doubtful = np.zeros(shape, bool)
    visible, partly = truth.is_visible, (truth.visible > 0) & ~truth.is_visible
    size = truth.arm.shape[-1]
    near_arm = _grow(truth.arm)
    for index in np.ndindex(*shape[:2]):
        slots = np.flatnonzero(detections.seen[index])
        offset = detections.position[index][slots][:, None] - truth.centres[index]
        distance = np.linalg.norm(offset, axis=-1) * size / 2
        nearest = np.where(visible[index], distance, np.inf)
        found = assign(nearest)
        lonely = truth.visible[index] > 0
        lonely[list(found.values())] = False
        for row, slot in enumerate(slots):
            place = (*index, slot)
            if row in found:
                kind[place], puck[place] = Kind.PUCK, found[row]
                error[place] = distance[row, found[row]]
            elif _at(near_arm[index], detections.position[place]):
                kind[place] = Kind.ARM
                doubtful[place] = (distance[row][lonely] <= 2 * GATE_PIXELS).any()
            elif (distance[row][partly[index]] <= GATE_PIXELS).any():
                kind[place] = Kind.IGNORED
            else:
                kind[place] = Kind.FALSE
                puck[place] = nearest[row].argmin() if visible[index].any() else -1
    return Labels(kind, puck, error, doubtful)


def assign(distance: NDArray[np.float64]) -> dict[int, int]:
    """Assign detections (rows) to pucks (columns) one to one within the gate, as {row: column}."""
    allowed = distance <= GATE_PIXELS
    # Any allowed pair is worth more than all distances together.
    rows, columns = linear_sum_assignment(np.where(allowed, distance, 1e3))
    return {int(r): int(c) for r, c in zip(rows, columns, strict=True) if allowed[r, c]}


def _grow(arm: Bools) -> Bools:
    """Add the pixels whose centre is within the margin of an arm pixel's centre."""
    reach = np.arange(-ARM_MARGIN_PIXELS, ARM_MARGIN_PIXELS + 1)
    disc = np.hypot(*np.meshgrid(reach, reach)) <= ARM_MARGIN_PIXELS
    return np.asarray(binary_dilation(arm, disc[None, None]), dtype=np.bool_)


def _at(mask: Bools, position: NDArray[np.float64]) -> bool:
    """Look up image coordinates (2,) in a mask (S, S); outside the picture nothing is."""
    size = mask.shape[-1]
    column, row = np.floor((np.asarray(position) + 1) / 2 * size).astype(int)
    inside = 0 <= row < size and 0 <= column < size
    return bool(inside and mask[row, column])
