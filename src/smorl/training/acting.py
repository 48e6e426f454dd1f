"""Who plays, by a run's settings and state: evaluation episodes, and rounds to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.base import GoalSpace
from smorl.goals.matching import match_goals
from smorl.learners.acting import LearnedAgent, PassiveAgent
from smorl.planning.actor import Actor
from smorl.planning.base import Controller, Situation
from smorl.planning.choosers import make_chooser
from smorl.planning.controllers import ControllerName, make_controller
from smorl.planning.model_predictive import PlanController
from smorl.representations.base import Encoder
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState
from smorl.types import ObjectGoal, ObjectSet

if TYPE_CHECKING:
    from smorl.training.collector import Act


def make_actor(
    state: TrainState,
    config: RunConfig,
    *,
    encoder: Encoder | None = None,
    controller: ControllerName | None = None,
    attempts: int | None = None,
) -> Actor:
    """Return who plays evaluation episodes, by the run's settings or by those given."""
    settings, agent = config.evaluation, state.agent(config)
    subgoals = settings.subgoals
    moves = _controller(state, config, controller or settings.controller, agent)
    planner = moves if isinstance(moves, PlanController) else None
    return Actor(
        state.encoder if encoder is None else encoder,
        agent,
        state.space.judging(settings.solved_threshold),
        subgoals if attempts is None else replace(subgoals, attempts=attempts),
        actions=state.spaces.actions,
        controller=moves,
        chooser=make_chooser(subgoals.order, agent, planner),
        gentle=state.gentle,
    )


def make_explorer(
    state: TrainState, config: RunConfig, rng: np.random.Generator, rows: int, random: bool
) -> Act:
    """Return how to act while collecting in so many rows.

    At random, or by the policy with noise; in the first rows by plans, as far as the run asks for
    it (`collect.planned`).
    """
    from smorl.training.collector import explorer  # here, because who only acts collects nothing

    act = explorer(state.agent(config), rng, (rows, state.spaces.actions), random)
    planned = round(config.collect.planned * rows)
    plan = None if random or not planned else _planner(state, config)
    if plan is None:
        return act

    def act_or_plan(objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        actions = act(objects, goal)
        situation = pursuing(objects[:planned], goal[:planned], state.space)
        return np.concatenate([plan.act(situation, rng), actions[planned:]])

    return act_or_plan


def pursuing(objects: ObjectSet, goal: ObjectGoal, space: GoalSpace) -> Situation:
    """Return the situation of rows that have one goal each, and no others."""
    one, rows = goal.map(lambda array: array[:, None]), np.zeros(len(goal.what), np.int64)
    depth, motion = (np.zeros((*one.what.shape[:2], 0), np.float32) for _ in range(2))
    present = np.ones(one.what.shape[:2], bool)
    targets = ObjectSet(one.what, one.position, one.scale, depth, present, one.id, motion)
    matched = match_goals(objects, one, space.threshold)
    return Situation(objects, targets, matched, np.zeros(present.shape, bool), rows)


def _controller(
    state: TrainState, config: RunConfig, name: ControllerName, agent: LearnedAgent | PassiveAgent
) -> Controller:
    if name != "plan":
        return make_controller(name, agent)
    if state.foresight is None:
        raise InvalidInput(
            "controller plan needs a model of objects, and this run has none; choose policy or "
            "critic, or train with a preset that has `dynamics`."
        )
    return _planner(state, config) or make_controller("critic", agent)


def _planner(state: TrainState, config: RunConfig) -> PlanController | None:
    """None: there is no model, or nothing was ever detected, so there is nothing to foresee."""
    if state.foresight is None or (view := state.foresight.view) is None:
        return None
    return PlanController(
        state.learner,
        state.foresight.model,
        view,
        state.encoder.layout,
        config.planning,
        actions=state.spaces.actions,
        discount=config.learner.discount,
        device=state.learner.inputs.device,
        reward_scale=getattr(config.learner, "reward_scale", 1.0),  # not every learner has one
    )
