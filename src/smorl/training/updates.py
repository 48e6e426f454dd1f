"""The gradient steps of a round: of the learner, and of the model of objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import torch

from smorl.devices import to_tensor
from smorl.replay.relabel import sample_batches
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState

# Transitions relabelled together: enough to spread the cost of a call, and they fit the cache.
DRAWN_AT_ONCE = 4096


def learn(
    state: TrainState,
    config: RunConfig,
    updates: int,
    timed: Callable[[str], AbstractContextManager],
) -> dict[str, float]:
    """Make `updates` updates of the learner; return the means of what it reports."""
    device = state.learner.inputs.device
    rng, size, replay = state.streams["learn"], config.learner.batch_size, state.replay
    state.learner.set_progress(state.counters.env_steps / config.collect.total_steps)
    history: dict[str, list[torch.Tensor]] = {}
    rewards: list[np.ndarray] = []
    at_once = max(1, DRAWN_AT_ONCE // size)
    for done in range(0, updates, at_once):
        count = min(at_once, updates - done)
        with timed("relabel"):
            batches = sample_batches(
                replay.episodes, replay.size, size, count, state.space, config.relabel, rng
            )
            noises = rng.standard_normal((count, 2, size, state.spaces.actions), np.float32)
            rewards.extend(batch.reward for batch in batches)
        for batch, noise in zip(batches, noises, strict=True):
            batch = batch.map(lambda array: to_tensor(array, device))
            with timed("update"):
                info = state.learner.update(batch, to_tensor(noise, device))
            for name, value in info.items():
                history.setdefault(name, []).append(value)
    state.counters.updates += updates
    means = {name: float(torch.stack(values).mean()) for name, values in history.items()}
    return {**means, "reward/mean": float(np.mean(rewards))}


def foresee(state: TrainState, config: RunConfig, steps: int) -> dict[str, float]:
    """Fit the model of objects, if the run has one; before evaluations say how good it is."""
    foresight, counters = state.foresight, state.counters
    if foresight is None:
        return {}
    progress = counters.env_steps / config.collect.total_steps
    means = foresight.learn(state.replay, steps, progress)
    if progress >= 1 or counters.env_steps - counters.evaluated >= config.evaluation.every:
        means |= foresight.errors(state.replay)
    return means
