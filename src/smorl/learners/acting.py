"""Agents over object sets: the learner seen from the collecting and evaluating side."""

from __future__ import annotations

import numpy as np
import torch

from smorl.devices import to_array, to_tensor
from smorl.learners.base import Learner
from smorl.learners.set_encoders import GoalAttention
from smorl.types import ObjectGoal, ObjectSet


class LearnedAgent:
    """Acts with a learner's policy; NumPy in, NumPy out."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def act(
        self, objects: ObjectSet, goal: ObjectGoal, noise: np.ndarray | None = None
    ) -> np.ndarray:
        """Return actions (K, A): a sample when `noise` ~ N(0, 1) is given, else the mode."""
        noisy = None if noise is None else to_tensor(noise, self.learner.inputs.device)
        return to_array(self.learner.act(*self._tensors(objects, goal), noisy))

    def act_best(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return the best (K, A) of several actions near the mode, by the critics' judgement.

        Of a learner that cannot tell it is the mode.
        """
        best = getattr(self.learner, "act_best", self.learner.act)
        return to_array(best(*self._tensors(objects, goal)))

    def value(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return the critic's value of pursuing `goal`, (K,)."""
        return to_array(self.learner.value(*self._tensors(objects, goal)))

    def attention(self, objects: ObjectSet, goal: ObjectGoal) -> dict[str, np.ndarray]:
        """Return the policy's attention weights by kind of head, each (K, heads, N).

        "conditional" heads are asked by the goal, "unconditional" ones by learned queries. Every
        head's weights sum to 1 over the present objects, and are 0 for absent ones. A policy
        without attention has none.
        """
        policy = getattr(self.learner, "policy", None)
        torso = getattr(getattr(policy, "net", None), "torso", None)
        if not isinstance(torso, GoalAttention):
            return {}
        seen = self.learner.inputs(*self._tensors(objects, goal))
        found = torso.attention(seen.objects, seen.present, seen.goal)
        shown = seen.present[:, None]
        # One policy, so one member; each query of each head is a row of its own.
        return {name: to_array(w[0].flatten(1, 2) * shown) for name, w in found.items()}

    def _tensors(
        self, objects: ObjectSet, goal: ObjectGoal
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        device, layout = self.learner.inputs.device, objects.layout
        return (
            to_tensor(objects.features(), device),
            to_tensor(objects.present, device),
            to_tensor(goal.features(layout), device),
        )


class PassiveAgent:
    """Does nothing: the dotted line of the paper's figures."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def act(
        self, objects: ObjectSet, goal: ObjectGoal, noise: np.ndarray | None = None
    ) -> np.ndarray:
        """Return zero actions (K, A)."""
        return np.zeros((len(objects.present), self.actions), np.float32)

    def act_best(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return zero actions: none is better."""
        return self.act(objects, goal)

    def value(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return zero: no goal looks better than another."""
        return np.zeros(len(objects.present), np.float32)

    def attention(self, objects: ObjectSet, goal: ObjectGoal) -> dict[str, np.ndarray]:
        """Return nothing: it looks at nothing."""
        return {}
