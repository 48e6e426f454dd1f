"""How long a run will take, said before it starts, and where each of its stages lies in it.

The costs were measured on one core of an ordinary two-core machine (`smorl bench loop`,
`smorl bench perception`, and the timings of runs); they are there to tell ten minutes from ten
hours. While a run goes on, its progress corrects them by what it measures.
"""

from __future__ import annotations

from smorl.methods import get_method
from smorl.representations.pretraining import PerceptionConfig
from smorl.runs.progress import Stage
from smorl.training.settings import RunConfig

# Seconds of one core.
_STATE_STEP, _VISUAL_STEP = 0.6e-3, 2.0e-3  # one environment step, with perception and policy
_UPDATE, _UPDATE_ROW = 0.3e-3, 0.0162e-3  # relabelling and a gradient step: constant, per row
_FIT = 4.0e-3  # one gradient step of the model of objects
_PLAN = 1.9  # how many times as long an evaluation step with a plan takes


def cost_estimate(config: RunConfig, perception: PerceptionConfig | None) -> list[Stage]:
    """Return the stages of a run; `perception` is what it trains first, if anything.

    Empty for methods nobody has measured.
    """
    method = get_method(config.method)
    if not method.learns or method.trains_vae:
        return []
    agent = _agent_seconds(config, method.needs_perception)
    if perception is None:
        return [Stage("agent", agent)]
    first = perception.seconds
    return [Stage("perception", first, after=agent), Stage("agent", agent, before=first)]


def announce(stages: list[Stage]) -> str:
    """Say how long it takes in all, and what of it is what."""
    if stages[0].whole < 60:
        return "This takes less than a minute."
    parts = ", ".join(f"{stage.name} {_minutes(stage.own)}" for stage in stages)
    whole = f"This takes about {_minutes(stages[0].whole)} on one core"
    return f"{whole}: {parts}." if len(stages) > 1 else f"{whole}."


def _agent_seconds(config: RunConfig, pixels: bool) -> float:
    collect, evaluation = config.collect, config.evaluation
    step = _VISUAL_STEP if pixels else _STATE_STEP
    learning = max(0, collect.total_steps - collect.initial_steps)
    update = _UPDATE + _UPDATE_ROW * config.learner.batch_size
    between = max(0, (collect.total_steps - 1) // evaluation.every)
    judged = between * evaluation.episodes + evaluation.final_episodes
    fits = 0.0 if config.dynamics is None else learning * config.dynamics.updates_per_step
    look = _PLAN if evaluation.controller == "plan" else 1.0
    return (
        collect.total_steps * step
        + learning * collect.updates_per_step * update
        + fits * _FIT
        + judged * evaluation.subgoals.steps * step * look
    )


def _minutes(seconds: float) -> str:
    if seconds >= 100 * 60:
        return f"{seconds / 3600:.0f} hours"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
