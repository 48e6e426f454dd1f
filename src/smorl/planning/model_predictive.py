"""Look ahead before acting: model-predictive control around the policy (docs/planning.md).

Action sequences are sampled from the policy in imagined futures, and a few slow, held ones are
added. Each is scored by the goal space's reward of the current sub-goal, by what it does to the
objects of all other sub-goals, and by the critic's value where it ends. The actor carries out the
first action of the best, or of a weighted mean of the good ones (MPPI), and looks again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from smorl.devices import CPU, to_array, to_tensor
from smorl.dynamics.base import Bodies, Dynamics, View
from smorl.planning.base import Situation
from smorl.planning.gentle import GentleContact
from smorl.planning.imagined import Slow, Task
from smorl.ranges import within
from smorl.types import ObjectLayout

_HELD = 0.2  # share of the sequences that hold one random action
_SLOW = 0.6  # the largest of these
_SHOWN = 8  # sequences that `tracks` tells of


@dataclass(frozen=True)
class PlanConfig:
    """How far and how widely an agent looks ahead."""

    horizon: int = 3  # steps
    samples: int = 16  # action sequences, for each refinement again
    refinements: int = 1  # how often the best sequences are varied and scored again
    # 0 takes the first action of the best sequence, more averages over those whose scores differ by
    # less than about this (units of the scaled reward).
    temperature: float = 0.0
    noise: float = 1.0  # of the sampled sequences, in standard deviations of the policy
    # The price of disturbing other objects: how much farther they get from their goals (those
    # without a goal: how far they move) counts so many times the current object's distance.
    keep: float = 10.0
    value: bool = True  # add the critic's value at the end

    def __post_init__(self) -> None:
        within(self, {
            "horizon": (1, 1000), "samples": (2, 10**5), "refinements": (0, 1000),
            "temperature": (0, 1e6), "noise": (0, 1e3), "keep": (0, 1e6),
        })  # fmt: skip


class Learned(Protocol):
    """What planning needs of a learner, on features (B, N, F), present (B, N) and goals (B, F)."""

    def act(
        self, objects: Tensor, present: Tensor, goal: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Return actions (B, A): sampled with `noise` ~ N(0, 1), the mode without."""
        ...

    def value(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return how well the goal can be reached from here, (B,)."""
        ...


class PlanController:
    """Imagines what sequences of actions lead to, and takes the first action of the best."""

    def __init__(
        self,
        learned: Learned,
        dynamics: Dynamics,
        view: View,
        layout: ObjectLayout,
        config: PlanConfig,
        *,
        actions: int,
        discount: float,
        reward_scale: float = 1.0,
        device: torch.device = CPU,
    ) -> None:
        """`view` says how the model sees sets and what becomes of actions near objects.

        `discount` and `reward_scale` are those of the learner's values; `device` is where learner
        and model compute.
        """
        self.learned, self.dynamics, self.view = learned, dynamics, view
        self.config, self.actions, self.device = config, actions, device
        self.discount, self.reward_scale = discount, reward_scale
        self.slow = Slow(view.execute, device) if isinstance(view.execute, GentleContact) else None
        first = layout.what
        self.position = slice(first, first + layout.position)
        self.motion = slice(layout.features - layout.motion, layout.features)
        # What was imagined last, for who wants to draw it: ways (K, W, 2, H + 1, P) of the hand and
        # of the object it wants to move in the W best sequences, the best first, from where they
        # are now. Rows whose sub-goal matches nothing are NaN; None: nobody imagined anything.
        self.tracks: np.ndarray | None = None

    @torch.no_grad()
    def act(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        """Return the first actions (K, A) of the best sequences.

        Where the current sub-goal matches nothing the policy acts: nobody knows what to move.
        """
        task = Task.of(situation, self.view, self.device)
        mode = self.learned.act(task.features, task.present, task.goal)
        self.tracks = None
        if not task.matched.any():
            return to_array(mode)
        many = task.repeat(self.config.samples)
        noise = self._noise(len(mode), mode.shape[1], rng)
        actions, score, ways = self._imagine(many, noise, None)
        for _ in range(self.config.refinements):
            varied = self._vary(actions, score, rng)
            more, better, others = self._imagine(many, noise, varied)
            actions = torch.cat([actions, more], 2)
            score, ways = torch.cat([score, better], 1), torch.cat([ways, others], 1)
        self.tracks = _best(ways, score, task.matched)
        return to_array(torch.where(task.matched[:, None], self._first(actions, score), mode))

    @torch.no_grad()
    def gains(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        """Return how much better than never moving again pursuing each sub-goal looks, (K, G).

        The score of the best sequence, which counts what happens to all objects, against staying
        away from the goal as far as now for ever. Sub-goals that match nothing gain nothing.
        """
        found = []
        for goal in range(situation.matched.shape[1]):
            current = np.full(len(situation.current), goal)
            task = Task.of(replace(situation, current=current), self.view, self.device)
            noise = self._noise(len(current), self.actions, rng)
            _, score, _ = self._imagine(task.repeat(self.config.samples), noise, None)
            rows = self._numbers(len(current))
            away = (task.bodies.position[rows, task.slot] - task.place).norm(dim=-1)
            idle = -self.reward_scale * away / (1 - self.discount)
            found.append((score.amax(1) - idle) * task.matched)
        return to_array(torch.stack(found, 1))

    def _numbers(self, count: int) -> Tensor:
        return torch.arange(count, device=self.device)

    def _noise(self, rows: int, size: int, rng: np.random.Generator) -> Tensor:
        """Noise (H, K, S, A); the first sequence follows the policy's mode."""
        shape = (self.config.horizon, rows, self.config.samples, size)
        noise = self.config.noise * rng.standard_normal(shape, np.float32)
        noise[:, :, 0] = 0
        return to_tensor(noise, self.device)

    def _imagine(
        self, task: Task, noise: Tensor, given: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions (H, K, S, A), scores (K, S) and ways of sequences, given or by the policy.

        Ways (K, S, 2, H + 1, P) are where hand and object go.
        """
        steps, rows, samples, size = noise.shape
        held = max(1, int(_HELD * samples))
        bodies, features, score, taken = task.bodies, task.features, noise.new_zeros(()), []
        row, pair = self._numbers(rows * samples)[:, None], torch.stack([bodies.hand, task.slot], 1)
        ways = [bodies.position[row, pair]]
        for step in range(steps):
            if given is None:
                flat = noise[step].reshape(rows * samples, size)
                action = self.learned.act(features, task.present, task.goal, flat)
                action = action.view(rows, samples, size)
                action[:, -held:] = _SLOW * torch.tanh(noise[0, :, -held:])
                action[:, 1] = 0  # doing nothing is a plan too
            else:
                action = given[step]
            taken.append(action)
            done = action.reshape(rows * samples, size)
            if self.slow is not None:
                done = self.slow(bodies, done)
            following = self.dynamics.predict(bodies, done)
            score = score + self.discount**step * self._reward(task, bodies, following)
            bodies, features = following, self._write(features, following)
            ways.append(bodies.position[row, pair])
        if self.config.value:
            end = self.learned.value(features, task.present, task.goal)
            score = score + self.discount**steps * end
        return (
            torch.stack(taken),
            score.view(rows, samples),
            torch.stack(ways, 2).view(rows, samples, 2, steps + 1, -1),
        )

    def _reward(self, task: Task, now: Bodies, following: Bodies) -> Tensor:
        """Eq. 7 of the following set, minus how much farther other objects are from their goals."""
        rows = self._numbers(len(task.slot))
        reward = -(following.position[rows, task.slot] - task.place).norm(dim=-1)
        step = (following.position - now.position).norm(dim=-1)
        away = (following.position - task.places).norm(dim=-1)
        away = away - (now.position - task.places).norm(dim=-1)
        # Objects without a goal should stay where they are.
        harm = torch.where(task.others, away, step * task.strangers)
        return self.reward_scale * (reward - self.config.keep * harm.sum(-1))

    def _vary(self, actions: Tensor, score: Tensor, rng: np.random.Generator) -> Tensor:
        """Return as many sequences around the best quarter, as spread as these (CEM)."""
        count = score.shape[1]
        best = score.topk(max(2, count // 4), 1).indices[None, :, :, None]
        elite = actions.gather(2, best.expand(len(actions), -1, -1, actions.shape[-1]))
        shape = (*actions.shape[:2], self.config.samples, actions.shape[-1])
        noise = to_tensor(rng.standard_normal(shape, np.float32), self.device)
        spread = elite.std(2, keepdim=True) + 0.05
        return (elite.mean(2, keepdim=True) + spread * noise).clamp(-1, 1)

    def _first(self, actions: Tensor, score: Tensor) -> Tensor:
        """Return the first action (K, A) of the best sequence, or the mean of the good ones."""
        if not self.config.temperature:
            return actions[0][self._numbers(len(score)), score.argmax(1)]
        weight = torch.softmax(score / self.config.temperature, 1)
        return (weight[..., None] * actions[0]).sum(1)

    def _write(self, features: Tensor, bodies: Bodies) -> Tensor:
        """Return features (R, N, F) with new places and motion."""
        features = features.clone()
        features[..., self.position] = bodies.position
        if self.motion.start < self.motion.stop:
            features[..., self.motion] = bodies.motion
        return features


def _best(ways: Tensor, score: Tensor, matched: Tensor) -> np.ndarray:
    """Return the ways (K, W, 2, H + 1, P) of the best sequences, NaN where nothing is `matched`."""
    best = score.topk(min(_SHOWN, score.shape[1]), 1).indices
    chosen = ways[torch.arange(len(ways), device=ways.device)[:, None], best]
    return to_array(chosen.masked_fill(~matched.view(-1, 1, 1, 1, 1), torch.nan))
