"""What becomes of the objects of a goal image: found, matched, and solved in truth?

Evaluation asks for what the goal image shows, as the encoder sees it. These counts say how much
is lost before the policy has done anything wrong. They need privileged positions and are never
shown to an agent; on ground truth everything is found and matched.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from smorl.envs.contract import truth_of
from smorl.types import ObjectSet

FAR = 0.05  # metres from its goal beyond which a puck is not solved in truth


class GoalCounts:
    """Counts over K episodes with G sub-goals each.

    `matched` (K, G) marks objects of the goal image that match an object in the first frame and in
    every later frame of the episode so far, by Eq. 7's threshold.
    """

    def __init__(self, targets: ObjectSet, pucks: np.ndarray) -> None:
        """`pucks` (K, G) is the puck each goal object means, -1 if none; see `pucks_meant`."""
        self.targets, self.pucks = targets, pucks
        self.matched = np.array(targets.present, bool)

    def see(self, matched: np.ndarray, running: np.ndarray) -> None:
        """Account for one frame: which sub-goals match (K, G), in rows (K,) still running."""
        self.matched &= matched | ~running[:, None]

    def held(self, solved: np.ndarray) -> np.ndarray:
        """Sub-goals (K, G) that mean a puck and are considered solved."""
        return solved & self.targets.present & (self.pucks >= 0)

    def mistaken(self, solved: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Those of `held` whose puck is farther than FAR from its goal; `distances` is (K, n)."""
        if not distances.shape[1]:
            return np.zeros(solved.shape, bool)  # nobody knows
        away = np.take_along_axis(distances, np.maximum(self.pucks, 0), axis=1)
        return self.held(solved) & (away > FAR)


def pucks_meant(targets: ObjectSet, envs: gym.vector.VectorEnv) -> np.ndarray:
    """Return which puck each object (K, G) of a goal image means, -1 if none.

    It is the puck whose goal is nearest to the object, and near enough: for pictures at most 4
    pixels away, as in the evaluation of perception. The arm, false detections, whole states in one
    vector, and everything where nobody knows the truth mean none.
    """
    nobody, truth = np.full(np.shape(targets.present), -1), truth_of(envs)
    if truth is None or targets.position.shape[-1] != 2:
        return nobody
    offset = targets.position[:, :, None] - truth.goal_places()[:, None, :-1]
    # A goal behind the camera has no image.
    distance = np.nan_to_num(np.linalg.norm(offset, axis=-1), nan=np.inf)
    near = targets.present & (distance.min(-1) <= truth.tolerance)
    return np.where(near, distance.argmin(-1), nobody)
