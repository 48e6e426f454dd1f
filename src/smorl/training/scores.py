"""How a run is judged: the columns of its evaluation table, and its rollouts by its own reward."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from smorl.errors import DamagedFile
from smorl.files import read_bytes
from smorl.formats import parse_json
from smorl.goals.base import GoalSpace
from smorl.types import Episode

EVALUATION_COLUMNS = (
    "env_steps",
    "updates",
    "object_distance",
    "object_distance_std",
    "object_distance_median",
    "success",
    "pucks_within_5cm",
    "tables_within_4cm",
    "subgoals_solved",
    "goals_detected",
    "goals_matched",
    "false_solved",
    "passive_distance",
    "mean_length",
    "episodes",
)
MAX_EVALUATION_ROWS = 50


def rollout_rewards(space: GoalSpace, episodes: Episode) -> dict[str, float]:
    """How the exploring policy itself fared, by the agent's own reward (unscaled)."""
    last = space.reward(episodes.objects[:, -1], episodes.goal)
    first = space.reward(episodes.objects[:, 0], episodes.goal)
    return {
        "rollout/first_reward": float(first.mean()),
        "rollout/last_reward": float(last.mean()),
    }


def rewards_over_training(metrics: Path, points: int = 20) -> dict[str, list[float]]:
    """Return what rollouts were paid on their last step, from a run's own `metrics.jsonl`.

    The rows of the run make up to `points` groups in their order; each has its last step count and
    its mean reward.
    """
    rows = []
    for number, line in enumerate(read_bytes(metrics).splitlines(), 1):
        try:
            row = parse_json(line)
            rows.append((float(row["env_steps"]), float(row["rollout/last_reward"])))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFile(
                f"{metrics}: line {number} is no row with env_steps and rollout/last_reward; "
                f"resume the run, or take another."
            ) from error
    groups = np.array_split(np.array(rows), min(points, len(rows))) if rows else []
    return {
        "env_steps": [float(group[-1, 0]) for group in groups],
        "paid": [float(group[:, 1].mean()) for group in groups],
    }


def divergence(means: dict[str, float]) -> str | None:
    """Say which mean of a round's updates has gone wrong, if one has."""
    bad = [name for name, value in means.items() if not math.isfinite(value)]
    if not bad and abs(means["critic/q"]) <= 1e6:
        return None
    return f"{', '.join(bad) or 'critic/q'} is {means[bad[0]] if bad else means['critic/q']}"
