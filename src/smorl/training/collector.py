"""Collect whole episodes in lockstep: one environment step for all rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np

from smorl.goals.spaces import GoalSpace
from smorl.perception.encoder import Encoder
from smorl.types import Episode, ObjectGoal, ObjectSet

Act = Callable[[ObjectSet, ObjectGoal], np.ndarray]


def collect(
    envs: gym.vector.VectorEnv,
    encoder: Encoder,
    act: Act,
    space: GoalSpace,
    horizon: int,
    rng: np.random.Generator,
) -> Episode:
    """Run one episode of `horizon` steps in every row, each for a goal of its own (Alg. 2).

    Every round starts from fresh resets with seeds drawn from `rng`, so nothing but the random
    stream links one round to the next: a checkpoint between rounds needs no simulator state.
    """
    rows = envs.num_envs
    seeds = [int(s) for s in rng.integers(0, 2**31, rows)]
    observation, _ = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    # Release: one step with zero action before the first observation lets the pucks settle.
    still = np.zeros(envs.action_space.shape or (), np.float32)
    observation = envs.step(still)[0]
    carry, objects = encoder.step(encoder.init(rows), observation["observation"], still)
    goal = space.propose(objects, rng)
    path, actions = [objects], []
    for _ in range(horizon):
        action = act(objects, goal)
        observation = envs.step(action)[0]
        carry, objects = encoder.step(carry, observation["observation"], action)
        path.append(objects)
        actions.append(action)
    fields = {
        name: np.stack([getattr(objects, name) for objects in path], axis=1)
        for name, _ in objects.arrays()
    }
    return Episode(ObjectSet(**fields), np.stack(actions, axis=1), goal)
