"""Evaluate an agent on fixed episodes (Alg. 3); the metric is the last puck distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.evaluation.goal_images import GoalCounts, pucks_meant
from smorl.planning.actor import Actor


@dataclass(frozen=True)
class Evaluation:
    """Per-episode results, arrays of length E. Distances in metres, from privileged positions.

    Where the environment tells no distances there is no outside judge: n is 0, `distance` and
    `passive` are NaN.

    An episode whose goal image shows nothing to the encoder has nothing to do: it takes 0 steps
    and its distance is the passive one.
    """

    distance: np.ndarray  # mean puck distance on the last step: the paper's metric
    distances: np.ndarray  # (E, n) per puck
    passive: np.ndarray  # the same at the start: what doing nothing would leave
    success: np.ndarray  # every puck within 5 cm
    solved: np.ndarray  # share of sub-goals the agent itself holds for solved at the end
    length: np.ndarray  # steps used
    detected: np.ndarray  # objects found in the goal image
    kept: np.ndarray  # of these: matching an object in the first and in every later frame
    held: np.ndarray  # sub-goals that mean a puck and are considered solved at the end
    mistaken: np.ndarray  # of these: whose puck is in truth farther than 5 cm from its goal

    def summary(self) -> dict[str, float | int | None]:
        """Return the numbers of the evaluation table.

        tables_within_4cm is the share of tables on which every puck is that near its goal.
        goals_detected is per goal image, goals_matched a share of all objects detected in goal
        images, false_solved a share of all puck sub-goals considered solved (0 if there are none).
        Without an outside judge what only it can know is None.
        """
        judged = self.distances.shape[1] > 0

        def known(function: Callable[[Any], Any], values: Any) -> float | None:
            return float(function(values)) if judged else None

        return {
            "object_distance": known(np.mean, self.distance),
            "object_distance_std": known(np.std, self.distance),
            "object_distance_median": known(np.median, self.distance),
            "success": known(np.mean, self.success),
            "pucks_within_5cm": known(np.mean, self.distances < 0.05),
            "tables_within_4cm": known(np.mean, (self.distances < 0.04).all(-1)),
            "subgoals_solved": float(self.solved.mean()),
            "goals_detected": float(self.detected.mean()),
            "goals_matched": float(self.kept.sum() / max(1, self.detected.sum())),
            "false_solved": known(lambda m: m.sum() / max(1, self.held.sum()), self.mistaken),
            "passive_distance": known(np.mean, self.passive),
            "mean_length": float(self.length.mean()),
            "episodes": len(self.distance),
        }

    def by_episode(self, seed: int) -> dict[str, Any]:
        """Return the distances [m] of every episode, with `seed` the seed of the first.

        Statistics over seeds and methods pair what was measured on the same episode.
        """
        return {
            "first_episode_seed": seed,
            "distances": [round(float(d), 5) for d in self.distance if np.isfinite(d)],
            "passive_distances": [round(float(d), 5) for d in self.passive if np.isfinite(d)],
        }


# Called with the state before every step and once at the end: carry, objects (K, N), the executed
# action (K, A) that led to them, targets (K, G), the slot matched by every target (K, G; -1: none),
# solved (K, G), current, finished, and the true distances (K, n), n = 0 if nobody knows them.
Observer = Callable[[dict[str, Any]], None]


def evaluate(
    envs: gym.vector.VectorEnv,
    actor: Actor,
    *,
    episodes: int,
    seed: int,
    observer: Observer | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Run episodes seed, seed + 1, ...; the same seed is the same starts and goals for anyone.

    `envs` must have no step limit of its own (`max_episode_steps=None`): the actor decides.
    """
    chunks = []
    for first in range(0, episodes, envs.num_envs):
        seeds = [seed + first + i for i in range(envs.num_envs)]
        keep = min(envs.num_envs, episodes - first)
        chunk = _play(envs, actor, seeds, observer)
        chunks.append([getattr(chunk, f.name)[:keep] for f in fields(chunk)])
        if progress is not None:
            progress(first + keep)
    return Evaluation(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def _play(
    envs: gym.vector.VectorEnv, actor: Actor, seeds: list[int], observer: Observer | None
) -> Evaluation:
    """Play one episode in every row of `envs`."""
    observation, info = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    distances = _judged(info, len(seeds))
    passive = distances.mean(1) if distances.size else np.full(len(seeds), np.nan)
    actor.reset(observation["desired_goal"], seeds)
    actor.observe(observation["observation"])
    counts = GoalCounts(actor.targets, pucks_meant(actor.targets, envs))
    counts.see(actor.matched >= 0, np.ones(len(seeds), bool))
    length = np.zeros(len(seeds), np.int64)
    while not actor.finished.all():
        _tell(actor, distances, observer)
        running = ~actor.finished
        observation, _, terminated, truncated, info = envs.step(actor.choose())
        ended = terminated | truncated
        length += running
        # An episode's result is where it stopped, whatever happens to its row afterwards. Ours
        # end only by diverged physics; the row then holds a new episode already.
        now = _judged(info, len(seeds))
        if ended.any():
            now[ended] = _judged(info["final_info"], len(seeds))[ended]
        distances[running] = now[running]
        actor.observe(observation["observation"], lost=ended)
        counts.see(actor.matched >= 0, running & ~ended)
    _tell(actor, distances, observer)
    return _result(passive, distances, actor.solved, length, counts)


def _judged(info: dict[str, Any], rows: int) -> np.ndarray:
    """Return the true distances (K, n) of an environment that tells them, else (K, 0)."""
    told = info.get("object_distances")
    return np.zeros((rows, 0)) if told is None else np.array(told, np.float64)


def _tell(actor: Actor, distances: np.ndarray, observer: Observer | None) -> None:
    if observer is not None:
        names = ("carry", "objects", "action", "targets", "matched", "solved", "current")
        state = {name: getattr(actor, name) for name in names}
        observer({**state, "finished": actor.finished.copy(), "distances": distances.copy()})


def _result(
    passive: np.ndarray,
    distances: np.ndarray,
    solved: np.ndarray,
    length: np.ndarray,
    counts: GoalCounts,
) -> Evaluation:
    present = counts.targets.present
    return Evaluation(
        distance=distances.mean(1) if distances.size else np.full(len(distances), np.nan),
        distances=distances,
        passive=passive,
        success=np.all(distances < 0.05, axis=1),
        solved=(solved & present).sum(1) / np.maximum(present.sum(1), 1),
        length=length,
        detected=present.sum(1),
        kept=counts.matched.sum(1),
        held=counts.held(solved).sum(1),
        mistaken=counts.mistaken(solved, distances).sum(1),
    )
