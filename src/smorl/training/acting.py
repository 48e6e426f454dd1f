"""Who plays evaluation episodes of a run: its settings and its state as an `Actor`."""

from __future__ import annotations

from dataclasses import replace

from smorl.errors import InvalidInput
from smorl.learners.acting import LearnedAgent, PassiveAgent
from smorl.planning.actor import Actor
from smorl.planning.base import Controller
from smorl.planning.choosers import make_chooser
from smorl.planning.controllers import ControllerName, make_controller
from smorl.planning.model_predictive import PlanController
from smorl.representations.base import Encoder
from smorl.training.settings import RunConfig
from smorl.training.train_state import TrainState


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
    view = state.foresight.view
    if view is None:  # nothing was ever detected: there is nothing to foresee
        return make_controller("critic", agent)
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
