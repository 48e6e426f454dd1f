"""Where a run's goals come from before it has seen anything itself."""

from __future__ import annotations

import numpy as np

from smorl.envs.rendering.cameras import get_camera, project_onto_table
from smorl.goals.base import GoalConfig
from smorl.goals.priors import EmpiricalPrior, NormalPrior, Prior, UniformPrior, from_arrays
from smorl.representations.base import Perception
from smorl.training.settings import RunConfig
from smorl.types import ObjectLayout

_CAMERA = "zoomed_in"  # the visual environments' own
_PLACES = 4000


def initial_prior(config: RunConfig, layout: ObjectLayout, perception: Perception | None) -> Prior:
    """Return the prior that goals are drawn from at first; some methods fit a better one later."""
    if config.latent is not None:
        # Skew-Fit has seen nothing to draw goals from yet.
        return NormalPrior.standard(layout.position)
    if perception is None:
        return uniform_prior(config.goals, layout)
    if config.goals.prior == "uniform":
        return projected_prior(config.goals)
    # Fitted to the encodings of the data that perception was trained on.
    return from_arrays(perception.prior)


def uniform_prior(goals: GoalConfig, layout: ObjectLayout) -> Prior:
    """Return the uniform prior of one object, repeated where the state is one long vector."""
    low, high = (np.asarray(b, np.float32) for b in (goals.low, goals.high))
    copies = layout.position // len(low)
    return UniformPrior(np.tile(low, copies), np.tile(high, copies))


def projected_prior(goals: GoalConfig) -> Prior:
    """Return the uniform prior over the goal box on the table, as the camera sees it.

    It knows the simulator, so it is no part of the method: what a fitted prior is
    measured against (docs/learner.md).
    """
    rng = np.random.default_rng(0)
    places = rng.uniform(goals.low, goals.high, (_PLACES, 2))
    seen = project_onto_table(places, get_camera(_CAMERA))
    return EmpiricalPrior.uniform(seen.astype(np.float32))
