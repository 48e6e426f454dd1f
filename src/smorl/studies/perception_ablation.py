"""Evaluate one agent several times, each time with another part of perception made perfect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smorl.evaluation.evaluate import evaluate
from smorl.planning.actor import Actor
from smorl.representations.base import Encoder
from smorl.studies.oracle import PARTS, OracleEncoder, Prototypes

NOTHING, EVERYTHING = "as it is", "all of these"


def measure_gap(
    envs: Any,
    encoder: Encoder,
    actor: Callable[[Encoder], Actor],
    *,
    episodes: int,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, float | int | None]]:
    """Return the evaluation's numbers by swapped part, with a first row of none, a last of all.

    `envs` is a visual vector environment without a step limit; `actor` makes who plays from what
    sees.

    All rows play the same episodes. `gain` is how much nearer the pucks end than without the
    swap, in metres, and `gain_error` the standard error of that difference over episodes.
    """
    rows = {NOTHING: (), **{part: (part,) for part in PARTS}, EVERYTHING: tuple(PARTS)}
    usual = Prototypes.measure(encoder, envs)
    table: dict[str, dict[str, float | int | None]] = {}
    before = np.zeros(episodes)
    for name, parts in rows.items():
        if progress is not None:
            progress(name)
        eyes = OracleEncoder(encoder, envs, parts, usual) if parts else encoder
        result = evaluate(envs, actor(eyes), episodes=episodes, seed=seed)
        if not parts:
            before = result.distance
        gain = before - result.distance
        error = float(gain.std(ddof=1) / np.sqrt(episodes)) if episodes > 1 else 0.0
        table[name] = {**result.summary(), "gain": float(gain.mean()), "gain_error": error}
    return table
