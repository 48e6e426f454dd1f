"""Look at a model in training, on its own data: when, at what, and what is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from smorl.representations.scalor.tracking.diagnostics import Finding, Statistics, measure
from smorl.representations.scalor.training.fit import raw_tracker, spread_sequences
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.weights import rounded
from smorl.representations.video import Sequences

CHECKS = (0.3, 0.6, 1.0)  # shares of training after which it is diagnosed
CHECK_EPISODES, CHECK_FRAMES = 16, 11
CHECK_COLUMNS = ("attempt", "iteration", *(f.name for f in fields(Statistics)), "findings")


def check_iterations(iterations: int) -> set[int]:
    """Return after which iterations the model is looked at."""
    return {max(1, round(share * iterations)) for share in CHECKS}


def look_at(state: PerceptionState, data: Sequences, background: np.ndarray) -> Statistics:
    """Track some of the training data with the model as it is now."""
    images, actions = spread_sequences(data, CHECK_EPISODES, CHECK_FRAMES)
    what_kl = state.recent["kl/what"] / max(state.recent["objects"], 1e-3)
    # A copy, because a tracker freezes its model.
    tracker = raw_tracker(rounded(state.model))
    return measure(tracker, images, actions, background, what_kl)


def entry(state: PerceptionState, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what is remembered of an attempt: healthy, unless a finding is fatal."""
    return {
        "attempt": state.attempt,
        "iteration": state.iteration,
        "healthy": not any(finding.fatal for finding in findings),
        "findings": [str(finding) for finding in findings],
    }
