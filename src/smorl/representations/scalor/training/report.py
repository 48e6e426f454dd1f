"""How good a perception is: against the truth, or by what it can say of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from smorl import devices
from smorl.envs.factory import tells_truth
from smorl.evaluation.detection import evaluate_perception
from smorl.representations.pretraining import Source
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.scalor.training.fit import spread_sequences
from smorl.representations.scalor.training.self_check import SelfCheck
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.weights import PerceptionWeights, load_weights
from smorl.representations.video import Sequences, describe
from smorl.runs.reporter import Reporter

EPISODES, FRAMES = 20, 21
# Filled in by a comparison with the truth.
UNKNOWN = ("f1", "median_error_px", "identity_accuracy", "arm_detected")


def measure_weights(
    path: Path, config: ScalorTrainingConfig, source: Source, data: Sequences, reporter: Reporter
) -> dict[str, Any]:
    """Measure what was written to `path`, against the truth where somebody knows it."""
    tracker, threshold = _read(path, config)
    if source.video is not None or not tells_truth(config.env):
        reporter.note("Nobody knows the truth here: the model is measured by itself.")
        return self_report(tracker, data)
    held_out = config.evaluation
    reporter.note(f"Evaluating on {held_out.episodes} episodes it never saw.")
    return evaluate_perception(
        tracker,
        config.env,
        episodes=held_out.episodes,
        seed=held_out.seed,
        threads=config.threads,
        threshold=threshold,
    ).numbers


def _read(path: Path, config: ScalorTrainingConfig) -> tuple[ScalorTracker, float]:
    weights = load_weights(path)
    return weights.tracker(device=devices.place(config.device)), weights.threshold


def summary(
    numbers: dict[str, Any],
    state: PerceptionState,
    attempts: list[dict[str, Any]],
    weights: PerceptionWeights,
    checked: SelfCheck,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Return the result of a run: what was measured, and how training went."""
    return {
        **numbers,
        "healthy": attempts[-1]["healthy"],
        "attempt": state.attempt,
        "attempts": attempts,
        "iterations": state.iteration,
        "trained_frames": state.frames,
        "threshold": weights.threshold,
        "match": weights.meta["match"],
        **{f"self_check/{name}": value for name, value in checked.row().items()},
        "seconds": round(sum(seconds.values()), 1),
        "stages": {name: round(value, 1) for name, value in seconds.items()},
    }


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
