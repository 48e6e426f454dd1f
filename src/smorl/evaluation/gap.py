"""Evaluate one agent several times, each time with another part of perception made perfect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smorl.errors import InvalidInput
from smorl.evaluation.evaluate import Agent, evaluate
from smorl.evaluation.subgoals import SubgoalConfig
from smorl.evaluation.twins import PARTS, Prototypes, Twin
from smorl.goals.spaces import GoalSpace
from smorl.methods import make_envs
from smorl.perception.encoder import Encoder

NOTHING, EVERYTHING = "as it is", "all of these"
_ROWS = 50


def measure_gap(
    env: str,
    encoder: Encoder,
    agent: Agent,
    space: GoalSpace,
    subgoals: SubgoalConfig,
    *,
    episodes: int,
    seed: int,
    threads: int = 1,
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, float]]:
    """Return the evaluation's numbers by swapped part, with a first row of none, a last of all.

    All rows play the same episodes. `gain` is how much nearer the pucks end than without the
    swap, in metres, and `gain_error` the standard error of that difference over episodes.
    """
    if not encoder.layout.what:
        raise InvalidInput(
            "this agent sees the scene as one vector, which has no parts to swap for the truth; "
            "measure a SMORL agent."
        )
    rows = {NOTHING: (), **{part: (part,) for part in PARTS}, EVERYTHING: tuple(PARTS)}
    envs = make_envs(env, min(episodes, _ROWS), threads)
    usual = Prototypes.measure(encoder, envs)
    table: dict[str, dict[str, float]] = {}
    before = np.zeros(episodes)
    for name, parts in rows.items():
        if progress is not None:
            progress(name)
        eyes = Twin(encoder, envs, parts, usual) if parts else encoder
        result = evaluate(envs, eyes, agent, space, subgoals, episodes=episodes, seed=seed)
        if not parts:
            before = result.distance
        gain = before - result.distance
        error = float(gain.std(ddof=1) / np.sqrt(episodes)) if episodes > 1 else 0.0
        table[name] = {**result.summary(), "gain": float(gain.mean()), "gain_error": error}
    envs.close()
    return table
