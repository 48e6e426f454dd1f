"""Which sub-goal next: in turn as in the paper, by the critic's value, or by predicted gain."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from smorl.errors import InvalidInput
from smorl.planning.base import Agent, Chooser, Situation
from smorl.planning.subgoals import Order


class InTurn:
    """Alg. 3: one after the other, from a random first one."""

    def scores(self, situation: Situation) -> None:
        """There is nothing to score."""


class ByValue:
    """The sub-goal the critic holds for the hardest, or the easiest, comes first.

    A sub-goal that matches nothing now comes last: nobody knows what would have to be moved.
    """

    def __init__(self, agent: Agent, hardest: bool = True) -> None:
        self.agent, self.hardest = agent, hardest

    def scores(self, situation: Situation) -> np.ndarray:
        value = goal_values(self.agent, situation)
        score = -value if self.hardest else value
        return np.where(situation.matched >= 0, score, score.min() - 1)


class Planner(Protocol):
    """Whoever can tell what pursuing a sub-goal would bring."""

    def gains(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        """Return the predicted gain over all objects of pursuing each sub-goal, (K, G)."""
        ...


class ByGain:
    """The sub-goal from which a plan expects most comes first, over all objects.

    What would do more harm than good has a negative gain, and comes last.
    """

    def __init__(self, planner: Planner) -> None:
        self.planner = planner

    def scores(self, situation: Situation) -> np.ndarray:
        # The same futures are imagined at every choice, so choosing draws nothing at random.
        gain = self.planner.gains(situation, np.random.default_rng(0))
        return np.where(situation.matched >= 0, gain, gain.min() - 1)


def goal_values(agent: Agent, situation: Situation) -> np.ndarray:
    """Return the agent's value of every sub-goal from where things are, (K, G)."""
    goals = situation.goals
    rows, count = goals.what.shape[:2]
    flat = goals.map(lambda array: array.reshape(rows * count, *array.shape[2:]))
    spread = situation.objects.map(lambda array: np.repeat(array, count, 0))
    return agent.value(spread, flat).reshape(rows, count)


def make_chooser(order: Order, agent: Agent, planner: Planner | None = None) -> Chooser:
    """Return the chooser a setting names."""
    if order == "gain":
        if planner is None:
            raise InvalidInput(
                "subgoals.order gain needs a plan: set --controller plan, or choose cycle, easiest "
                "or hardest."
            )
        return ByGain(planner)
    return InTurn() if order == "cycle" else ByValue(agent, hardest=order == "hardest")
