"""Evaluate an agent on fixed episodes (Alg. 3); the metric is the last puck distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from smorl.evaluation.goal_images import GoalCounts, matched_now, pucks_meant
from smorl.goals.space import GoalSpace
from smorl.planning.subgoals import SubgoalConfig, SubgoalCycle
from smorl.representations.base import Encoder
from smorl.types import ObjectGoal, ObjectSet


class Agent(Protocol):
    """What evaluation needs of an agent; all arrays lead with the number of rows."""

    def act(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return the deterministic actions (K, A)."""
        ...

    def value(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return how good each goal looks from here, (K,)."""
        ...


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

        goals_detected is per goal image, goals_matched a share of all objects detected in goal
        images, false_solved a share of all puck sub-goals considered solved (0 if there are none).
        """
        return {
            "object_distance": float(self.distance.mean()),
            "object_distance_std": float(self.distance.std()),
            "object_distance_median": float(np.median(self.distance)),
            "success": float(self.success.mean()),
            "pucks_within_5cm": float((self.distances < 0.05).mean()),
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
    encoder: Encoder,
    agent: Agent,
    space: GoalSpace,
    config: SubgoalConfig,
    *,
    episodes: int,
    seed: int,
    observer: Observer | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Run episodes seed, seed + 1, ...; the same seed is the same starts and goals for anyone.

    `envs` must have no step limit of its own (`max_episode_steps=None`): the cycle decides.
    """
    chunks = []
    for first in range(0, episodes, envs.num_envs):
        seeds = [seed + first + i for i in range(envs.num_envs)]
        keep = min(envs.num_envs, episodes - first)
        chunk = _Run(envs, encoder, agent, space, config, observer).play(seeds)
        chunks.append([getattr(chunk, f.name)[:keep] for f in fields(chunk)])
        if progress is not None:
            progress(first + keep)
    return Evaluation(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


@dataclass(frozen=True)
class _Run:
    """One episode in every row of `envs`."""

    envs: gym.vector.VectorEnv
    encoder: Encoder
    agent: Agent
    space: GoalSpace
    config: SubgoalConfig
    observer: Observer | None

    def play(self, seeds: list[int]) -> Evaluation:
        envs, encoder = self.envs, self.encoder
        observation, info = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
        still = np.zeros(envs.action_space.shape or (), np.float32)
        passive, distances = (np.array(info[k]) for k in ("object_distance", "object_distances"))
        targets = encoder.encode_goal(observation["desired_goal"])
        goals = targets.goals()
        counts = GoalCounts(targets, pucks_meant(targets, envs, info))
        carry, objects = encoder.step(encoder.init(len(seeds)), observation["observation"], still)
        matched = matched_now(objects, goals, self.space.threshold)
        solved = _solved(self.space, objects, goals)
        cycle = self._start(seeds, targets, self._priority(objects, goals, matched))
        counts.see(matched >= 0, np.ones(len(seeds), bool))
        rows, length = np.arange(len(seeds)), np.zeros(len(seeds), np.int64)
        while not cycle.finished.all():
            self._tell(carry, objects, targets, matched, solved, cycle)
            action = self.agent.act(objects, goals[rows, cycle.current])
            action[cycle.finished] = 0.0
            observation, _, _, truncated, info = envs.step(action)
            running = np.logical_not(cycle.finished)
            length += running
            # An episode's result is where it stopped, whatever happens to its row afterwards. Only
            # diverged physics truncates; the row then holds a new episode already.
            last = info["final_info"] if truncated.any() else info
            distances[running] = np.asarray(last["object_distances"])[running]
            cycle.finished |= truncated
            carry, objects = encoder.step(carry, observation["observation"], action)
            running &= ~truncated
            matched = matched_now(objects, goals, self.space.threshold)
            counts.see(matched >= 0, running)
            solved = np.where(running[:, None], _solved(self.space, objects, goals), solved)
            cycle.update(solved, self._priority(objects, goals, matched))
        self._tell(carry, objects, targets, matched, solved, cycle)
        return _result(passive, distances, solved, length, counts)

    def _start(
        self, seeds: list[int], targets: ObjectSet, priority: np.ndarray | None
    ) -> SubgoalCycle:
        """Return the cycle at its first sub-goal.

        Release: the first one is random. Drawn from the episode's seed, so it is fixed too.
        """
        if priority is None:
            size = targets.present.shape[1]
            priority = np.stack([np.random.default_rng(seed).random(size) for seed in seeds])
        first = np.where(targets.present, priority, -np.inf).argmax(1)
        return SubgoalCycle(self.config, targets.present, first)

    def _priority(
        self, objects: ObjectSet, goals: ObjectGoal, matched: np.ndarray
    ) -> np.ndarray | None:
        """Score every sub-goal (K, G), higher is tried first; None if they go in turn.

        A sub-goal that matches nothing now comes last: nobody knows what would have to be moved.
        """
        if self.config.order == "cycle":
            return None
        rows, count = goals.what.shape[:2]
        flat = goals.map(lambda array: array.reshape(rows * count, *array.shape[2:]))
        spread = objects.map(lambda array: np.repeat(array, count, 0))
        value = self.agent.value(spread, flat).reshape(rows, count)
        score = value if self.config.order == "easiest" else -value
        return np.where(matched >= 0, score, score.min() - 1)

    def _tell(self, carry, objects, targets, matched, solved, cycle: SubgoalCycle) -> None:
        if self.observer is None:
            return
        state = {"carry": carry, "objects": objects, "targets": targets, "matched": matched}
        state |= {"solved": solved, "current": cycle.current, "finished": cycle.finished.copy()}
        self.observer(state)


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


def _solved(space: GoalSpace, objects: ObjectSet, goals: ObjectGoal) -> np.ndarray:
    """Which of the G goals of each row are solved, (K, G)."""
    count = goals.what.shape[1]
    spread = objects.map(lambda array: np.repeat(array[:, None], count, 1))
    return space.solved(spread, goals)
