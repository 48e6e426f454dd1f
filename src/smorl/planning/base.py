"""The contracts of acting: agent, controller and chooser, and the situation they look at.

K is the number of tables that are played at once, N the slots of an object set, G the objects of
the goal image (sub-goals), A the length of an action.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from smorl.types import ObjectGoal, ObjectSet


@dataclass(frozen=True)
class Situation:
    """What is known when an action is due."""

    objects: ObjectSet  # (K, N, .) what is seen now
    targets: ObjectSet  # (K, G, .) what the goal image shows; absent slots are no sub-goals
    matched: np.ndarray  # (K, G) the slot of the object each sub-goal is about, -1: none
    solved: np.ndarray  # (K, G) sub-goals considered solved now
    current: np.ndarray  # (K,) the sub-goal pursued

    @property
    def goals(self) -> ObjectGoal:
        """Every sub-goal, (K, G, .)."""
        return self.targets.goals()

    @property
    def goal(self) -> ObjectGoal:
        """The current sub-goals, (K, .)."""
        return self.goals[np.arange(len(self.current)), self.current]


class Agent(Protocol):
    """What acting needs of whoever has learned; all arrays lead with the number of rows."""

    def act(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return the policy's deterministic actions (K, A)."""
        ...

    def value(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return how good each goal looks from here, (K,)."""
        ...


class Controller(Protocol):
    """Who moves: actions from the objects, the current sub-goal and all the others."""

    def act(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        """Return actions (K, A) in [-1, 1]; whatever is random comes from `rng`."""
        ...


class Chooser(Protocol):
    """Which sub-goal is tried next."""

    def scores(self, situation: Situation) -> np.ndarray | None:
        """Score every sub-goal (K, G), the highest open one is tried; None: in turn (Alg. 3).

        `situation.current` means nothing before the first choice.
        """
        ...
