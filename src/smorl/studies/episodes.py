"""Whole episodes, recorded step by step: what others need to learn from data.

A random policy or a trained agent plays fixed episodes; observations, executed actions, rewards and
what the simulator knows are kept as plain arrays. `studies.minari_data` writes them for Minari.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.planning.actor import Actor

ROWS = 16  # tables that are played at once
# What the simulator tells about a table; never part of an observation.
TOLD = ("hand", "objects", "goal_objects", "object_distances", "object_distance", "success")


@dataclass(frozen=True)
class Recorded:
    """One episode of T steps: `observations` and `infos` have T + 1 entries, the others T."""

    seed: int
    observations: dict[str, np.ndarray]
    actions: np.ndarray
    rewards: np.ndarray
    infos: dict[str, np.ndarray]


def record(
    envs: gym.vector.VectorEnv,
    actor: Actor | None,
    *,
    episodes: int,
    seed: int,
    steps: int,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Recorded]:
    """Play episodes seed, seed + 1, ... for at most `steps`; without an actor at random.

    `envs` must have no step limit of its own. An actor may end earlier, as at evaluation. Episodes
    that physics ends are left out, and their seeds with them.
    """
    for first in range(0, episodes, envs.num_envs):
        seeds = [seed + first + row for row in range(envs.num_envs)]
        kept = min(envs.num_envs, episodes - first)
        yield from _play(envs, actor, seeds, steps, kept)
        if progress is not None:
            progress(first + kept)


def _play(
    envs: gym.vector.VectorEnv, actor: Actor | None, seeds: list[int], steps: int, kept: int
) -> Iterator[Recorded]:
    observation, info = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    act = _random(envs, seeds) if actor is None else _acting(actor, observation, seeds)
    seen, told = [_observed(observation)], [_told(info)]
    actions, rewards = [], []
    lengths, lost = np.full(len(seeds), steps), np.zeros(len(seeds), bool)
    for step in range(steps):
        action, finished = act(observation)
        lengths = np.where(finished, np.minimum(lengths, step), lengths)
        if finished.all():
            break
        observation, reward, terminated, truncated, info = envs.step(action)
        lost |= (terminated | truncated) & (step < lengths)
        seen.append(_observed(observation))
        told.append(_told(info))
        actions.append(np.array(action, np.float32))
        rewards.append(np.array(reward, np.float64))
    for row in range(kept):
        length = int(lengths[row])
        if lost[row] or not length:
            continue
        yield Recorded(
            seeds[row],
            _row(seen[: length + 1], row),
            np.stack([action[row] for action in actions[:length]]),
            np.array([reward[row] for reward in rewards[:length]]),
            _row(told[: length + 1], row),
        )


Act = Callable[[Any], tuple[np.ndarray, np.ndarray]]


def _random(envs: gym.vector.VectorEnv, seeds: list[int]) -> Act:
    """Actions drawn evenly, by a stream of its own for every episode."""
    streams = [np.random.default_rng(seed) for seed in seeds]
    low, high = (getattr(envs.single_action_space, bound) for bound in ("low", "high"))
    nobody = np.zeros(len(seeds), bool)

    def act(_: Any) -> tuple[np.ndarray, np.ndarray]:
        drawn = np.stack([stream.uniform(low, high) for stream in streams])
        return drawn.astype(np.float32), nobody  # what is kept is what was done

    return act


def _acting(actor: Actor, observation: Any, seeds: list[int]) -> Act:
    actor.reset(observation["desired_goal"], seeds)

    def act(now: Any) -> tuple[np.ndarray, np.ndarray]:
        actor.observe(now["observation"])
        finished = actor.finished.copy()
        return actor.choose().copy(), finished

    return act


def _observed(observation: Any) -> dict[str, np.ndarray]:
    """Copy what is seen. A picture is its own achieved goal, which need not be kept twice."""
    visual = observation["observation"].ndim == 4
    names = [n for n in observation if not (visual and n == "achieved_goal")]
    return {name: np.array(observation[name]) for name in names}


def _told(info: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(info[name]) for name in TOLD if name in info}


def _row(steps: list[dict[str, np.ndarray]], row: int) -> dict[str, np.ndarray]:
    return {name: np.stack([step[name][row] for step in steps]) for name in steps[0]}
