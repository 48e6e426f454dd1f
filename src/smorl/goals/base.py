"""The goal space contract: what a goal is, when it is reached, and which ones to try next."""

from __future__ import annotations

from dataclasses import dataclass
from operator import lt
from typing import Literal, Protocol

import numpy as np

from smorl.goals.matching import Match
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import Prior
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
    # How near counts as solved; evaluation asks evaluation.solved_threshold instead.
    solved_threshold: float = 0.05
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


class GoalSpace(Protocol):
    """Functions of sets of objects (..., N) and goals (...,) with the same leading dimensions.

    A goal space is never changed: `fitted` and `judging` return another one.
    """

    @property
    def config(self) -> GoalConfig:
        """Its settings."""
        ...

    @property
    def prior(self) -> Prior:
        """Where goals are imagined."""
        ...

    @property
    def rest(self) -> StillnessModel | None:
        """Which objects rest by themselves; None before random data has been seen."""
        ...

    @property
    def threshold(self) -> float:
        """How far apart two appearances of the same object may be."""
        ...

    def find(self, objects: ObjectSet, goal: ObjectGoal) -> Match:
        """Which object of each set is the goal's, for reward and relabelling?"""
        ...

    def reward(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """How good is each set for its goal, (...,)? At most 0, and 0 where the goal is reached."""
        ...

    def transition_reward(
        self, now: ObjectSet, following: ObjectSet, goal: ObjectGoal
    ) -> np.ndarray:
        """The reward (...,) of getting to the following set: at most that of being there."""
        ...

    def solved(self, objects: ObjectSet, goal: ObjectGoal) -> np.ndarray:
        """Is the goal reached, as nearly as is asked for? (...,) bool."""
        ...

    def achieved(self, objects: ObjectSet, goal: ObjectGoal) -> tuple[ObjectGoal, np.ndarray]:
        """Return what each set has reached instead, as a goal, and where it has anything (...,).

        As a goal of the same set it earns the reward 0 and is solved.
        """
        ...

    def imagine(self, goal: ObjectGoal, rng: np.random.Generator) -> ObjectGoal:
        """Return goals (B,) of the same objects at places drawn from the prior."""
        ...

    def pick(self, objects: ObjectSet, rng: np.random.Generator) -> ObjectGoal:
        """Return one present object of each set (B, N) as a goal at its own place."""
        ...

    def lots(self, objects: ObjectSet, rng: np.random.Generator) -> np.ndarray:
        """Draw a number (B, N) per object; the smallest wins, as often as it should."""
        ...

    def propose(self, objects: ObjectSet, rng: np.random.Generator) -> ObjectGoal:
        """Return a goal to try for each first frame (B, N)."""
        ...

    def fitted(self, prior: Prior, rest: StillnessModel | None) -> GoalSpace:
        """Return the same with what was learned from data."""
        ...

    def judging(self, solved_threshold: float) -> GoalSpace:
        """Return the same with another idea of how near is near enough."""
        ...
