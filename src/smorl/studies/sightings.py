"""What a tracker reports along recorded episodes, for the analyses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smorl.evaluation.detection_metrics import Bools, Detections
from smorl.representations.base import PictureEncoder
from smorl.studies.footage import Footage, Progress, pictures

_ROWS = 50  # episodes tracked side by side
_FOREGROUND = 0.5  # of a mask; above it a pixel shows the object


@dataclass(frozen=True)
class Sightings:
    """E episodes, T frames, N slots. Only what is seen in a frame counts, not what is remembered.

    what (E, T, N, W) is the appearance matching compares: normalised, and smoothed over time; raw
    is z^what as the model infers it. position (E, T, N, 2) is in image coordinates, and so is box
    (E, T, N, 4), centre and half extent of the foreground; colour (E, T, N, 3) in [0, 1] is the
    mean foreground pixel. Both are NaN where they were not asked for or nothing is seen.
    """

    seen: Bools
    what: NDArray[np.float32]
    raw: NDArray[np.float32]
    position: NDArray[np.float32]
    box: NDArray[np.float32]
    colour: NDArray[np.float32]

    def detections(self) -> Detections:
        """Return them as the evaluation of perception wants them."""
        return Detections(self.seen, self.position.astype(np.float64), self.what.astype(np.float64))


def watch(
    tracker: PictureEncoder,
    footage: Footage,
    foreground: bool = False,
    progress: Progress | None = None,
) -> tuple[Sightings, NDArray[np.uint8]]:
    """Track every episode from its first frame; also return the pictures (E, T, S, S, 3)."""
    images = pictures(footage, tracker.image_size)
    parts = []
    for start in range(0, len(footage), _ROWS):
        rows = slice(start, start + _ROWS)
        parts.append(_watch(tracker, images[rows], footage.actions[rows], foreground))
        if progress is not None:
            progress("episodes", min(start + _ROWS, len(footage)), len(footage))
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Sightings(**arrays), images


def _watch(
    tracker: PictureEncoder,
    images: NDArray[np.uint8],
    actions: NDArray[np.float32],
    foreground: bool,
) -> dict[str, np.ndarray]:
    carry, frames = tracker.init(len(images)), []
    for t in range(images.shape[1]):
        carry, objects = tracker.step(carry, images[:, t], actions[:, t])
        seen = objects.present & tracker.seen_now(carry)
        on = np.zeros((*seen.shape, *images.shape[2:4]), bool)
        if foreground:
            on = (tracker.draw(carry).masks > _FOREGROUND) & seen[..., None, None]
        frames.append(
            {
                "seen": seen,
                "what": objects.what,
                "raw": tracker.raw_appearance(carry),
                "position": objects.position,
                "box": foreground_box(on),
                "colour": foreground_colour(images[:, t], on),
            }
        )
    return {name: np.stack([frame[name] for frame in frames], axis=1) for name in frames[0]}


def foreground_colour(images: NDArray[np.uint8], on: Bools) -> NDArray[np.float32]:
    """Mean colour (B, N, 3) of the pixels of images (B, S, S, 3) where `on` (B, N, S, S) is true.

    NaN where it is true nowhere.
    """
    total = np.einsum("bnhw,bhwc->bnc", on.astype(np.float32), images.astype(np.float32) / 255)
    count = on.sum(axis=(2, 3))[..., None]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)


def foreground_box(on: Bools) -> NDArray[np.float32]:
    """Centre and half extent (B, N, 4) of the pixels that are `on` (B, N, S, S); else NaN."""
    size = on.shape[-1]
    sides = []
    for axis in (2, 3):  # columns give x, rows give y
        line = np.asarray(on.any(axis))
        first, last = line.argmax(-1), size - line[..., ::-1].argmax(-1)
        sides.append(np.stack([first + last - size, last - first], -1) / size)
    box = np.stack([sides[0][..., 0], sides[1][..., 0], sides[0][..., 1], sides[1][..., 1]], -1)
    return np.where(np.asarray(on.any((2, 3)))[..., None], box, np.nan).astype(np.float32)
