"""Collect whole episodes in lockstep: one environment step for all rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import gymnasium as gym
import numpy as np

from smorl.goals.base import GoalSpace
from smorl.representations.base import Encoder
from smorl.types import Episode, ObjectGoal, ObjectSet

Act = Callable[[ObjectSet, ObjectGoal], np.ndarray]
Execute = Callable[[ObjectSet, np.ndarray], np.ndarray]


def collect(
    envs: gym.vector.VectorEnv,
    encoder: Encoder,
    act: Act,
    space: GoalSpace,
    horizon: int,
    rng: np.random.Generator,
    goals_per_reset: int = 1,
    pictures: list[np.ndarray] | None = None,
    execute: Execute | None = None,
) -> Episode:
    """Run episodes of `horizon` steps in every row, each for a goal of its own (Alg. 2).

    Paper: every episode starts from a reset. With more `goals_per_reset` the next goal is tried
    from where the last attempt ended, as it is at evaluation; each attempt is an episode.

    A row that ends (its physics diverged, or the environment has a limit of its own) is reset by
    its environment; its episodes of this round are left out, because they end in another's start.

    `execute` turns an action into what is carried out, which the encoder is told; the episode keeps
    the action itself.

    `pictures` receives what was observed, one array (K, H + 1, ...) in the order of the result.

    Every round starts from fresh resets with seeds drawn from `rng`, so nothing but the random
    stream links one round to the next: a checkpoint between rounds needs no simulator state.
    """
    rows = envs.num_envs
    seeds = [int(s) for s in rng.integers(0, 2**31, rows)]
    envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    # Release: one step with zero action before the first observation lets the pucks settle.
    still = np.zeros(envs.action_space.shape or (), np.float32)
    observation = envs.step(still)[0]
    carry, objects = encoder.step(encoder.init(rows), observation["observation"], still)
    episodes, whole, seen = [], np.ones(rows, bool), []
    for _ in range(goals_per_reset):
        goal = space.propose(objects, rng)
        path, actions, frames = [objects], [], [observation["observation"]]
        for _ in range(horizon):
            action = act(objects, goal)
            done = action if execute is None else execute(objects, action)
            observation, _, terminated, truncated, _ = envs.step(done)
            whole &= ~(truncated | terminated)
            carry, objects = encoder.step(carry, observation["observation"], done)
            path.append(objects)
            actions.append(action)
            frames.append(observation["observation"])
        episodes.append(Episode(ObjectSet.stack(path), np.stack(actions, axis=1), goal))
        seen.append(frames)
    kept = slice(None) if whole.all() else np.tile(whole, goals_per_reset)
    if pictures is not None:
        pictures.append(np.concatenate([np.stack(frames, axis=1) for frames in seen])[kept])
    joined = join(episodes)
    return joined if whole.all() else joined[kept]


class Agent(Protocol):
    """Who acts, with noise of the shape of its actions."""

    def act(self, objects: ObjectSet, goal: ObjectGoal, noise: np.ndarray) -> np.ndarray: ...


def explorer(agent: Agent, rng: np.random.Generator, shape: tuple[int, int], random: bool) -> Act:
    """Return how to act while collecting: uniformly at random, or by the agent with noise."""

    def act(objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        if random:
            return rng.uniform(-1, 1, shape).astype(np.float32)
        return agent.act(objects, goal, rng.standard_normal(shape, np.float32))

    return act


def join(episodes: Sequence[Episode]) -> Episode:
    """Return all episodes as one."""
    return Episode(
        ObjectSet.join([e.objects for e in episodes]),
        np.concatenate([e.actions for e in episodes]),
        ObjectGoal.join([e.goal for e in episodes]),
    )
