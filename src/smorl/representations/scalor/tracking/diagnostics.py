"""What went wrong, in words, and what usually helps; from training data alone.

`measure` runs the tracker over some training sequences and compares what it found with the pixels
that are unlike the median background. `diagnose` turns these numbers into sentences. Neither ever
sees where the simulator put anything.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from smorl.representations.scalor.tracking.tracker import ScalorTracker

_UNLIKE = 0.12  # difference to the background, in any colour, from which a pixel is foreground
_BLOB = 10  # pixels; smaller patches are shadows and edges
_INTERSECTION = 0.4  # overlap of two boxes (over their union) from which they are one object's


@dataclass(frozen=True)
class Statistics:
    """What a tracker does on training frames; shares are between 0 and 1."""

    objects: float  # detections per frame
    limit: int  # slots, the most objects per frame
    blobs: float  # patches unlike the background, per frame
    covered: float  # share of the pixels unlike the background that lie under a mask
    found: float  # share of the blobs that are mostly under a mask
    phantoms: float  # share of the boxes with hardly a pixel unlike the background
    overlap: float  # share of the boxes that share most of their area with another one
    appearance: float  # total standard deviation of what over all detections
    distinct: float  # share of what's variance that is between tracked objects, not within them
    what_kl: float  # nats per object that what carries
    mse: float  # of the reconstruction
    residual: float  # mean squared difference to the median background
    finite: bool = True

    def row(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. A fatal one means that these weights are of no use."""

    sentence: str
    remedy: str
    fatal: bool

    def __str__(self) -> str:
        return f"{self.sentence} Likely remedy: {self.remedy}"


NOT_FINITE = Finding(
    "Training produced NaN or infinite numbers.",
    "a smaller --optimise.lr or a longer --optimise.warmup.",
    True,
)


def diagnose(statistics: Statistics, share: float = 1.0) -> list[Finding]:
    """Say what is wrong with a model after `share` of its training; early on less is expected."""
    s = statistics
    if not s.finite:
        return [NOT_FINITE]
    findings = [_missing(s, share), _everything(s), _split(s), _collapse(s)]
    return [finding for finding in findings if finding is not None]


def _missing(s: Statistics, share: float) -> Finding | None:
    if s.blobs < 0.05:
        return Finding(
            "The data shows next to nothing that differs from its median picture.",
            "collect more or longer episodes; objects must move to be seen.",
            False,
        )
    if s.objects < 0.2 or s.covered < 0.1:
        return Finding(
            f"The background took everything: {s.objects:.2f} objects per frame cover "
            f"{100 * s.covered:.0f} % of the {s.blobs:.1f} patches that differ from the median "
            "background.",
            "another seed, a smaller --optimise.lr, or a larger presence prior at the start.",
            True,
        )
    if s.found < 0.8 * share:
        return Finding(
            f"Objects are missed: only {100 * s.found:.0f} % of the patches that differ from the "
            "background are covered by an object.",
            "more --optimise.iterations, or another seed.",
            True,
        )
    return None


def _everything(s: Statistics) -> Finding | None:
    full = s.objects >= 0.9 * s.limit
    if s.phantoms > 0.3:
        return Finding(
            f"{'All' if full else 'Too many'} cells are on: {s.objects:.1f} objects per frame of "
            f"at most {s.limit}, and {100 * s.phantoms:.0f} % of them lie on plain background.",
            "a smaller presence prior, or a smaller --optimise.lr so that the prior can act.",
            True,
        )
    if not full:
        return None
    return Finding(
        f"Almost all slots are used: {s.objects:.1f} objects per frame of at most {s.limit}.",
        "a larger --scalor.slots, if objects are lost.",
        False,
    )


def _split(s: Statistics) -> Finding | None:
    if s.overlap <= 0.3:
        return None
    return Finding(
        f"Objects are split: {100 * s.overlap:.0f} % of the boxes lie mostly on another box.",
        "a larger size anchor, a stricter explained ratio, or another seed.",
        True,
    )


def _collapse(s: Statistics) -> Finding | None:
    # Without detections there is no appearance to judge.
    if s.objects < 0.2 or (s.appearance > 0.05 and s.what_kl > 0.1 and s.distinct > 0.3):
        return None
    return Finding(
        f"what has collapsed: it carries {s.what_kl:.2f} nats per object, varies by "
        f"{s.appearance:.3f}, and only {100 * s.distinct:.0f} % of that tells objects apart.",
        "more --optimise.iterations, a smaller likelihood width, or another seed.",
        True,
    )


def measure(
    tracker: ScalorTracker,
    images: np.ndarray,
    actions: np.ndarray,
    background: np.ndarray,
    what_kl: float,
) -> Statistics:
    """Track sequences (E, T, S, S, 3) uint8 and compare with the median background (S, S, 3)."""
    episodes, length = images.shape[:2]
    carry = tracker.init(episodes)
    tally = _Tally()
    whats, owners = [], []
    for t in range(length):
        carry, objects = tracker.step(carry, images[:, t], actions[:, t])
        drawing = tracker.draw(carry)
        seen = np.asarray(objects.present) & (np.asarray(carry.age) == 0)
        pictures = images[:, t].astype(np.float32) / 255
        unlike = np.abs(pictures - background).max(-1) > _UNLIKE
        masks = np.asarray(drawing.masks) * seen[:, :, None, None]
        tally.frames(pictures, background, np.asarray(drawing.reconstruction))
        for row in range(episodes):
            boxes = np.concatenate([objects.position, objects.scale], -1)[row][seen[row]]
            tally.frame(unlike[row], masks[row].max(0) > 0.3, boxes)
        whats.append(np.asarray(objects.what)[seen])
        owners.append(np.stack([np.nonzero(seen)[0], np.asarray(carry.ids)[seen]], 1))
    what, owner = np.concatenate(whats), np.concatenate(owners)
    return tally.statistics(tracker.layout.slots, *_spread(what, owner), what_kl)


def _spread(what: np.ndarray, owner: np.ndarray) -> tuple[float, float]:
    """Return the total standard deviation of what (M, W) and the share between its owners."""
    total = float(what.var(0).sum()) if len(what) > 1 else 0.0
    if not total > 0:
        return 0.0, 0.0
    _, group, size = np.unique(owner, axis=0, return_inverse=True, return_counts=True)
    means = np.zeros((len(size), what.shape[1]))
    np.add.at(means, group.reshape(-1), what)
    means /= size[:, None]
    within = float(np.square(what - means[group.reshape(-1)]).sum(1).mean())
    return math.sqrt(total), 1 - within / total


class _Tally:
    """Counts over frames."""

    def __init__(self) -> None:
        self.count = self.boxes = self.phantoms = self.overlapping = 0
        self.blobs = self.found = self.unlike = self.covered = 0
        self.mse = self.residual = 0.0
        self.steps = 0

    def frames(self, pictures: np.ndarray, background: np.ndarray, drawn: np.ndarray) -> None:
        self.steps += 1
        self.mse += float(np.square(pictures - drawn).mean())
        self.residual += float(np.square(pictures - background).mean())

    def frame(self, unlike: np.ndarray, mask: np.ndarray, boxes: np.ndarray) -> None:
        self.count += 1
        self.boxes += len(boxes)
        self.unlike += int(unlike.sum())
        self.covered += int((unlike & mask).sum())
        labels, number = ndimage.label(unlike)  # pyright: ignore[reportGeneralTypeIssues]
        sizes = np.bincount(labels.ravel(), minlength=number + 1)[1:]
        hits = np.bincount(labels[mask].ravel(), minlength=number + 1)[1:]
        large = sizes >= _BLOB
        self.blobs += int(large.sum())
        self.found += int((hits[large] > 0.5 * sizes[large]).sum())
        self.phantoms += sum(_share(unlike, box) < 0.1 for box in boxes)
        self.overlapping += int(_overlapping(boxes).sum())

    def statistics(
        self, limit: int, appearance: float, distinct: float, what_kl: float
    ) -> Statistics:
        return Statistics(
            objects=self.boxes / self.count,
            limit=limit,
            blobs=self.blobs / self.count,
            covered=self.covered / max(1, self.unlike),
            found=self.found / max(1, self.blobs),
            phantoms=self.phantoms / max(1, self.boxes),
            overlap=self.overlapping / max(1, self.boxes),
            appearance=appearance,
            distinct=distinct,
            what_kl=what_kl,
            mse=self.mse / self.steps,
            residual=self.residual / self.steps,
            finite=math.isfinite(self.mse) and math.isfinite(appearance),
        )


def _share(unlike: np.ndarray, box: np.ndarray) -> float:
    """Return the share of a box (x, y, sx, sy; image coordinates) that is unlike the background."""
    size = unlike.shape[0]
    low = np.clip(np.floor((box[:2] - box[2:] + 1) / 2 * size), 0, size - 1).astype(int)
    high = np.clip(np.ceil((box[:2] + box[2:] + 1) / 2 * size), low + 1, size).astype(int)
    return float(unlike[low[1] : high[1], low[0] : high[0]].mean())


def _overlapping(boxes: np.ndarray) -> np.ndarray:
    """Say for each box (M, 4) whether it shares most of its area with another one."""
    low, high = boxes[:, :2] - boxes[:, 2:], boxes[:, :2] + boxes[:, 2:]
    sides = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    common = np.prod(np.maximum(sides, 0), -1)
    area = np.prod(high - low, -1)
    union = area[:, None] + area[None] - common
    ratio = common / np.maximum(union, 1e-9)
    np.fill_diagonal(ratio, 0)
    return (ratio > _INTERSECTION).any(1) if len(boxes) else np.zeros(0, bool)
