"""What a perception can say of itself where nobody knows the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.scalor.training.fit import spread_sequences
from smorl.representations.video import Sequences, describe

EPISODES, FRAMES = 20, 21
# Filled in by a comparison with the truth.
UNKNOWN = ("f1", "median_error_px", "identity_accuracy", "arm_detected")


def self_report(tracker: ScalorTracker, data: Sequences) -> dict[str, Any]:
    """Track some of the data: how many objects, how steadily, how well they explain the pictures.

    `objects` is the mean number per frame; `kept` the share of objects that are in the next frame
    too; `reconstruction_mse` the squared error of pixels in [0, 1].
    """
    images, actions = spread_sequences(data, EPISODES, FRAMES)
    carry, errors, ids, present = tracker.init(len(images)), [], [], []
    for t in range(images.shape[1]):
        carry, objects = tracker.step(carry, images[:, t], actions[:, t])
        drawn = np.asarray(tracker.draw(carry).reconstruction)
        errors.append(np.square(drawn - images[:, t] / 255).mean())
        ids.append(np.asarray(objects.ids))
        present.append(np.asarray(objects.present))
    found = np.stack(present, 1)
    kept = [
        np.isin(one[is_one], two[is_two]).mean()
        for before, after, was, now in zip(ids, ids[1:], present, present[1:], strict=False)
        for one, two, is_one, is_two in zip(before, after, was, now, strict=True)
        if is_one.any()
    ]
    return {
        **describe(data),
        **dict.fromkeys(UNKNOWN),
        "objects": float(found.sum(-1).mean()),
        "kept": float(np.mean(kept)) if kept else None,
        "reconstruction_mse": float(np.mean(errors)),
    }
