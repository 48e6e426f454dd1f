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

    def summary(self) -> dict[str, float | int]:
        """Return the numbers of the evaluation table.

        tables_within_4cm is the share of tables on which every puck is that near its goal.
        goals_detected is per goal image, goals_matched a share of all objects detected in goal
        images, false_solved a share of all puck sub-goals considered solved (0 if there are none).
        """
        return {
            "object_distance": float(self.distance.mean()),
            "object_distance_std": float(self.distance.std()),
            "object_distance_median": float(np.median(self.distance)),
            "success": float(self.success.mean()),
            "pucks_within_5cm": float((self.distances < 0.05).mean()),
            "tables_within_4cm": float((self.distances < 0.04).all(-1).mean()),
            "subgoals_solved": float(self.solved.mean()),
            "goals_detected": float(self.detected.mean()),
            "goals_matched": float(self.kept.sum() / max(1, self.detected.sum())),
            "false_solved": float(self.mistaken.sum() / max(1, self.held.sum())),
            "passive_distance": float(self.passive.mean()),
            "mean_length": float(self.length.mean()),
            "episodes": len(self.distance),
        }

    def by_episode(self, seed: int) -> dict[str, Any]:
        """Return the distances [m] of every episode, with `seed` the seed of the first.

        Statistics over seeds and methods pair what was measured on the same episode.
        """
        return {
            "first_episode_seed": seed,
            "distances": [round(float(d), 5) for d in self.distance],
            "passive_distances": [round(float(d), 5) for d in self.passive],
        }


# Called with the state before every step and once at the end: carry, objects (K, N), targets
# (K, G), the slot matched by every target (K, G; -1: none), solved (K, G), current and finished.
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
    passive, distances = (np.array(info[k]) for k in ("object_distance", "object_distances"))
    actor.reset(observation["desired_goal"], seeds)
    actor.observe(observation["observation"])
    counts = GoalCounts(actor.targets, pucks_meant(actor.targets, envs, info))
    counts.see(actor.matched >= 0, np.ones(len(seeds), bool))
    length = np.zeros(len(seeds), np.int64)
    while not actor.finished.all():
        _tell(actor, observer)
        running = ~actor.finished
        observation, _, _, truncated, info = envs.step(actor.choose())
        length += running
        # An episode's result is where it stopped, whatever happens to its row afterwards. Only
        # diverged physics truncates; the row then holds a new episode already.
        last = info["final_info"] if truncated.any() else info
        distances[running] = np.asarray(last["object_distances"])[running]
        actor.observe(observation["observation"], lost=truncated)
        counts.see(actor.matched >= 0, running & ~truncated)
    _tell(actor, observer)
    return _result(passive, distances, actor.solved, length, counts)


def _tell(actor: Actor, observer: Observer | None) -> None:
    if observer is not None:
        names = ("carry", "objects", "targets", "matched", "solved", "current")
        state = {name: getattr(actor, name) for name in names}
        observer({**state, "finished": actor.finished.copy()})


def _result(
    passive: np.ndarray,
    distances: np.ndarray,
    solved: np.ndarray,
    length: np.ndarray,
    counts: GoalCounts,
) -> Evaluation:
    present = counts.targets.present
    return Evaluation(
        distance=distances.mean(1),
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
