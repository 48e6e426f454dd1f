"""The numbers of a perception report, from detections and what each of them turned out to be.

Undefined numbers (nothing to count) are None. Shares are in [0, 1], errors in pixels.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smorl.evaluation.detection_metrics import Bools, Detections, Kind, Labels, Truth
from smorl.goals.appearance import match_rates

Numbers = dict[str, float | int | None]


def detection_scores(detections: Detections, truth: Truth, labels: Labels) -> Numbers:
    """Precision, recall, F1 and position error, over all visible pucks and by category.

    In a category, precision counts the false detections whose nearest visible puck is in it.
    """
    frames = detections.seen.shape[0] * detections.seen.shape[1]
    arm, false = labels.kind == Kind.ARM, labels.kind == Kind.FALSE
    arm_seen = truth.arm_visible
    numbers = _scores(truth, labels, np.ones_like(truth.is_visible))
    found = int((labels.kind == Kind.PUCK).sum())
    numbers["precision"] = _ratio(found, found + int(false.sum()))
    numbers["f1"] = _f1(numbers["precision"], numbers["recall"])
    numbers |= {
        "arm_detected": _mean(arm.any(-1)[arm_seen]),
        "detections_per_frame": _ratio(int(detections.seen.sum()), frames),
        "arm_detections_per_frame": _ratio(int(arm.sum()), frames),
        "false_positives_per_frame": _ratio(int(false.sum()), frames),
        "frames": frames,
        "arm_visible": int(arm_seen.sum()),
    }
    for name, mask in truth.categories().items():
        part = _scores(truth, labels, mask)
        numbers |= {f"{name}/{key}": value for key, value in part.items()}
    return numbers


def _scores(truth: Truth, labels: Labels, mask: Bools) -> Numbers:
    """Scores of the visible pucks in `mask` (E, T, n)."""
    visible = truth.is_visible & mask
    episode, frame, slot = np.nonzero(labels.kind == Kind.PUCK)
    hit = mask[episode, frame, labels.puck[episode, frame, slot]]
    error = labels.error[episode, frame, slot][hit]
    false = (labels.kind == Kind.FALSE) & (labels.puck >= 0)
    where = np.nonzero(false)
    wrong = int(mask[where[0], where[1], labels.puck[where]].sum())
    precision, recall = _ratio(len(error), len(error) + wrong), _ratio(len(error), visible.sum())
    return {
        "f1": _f1(precision, recall),
        "precision": precision,
        "recall": recall,
        "median_error_px": float(np.median(error)) if len(error) else None,
        "mean_error_px": _mean(error),
        "visible": int(visible.sum()),
        "found": len(error),
    }


def identity_scores(detections: Detections, truth: Truth, labels: Labels) -> Numbers:
    """Share of detections in later frames whose nearest reference appearance is their own.

    The references of an episode are the appearances of ALL detections (pucks, arm, false ones) in
    the first frame in which every visible puck is found; episodes without such a frame are left
    out and counted. Pucks that have no reference are left out.
    """
    right: dict[str, list[bool]] = {"identity_accuracy": [], "arm_identity_accuracy": []}
    split: dict[str, list[bool]] = {name: [] for name in truth.categories()}
    masks = truth.categories()
    compared = 0
    for episode, frame in reference_frames(truth, labels):
        compared += 1
        names, looks = _named(detections, labels, episode, frame, with_false=True)
        for later in range(frame + 1, labels.kind.shape[1]):
            who, what = _named(detections, labels, episode, later, with_false=False)
            for name, look in zip(who, what, strict=True):
                if name not in names:
                    continue
                nearest = names[np.linalg.norm(looks - look, axis=-1).argmin()]
                if name < 0:
                    right["arm_identity_accuracy"].append(nearest == name)
                    continue
                right["identity_accuracy"].append(nearest == name)
                for category, mask in masks.items():
                    if mask[episode, later, name]:
                        split[category].append(nearest == name)
    numbers: Numbers = {name: _mean(np.array(answers)) for name, answers in right.items()}
    numbers |= {f"{name}/identity_accuracy": _mean(np.array(a)) for name, a in split.items()}
    return {**numbers, "identity_episodes": compared}


def track_scores(labels: Labels, ids: NDArray[np.int64] | None, pucks: int) -> Numbers:
    """How long an ID stays on one puck, and how often it changes.

    Of each puck the frames in which it is found are lined up, without the gaps between them. A
    track is a run of one ID; its length is counted in frames; a switch is a change of ID. Switches
    are per 100 frames in which a puck is found.
    """
    if ids is None:
        return {"track_length": None, "id_switches_per_100_frames": None}
    slots = labels.slot_of(pucks)
    tracks = switches = found = 0
    for episode in range(len(slots)):
        for puck in range(pucks):
            frames = np.flatnonzero(slots[episode, :, puck] >= 0)
            if not len(frames):
                continue
            changes = np.diff(ids[episode, frames, slots[episode, frames, puck]]) != 0
            switches += int(changes.sum())
            tracks += int(changes.sum()) + 1
            found += len(frames)
    return {
        "track_length": _ratio(found, tracks),
        "id_switches_per_100_frames": _ratio(100 * switches, found),
    }


def appearance_distances(
    detections: Detections, truth: Truth, labels: Labels
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distances of later appearances to the reference of the same, and of different objects.

    References as in `identity_scores`, pucks and arm only. This is what matching a goal meets.
    """
    same: list[float] = []
    different: list[float] = []
    for episode, frame in reference_frames(truth, labels):
        names, looks = _named(detections, labels, episode, frame, with_false=False)
        for later in range(frame + 1, labels.kind.shape[1]):
            who, what = _named(detections, labels, episode, later, with_false=False)
            distance = np.linalg.norm(what[:, None] - looks[None], axis=-1)
            equal = np.array(who)[:, None] == np.array(names)[None]
            same += distance[equal].tolist()
            different += distance[~equal].tolist()
    return np.array(same), np.array(different)


def match_report(
    detections: Detections, truth: Truth, labels: Labels, threshold: float
) -> dict[str, float | int | None]:
    """Return match and false-match rate of appearances at a threshold on their distance."""
    same, different = appearance_distances(detections, truth, labels)
    match, false_match = match_rates(same, different, threshold)
    return {
        "match_threshold": float(threshold),
        "match_rate": match if len(same) else None,
        "false_match_rate": false_match if len(different) else None,
        "match_pairs": len(same),
    }


def reference_frames(truth: Truth, labels: Labels) -> Iterator[tuple[int, int]]:
    """Yield (episode, first frame in which there are visible pucks and all of them are found)."""
    visible = truth.is_visible
    missed = visible & (labels.slot_of(visible.shape[-1]) < 0)
    complete = np.asarray(visible.any(axis=-1)) & ~np.asarray(missed.any(axis=-1))
    for episode, frames in enumerate(complete):
        if frames.any():
            yield episode, int(frames.argmax())


def _named(
    detections: Detections, labels: Labels, episode: int, frame: int, with_false: bool
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the names of one frame's detections and their what: a puck's index, -1 for the arm,
    -2 for a false detection, which only a reference frame can have."""
    kind = labels.kind[episode, frame]
    kinds = [Kind.PUCK, Kind.ARM] + [Kind.FALSE] * with_false
    slots = np.flatnonzero(np.isin(kind, kinds) & ~labels.doubtful[episode, frame])
    names = np.where(
        kind == Kind.PUCK, labels.puck[episode, frame], np.where(kind == Kind.ARM, -1, -2)
    )
    return names[slots].tolist(), detections.what[episode, frame, slots]


def _mean(values: NDArray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _ratio(part: float | int | None, whole: float | int | None) -> float | None:
    return float(part / whole) if part is not None and whole else None


def _f1(precision: float | None, recall: float | None) -> float | None:
    """Harmonic mean; 0 when nothing was right, None when there was nothing to find."""
    if recall is None:
        return None
    total = (precision or 0.0) + recall
    return 2 * (precision or 0.0) * recall / total if total else 0.0
