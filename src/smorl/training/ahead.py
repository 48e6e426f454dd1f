"""Rounds played elsewhere, one round ahead of the learner, without giving up exactness.

While the learner learns from round k, others play round k + 1 with the policy it had before: the
one after round k - 1. Which policy plays which round follows from the round's number alone, never
from who was faster; every part of a round has a random stream of its own; and a checkpoint waits
for the round in flight and keeps it. So a run that was cut repeats what an undisturbed one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from smorl.config import from_json
from smorl.envs.contract import spaces_of
from smorl.envs.factory import View, make_envs
from smorl.errors import InvalidInput
from smorl.methods import EncoderInputs
from smorl.plugins import trust_named
from smorl.representations.base import Perception
from smorl.runs.checkpoint import Checkpoint
from smorl.seeding import stream
from smorl.training.acting import make_explorer
from smorl.training.collector import collect, join
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState
from smorl.types import Episode, ObjectGoal, ObjectSet


@dataclass(frozen=True)
class Order:
    """A part of a round to play: with which agent, for which goals, by which random stream."""

    round: int
    part: int
    random: bool  # uniformly random actions, before anything was learned
    tensors: dict[str, torch.Tensor]
    arrays: dict[str, np.ndarray]


class Collectors(Protocol):
    """Who plays, a number of parts at a time."""

    def begin(self, orders: Sequence[Order]) -> None:
        """Start to play one part each; returns at once."""
        ...

    def finish(self) -> list[Episode]:
        """Wait for what was begun and return it, in the order of the parts."""
        ...


class RoundPlayer:
    """Plays parts of rounds: an environment and an agent of its own, told anew by every order."""

    def __init__(self, config: dict, rows: int, perception: Perception | None) -> None:
        # Whoever sends the settings has them in use, so that the user has been asked there.
        trust_named([config["method"], config["env"], config["learner"]["kind"]])
        # Whoever only plays does so on the processor: accelerators are for learning.
        self.config = replace(from_json(RunConfig, config), device="cpu")
        view = self.config.view
        if perception is not None:
            view = View(image_size=perception.image_size)
        self.envs = make_envs(
            self.config.env, rows, self.config.threads, goal_images=False, view=view
        )
        self.spaces = spaces_of(self.envs)
        inputs = EncoderInputs(self.spaces, perception=perception)
        self.state = TrainState.create(self.config, inputs, acting=True)
        torch.set_num_threads(self.config.threads)

    def play(self, order: Order) -> Episode:
        """Play one part; the same order always leads to the same episodes."""
        self.state.load_agent(Checkpoint(0, order.tensors, order.arrays, {}, Path()))
        rng = stream(self.config.seed, f"collect/{order.round}/{order.part}")
        act = make_explorer(self.state, self.config, rng, self.envs.num_envs, order.random)
        settings = self.config.collect
        return collect(
            self.envs, self.state.encoder, act, self.state.space, settings.horizon, rng,
            settings.goals_per_reset, execute=self.state.gentle,
        )  # fmt: skip


class Ahead:
    """Keeps one round in flight."""

    def __init__(self, config: RunConfig, collectors: Collectors) -> None:
        self._settings, self._collectors = config.collect, collectors
        self._flying = False
        self._landed: Episode | None = None  # waited for by a checkpoint

    def next_round(self, state: TrainState) -> Episode:
        """Return the episodes of the round that is due, and have the one after it begun."""
        counters = state.counters
        if self._landed is None and not self._flying:  # nothing was ahead of the very first
            self._begin(state, counters.rounds)
        episodes = self._land()
        self._landed = None
        steps = episodes.actions.shape[0] * episodes.actions.shape[1]
        if counters.env_steps + steps < self._settings.total_steps:
            self._begin(state, counters.rounds + 1)
        return episodes

    def save(self) -> dict[str, np.ndarray]:
        """Wait for the round in flight and return it for a checkpoint; empty if there is none."""
        if not self._flying and self._landed is None:
            return {}
        return {f"ahead/{name}": array for name, array in _named(self._land())}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore `save`."""
        if self._flying:
            self._land()
        self._landed = _episode(arrays) if arrays else None

    def _begin(self, state: TrainState, number: int) -> None:
        random = state.counters.env_steps < self._settings.initial_steps
        tensors, arrays = state.save_agent()
        tensors = {name: value.detach().cpu().clone() for name, value in tensors.items()}
        self._collectors.begin(
            [
                Order(number, part, random, tensors, arrays)
                for part in range(self._settings.collectors)
            ]
        )
        self._flying = True

    def _land(self) -> Episode:
        if self._landed is None:
            self._landed = join(self._collectors.finish())
            self._flying = False
        return self._landed


def open_ahead(config: RunConfig, collectors: Collectors | None) -> Ahead | None:
    """Return what the settings ask for; None if the run collects by itself."""
    number = config.collect.collectors
    if number and collectors is None:
        raise InvalidInput(
            f"collect.collectors = {number}, but nobody opened any; `smorl train --collectors "
            f"{number}` does, or leave the setting at 0."
        )
    return Ahead(config, collectors) if number and collectors is not None else None


def rows_of(config: RunConfig) -> int:
    """Return how many environments each collector has."""
    return config.collect.num_envs // config.collect.collectors


def _named(episodes: Episode) -> list[tuple[str, np.ndarray]]:
    parts = [(f"objects/{k}", v) for k, v in episodes.objects.arrays()]
    goals = [(f"goal/{k}", v) for k, v in episodes.goal.arrays()]
    return [*parts, *goals, ("actions", np.asarray(episodes.actions))]


def _episode(arrays: dict[str, np.ndarray]) -> Episode:
    objects, goal = (
        {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
        for start in ("objects/", "goal/")
    )
    return Episode(ObjectSet(**objects), arrays["actions"], ObjectGoal(**goal))
