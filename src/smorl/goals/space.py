"""The goal space: what a goal is, when it is reached, and which ones to try next.

One class serves every method: with appearance it is SMORL's matched-object space (Eq. 7); with
zero appearance dimensions it is the plain distance between vectors of SAC+HER and RIG.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import lt
from typing import Literal

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.matching import Match, match, match_id, take_goal, take_object
from smorl.goals.own_body import StillnessModel, disturbance
from smorl.goals.priors import Prior
from smorl.goals.rewards import place_reward
from smorl.ranges import require, within
from smorl.types import ObjectGoal, ObjectSet


@dataclass(frozen=True)
class GoalConfig:
    """Thresholds in the units of the positions (metres on ground truth)."""

    # alpha of Eq. 7, in appearance space; None: the one perception chose from its data.
    match_threshold: float | None = 0.5
    no_match_reward: float = -0.5  # r_no_goal of Eq. 7
    # How training finds the goal's object: by appearance (Eq. 7), or by its tracker ID, which the
    # paper tried first and found exploited (docs/learner.md).
    reward: Literal["matching", "tracking"] = "matching"
    solved_threshold: float = 0.05  # how near counts as solved
    # Where goals come from: the box below, or what was seen.
    prior: Literal["uniform", "fitted"] = "uniform"
    # Ours, off in the paper presets: what moving other objects by one metre costs, in metres.
    disturbance_penalty: float = 0.0
    # Ours, off in the paper presets: an object that always rests under random actions is practised
    # 1 + object_goal_bias times as often as the agent's own body, which never does.
    object_goal_bias: float = 0.0
    # The uniform prior's box for one object. Release: the environments' goal box.
    low: tuple[float, ...] = (-0.2, 0.45)
    high: tuple[float, ...] = (0.2, 0.7)  # the box's other corner

    def __post_init__(self) -> None:
        within(self, {
            "match_threshold": (0, 1e6), "no_match_reward": (-1e6, 0), "solved_threshold": (0, 1e6),
            "disturbance_penalty": (0, 1e6), "object_goal_bias": (0, 1e6), "low": (-1e3, 1e3),
            "high": (-1e3, 1e3),
        })  # fmt: skip
        ordered = len(self.low) == len(self.high) and all(map(lt, self.low, self.high))
        require(self, {
            "low": (len(self.low) >= 1, "one number for each coordinate, e.g. x and y"),
            "high": (ordered, f"as many numbers as low, {self.low}, and above these"),
        })  # fmt: skip


@dataclass(frozen=True)
class GoalSpace:
    """Reward, achieved goals, imagined goals and the solved test over sets of objects."""

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
        """Which object is the goal's, for reward and relabelling? See `GoalConfig.reward`."""
        if self.config.reward == "tracking":
            return match_id(objects, goal.id)
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
