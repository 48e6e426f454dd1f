"""Evaluate an agent on fixed episodes (Alg. 3); the metric is the last puck distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import gymnasium as gym
import numpy as np

from smorl.evaluation.subgoals import SubgoalConfig, SubgoalCycle
from smorl.goals.spaces import GoalSpace
from smorl.perception.encoder import Encoder
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
    """Per-episode results, arrays of length E. Distances in metres, from privileged positions."""

    distance: np.ndarray  # mean puck distance on the last step: the paper's metric
    distances: np.ndarray  # (E, n) per puck
    passive: np.ndarray  # the same at the start: what doing nothing would leave
    success: np.ndarray  # every puck within 5 cm
    solved: np.ndarray  # share of sub-goals the agent itself holds for solved at the end
    length: np.ndarray  # steps used

    def summary(self) -> dict[str, float | int]:
        """Return the numbers of the evaluation table."""
        return {
            "object_distance": float(self.distance.mean()),
            "object_distance_std": float(self.distance.std()),
            "object_distance_median": float(np.median(self.distance)),
            "success": float(self.success.mean()),
            "pucks_within_5cm": float((self.distances < 0.05).mean()),
            "subgoals_solved": float(self.solved.mean()),
            "passive_distance": float(self.passive.mean()),
            "mean_length": float(self.length.mean()),
            "episodes": len(self.distance),
        }


Observer = Callable[[dict[str, np.ndarray]], None]


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
        chunk = _run(envs, encoder, agent, space, config, seeds, observer)
        chunks.append([np.asarray(array)[:keep] for array in chunk])
        if progress is not None:
            progress(first + keep)
    return Evaluation(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def _run(
    envs: gym.vector.VectorEnv,
    encoder: Encoder,
    agent: Agent,
    space: GoalSpace,
    config: SubgoalConfig,
    seeds: list[int],
    observer: Observer | None,
) -> tuple[np.ndarray, ...]:
    count = envs.num_envs
    observation, info = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    still = np.zeros(envs.action_space.shape or (), np.float32)
    passive = np.array(info["object_distance"])
    targets = encoder.encode_goal(observation["desired_goal"])
    goals = targets.goals()
    carry, objects = encoder.step(encoder.init(count), observation["observation"], still)
    # Release: the first sub-goal is random. Drawn from the episode's seed, so it is fixed too.
    score = np.stack([np.random.default_rng(s).random(targets.present.shape[1]) for s in seeds])
    cycle = SubgoalCycle(config, targets.present, np.where(targets.present, score, -1).argmax(1))
    if config.order != "cycle":
        priority = _priority(config, agent, objects, goals)
        cycle.current = np.where(targets.present, priority, -np.inf).argmax(1)
    rows, length = np.arange(count), np.zeros(count, np.int64)
    distances = np.array(info["object_distances"])
    solved = _solved(space, objects, goals)
    while not cycle.finished.all():
        goal = goals[rows, cycle.current]
        action = agent.act(objects, goal)
        action[cycle.finished] = 0.0
        if observer is not None:
            observer({"current": cycle.current, "finished": cycle.finished, "solved": solved})
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
        solved = np.where(running[:, None], _solved(space, objects, goals), solved)
        priority = None if config.order == "cycle" else _priority(config, agent, objects, goals)
        cycle.update(solved, priority)
    share = (solved & targets.present).sum(1) / np.maximum(targets.present.sum(1), 1)
    success = np.all(distances < 0.05, axis=1)
    return distances.mean(1), distances, passive, success, share, length


def _solved(space: GoalSpace, objects: ObjectSet, goals: ObjectGoal) -> np.ndarray:
    """Which of the G goals of each row are solved, (K, G)."""
    count = goals.what.shape[1]
    spread = objects.map(lambda array: np.repeat(array[:, None], count, 1))
    return space.solved(spread, goals)


def _priority(
    config: SubgoalConfig, agent: Agent, objects: ObjectSet, goals: ObjectGoal
) -> np.ndarray:
    """Score every sub-goal (K, G); higher is tried first."""
    rows, count = goals.what.shape[:2]
    flat = goals.map(lambda array: array.reshape(rows * count, *array.shape[2:]))
    spread = objects.map(lambda array: np.repeat(array, count, 0))
    value = agent.value(spread, flat).reshape(rows, count)
    return value if config.order == "easiest" else -value
