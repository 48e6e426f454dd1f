"""Which sub-goal next: in turn as in the paper, or by the critic's value."""

from __future__ import annotations

import numpy as np

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


def goal_values(agent: Agent, situation: Situation) -> np.ndarray:
    """Return the agent's value of every sub-goal from where things are, (K, G)."""
    goals = situation.goals
    rows, count = goals.what.shape[:2]
    flat = goals.map(lambda array: array.reshape(rows * count, *array.shape[2:]))
    spread = situation.objects.map(lambda array: np.repeat(array, count, 0))
    return agent.value(spread, flat).reshape(rows, count)


def make_chooser(order: Order, agent: Agent) -> Chooser:
    """Return the chooser a setting names."""
    return InTurn() if order == "cycle" else ByValue(agent, hardest=order == "hardest")
