"""The goal spaces: SMORL's matched object (Eq. 7), the tracked object, and the plain vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.base import GoalConfig, GoalSpace
from smorl.goals.matching import Match, match, match_id, take_goal, take_object
from smorl.goals.own_body import StillnessModel, disturbance
from smorl.goals.priors import Prior
from smorl.goals.rewards import place_reward
from smorl.types import ObjectGoal, ObjectLayout, ObjectSet


@dataclass(frozen=True)
class MatchedGoals:
    """SMORL's: a goal is an object, known by its appearance, at a place (Eq. 7)."""

    config: GoalConfig
    prior: Prior
    rest: StillnessModel | None = None  # known once random data has been seen

    @property
    def threshold(self) -> float:
        """The matching threshold, which must be known by now."""
        if self.config.match_threshold is None:
            raise InvalidInput("goals.match_threshold is not set, and no perception sets it.")
        return self.config.match_threshold

    def find(self, objects: ObjectSet, goal: ObjectGoal) -> Match:
        """Which object looks like the goal's?"""
        return match(objects, goal.what, self.threshold)

    def transition_reward(
        self, now: ObjectSet, following: ObjectSet, goal: ObjectGoal
    ) -> np.ndarray:
        """Eq. 7 of the following set, minus what was disturbed on the way there."""
        reward = self.reward(following, goal)
        if self.rest is None or not self.config.disturbance_penalty:
            return reward
        moved = disturbance(now, following, goal, self.rest, self.threshold)
        return reward - self.config.disturbance_penalty * moved

    def reward(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Eq. 7 for every set and goal, (...,)."""
        found = self.find(objects, goal)
        return place_reward(objects, goal, found, self.config.no_match_reward)

    def solved(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Is the matched object within the threshold of the goal's place? (...,) bool.

        Always by appearance: goals of a goal image have no ID in the episode.
        """
        found = match(objects, goal.what, self.threshold)
        place = take_object(objects.position, found.index)
        near = np.linalg.norm(place - goal.position, axis=-1) < self.config.solved_threshold
        return found.matched & near

    def achieved(self, objects: ObjectSet, goal: ObjectGoal) -> tuple[ObjectGoal, np.ndarray]:
        """Return the goal's object where it is now, as a goal, and where there is one (...,)."""
        found = self.find(objects, goal)
        return take_goal(objects, found.index), found.matched

    def imagine(self, goal: ObjectGoal, rng: np.random.Generator) -> ObjectGoal:
        """Keep the object (what, scale, id), draw a new place from p(where | what): (B, .)."""
        return replace(goal, position=self.prior.sample(goal.what, rng))

    def propose(self, objects: ObjectSet, rng: np.random.Generator) -> ObjectGoal:
        """Pick a random detected object of each first frame (B, N) and imagine it elsewhere.

        A frame in which nothing was detected yields the zero appearance, which matches nothing.
        """
        return self.imagine(self.pick(objects, rng), rng)

    def pick(self, objects: ObjectSet, rng: np.random.Generator) -> ObjectGoal:
        """Return one present object of each set (B, N) as a goal at its own place."""
        return pick_object(objects, self.lots(objects, rng))

    def lots(self, objects: ObjectSet, rng: np.random.Generator) -> np.ndarray:
        """Draw a number (B, N) per object; the smallest wins, as often as it should."""
        lots = rng.standard_exponential(objects.present.shape, np.float32)
        if self.rest is None or not self.config.object_goal_bias:
            return lots
        # The smallest of e / w is the i-th with probability w_i / sum w.
        return lots / (1 + self.config.object_goal_bias * self.rest.of(objects.what))

    def fitted(self, prior: Prior, rest: StillnessModel | None) -> Self:
        """Return the same with what was learned from data."""
        return replace(self, prior=prior, rest=rest)

    def judging(self, solved_threshold: float) -> Self:
        """Return the same with another idea of how near is near enough."""
        return replace(self, config=replace(self.config, solved_threshold=solved_threshold))


class TrackedGoals(MatchedGoals):
    """The paper's first try: training follows the goal's object by its tracker ID."""

    def find(self, objects: ObjectSet, goal: ObjectGoal) -> Match:
        """Which object has the goal's ID?"""
        return match_id(objects, goal.id)


class VectorGoals(MatchedGoals):
    """SAC+HER's and RIG's: the state is one vector without appearance, and so is a goal."""

    def find(self, objects: ObjectSet, goal: ObjectGoal) -> Match:
        """There is nothing to choose from."""
        there = objects.present[..., 0]
        return Match(np.zeros(there.shape, np.int64), np.where(there, 0.0, np.inf), there)


def make_goal_space(config: GoalConfig, prior: Prior, layout: ObjectLayout) -> GoalSpace:
    """Return the goal space for objects of that layout."""
    if (layout.slots, layout.what) == (1, 0):
        return VectorGoals(config, prior)
    return (TrackedGoals if config.reward == "tracking" else MatchedGoals)(config, prior)


def draw_object(takes_part: np.ndarray, lots: np.ndarray) -> np.ndarray:
    """Return the slot (B,) with the smallest of the `lots` (B, N) among those that take part."""
    return np.where(takes_part, lots, np.inf).argmin(-1)


def pick_object(objects: ObjectSet, lots: np.ndarray) -> ObjectGoal:
    """Return the present object with the smallest of the `lots` (B, N) of each set, as a goal."""
    goal = take_goal(objects, draw_object(objects.present, lots))
    empty = ~objects.present.any(-1)
    if not empty.any():
        return goal
    blank = goal.map(lambda array: np.where(empty.reshape(-1, *[1] * (array.ndim - 1)), 0, array))
    return replace(blank, id=np.where(empty, -1, goal.id))
