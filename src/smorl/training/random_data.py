"""What a run reads off its first, random steps, before it learns."""

from __future__ import annotations

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.base import GoalSpace
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import FittedPrior, cluster_appearances
from smorl.training.settings import RunConfig
from smorl.types import ObjectLayout, ObjectSet


def fit_prior(objects: ObjectSet, clusters: int, seed: int) -> FittedPrior:
    """Fit p(where | what) to observations (E, T, N) (Alg. 2, line 3)."""
    what, position = objects.what[objects.present], objects.position[objects.present]
    return FittedPrior.fit(what, position, clusters, seed)


def needs_rest(config: RunConfig) -> list[str]:
    """Return the settings of the run that ask which objects rest."""
    asked = {
        "goals.disturbance_penalty": config.goals.disturbance_penalty,
        "goals.object_goal_bias": config.goals.object_goal_bias,
        "networks.body": config.networks.body,
        "gentle": config.gentle is not None,
        "dynamics": config.dynamics is not None,
    }
    return [name for name, value in asked.items() if value]


def check_rest(config: RunConfig, layout: ObjectLayout) -> None:
    """Raise if something asks which objects rest, and the method sees none."""
    asked = needs_rest(config)
    if asked and not layout.what:
        raise InvalidInput(
            f"{', '.join(asked)} ask which objects rest, and method {config.method} sees one "
            "vector instead of objects; start from a preset of the method, or switch them off."
        )


def fit_rest(
    objects: ObjectSet, space: GoalSpace, seed: int, still: float
) -> StillnessModel | None:
    """Fit how often each appearance moves less than `still` under random actions.

    None where nothing was ever detected: then nothing can be disturbed.
    """
    if not objects.present.any():
        return None
    if isinstance(space.prior, FittedPrior):
        centres = space.prior.centres
    else:
        what = objects.what[objects.present]
        clusters = min(objects.layout.slots, len(np.unique(what, axis=0)))
        centres, _ = cluster_appearances(what, clusters, seed)
    return StillnessModel.fit(centres, objects, still, space.threshold)
