"""What a run reads off its first, random steps, before it learns."""

from __future__ import annotations

import numpy as np

from smorl.goals.base import GoalSpace
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import FittedPrior, cluster_appearances
from smorl.training.settings import RunConfig
from smorl.types import ObjectSet


def fit_prior(objects: ObjectSet, clusters: int, seed: int) -> FittedPrior:
    """Fit p(where | what) to observations (E, T, N) (Alg. 2, line 3)."""
    what, position = objects.what[objects.present], objects.position[objects.present]
    return FittedPrior.fit(what, position, clusters, seed)


def needs_rest(config: RunConfig) -> bool:
    """Say whether something in the run asks which objects rest."""
    goals = config.goals
    asked = goals.disturbance_penalty or goals.object_goal_bias or config.networks.body
    return bool(asked or config.gentle is not None or config.dynamics is not None)


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
