"""Who moves: the policy alone, the policy with a look at the critic, or a plan."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from smorl.planning.base import Agent, Controller, Situation
from smorl.types import ObjectGoal, ObjectSet

ControllerName = Literal["policy", "critic", "plan"]


class CriticAgent(Agent, Protocol):
    """An agent whose critic can choose among actions."""

    def act_best(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Return the best (K, A) of several actions near the policy's mode, by the critic."""
        ...


class PolicyController:
    """The policy's mode, as in the paper."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def act(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        return self.agent.act(situation.objects, situation.goal)


class CriticController:
    """The action the critic likes best among those near the policy's mode."""

    def __init__(self, agent: CriticAgent) -> None:
        self.agent = agent

    def act(self, situation: Situation, rng: np.random.Generator) -> np.ndarray:
        return self.agent.act_best(situation.objects, situation.goal)


def make_controller(name: Literal["policy", "critic"], agent: CriticAgent) -> Controller:
    """Return the controller a setting names; a plan needs more (`model_predictive`)."""
    return CriticController(agent) if name == "critic" else PolicyController(agent)
