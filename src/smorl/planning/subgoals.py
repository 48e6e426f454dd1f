"""Solve the goals of a goal image one by one (Alg. 3), as a state machine over K episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from smorl.ranges import within

Order = Literal["cycle", "easiest", "hardest", "gain"]
Scores = Callable[[], "np.ndarray | None"]


@dataclass(frozen=True)
class SubgoalConfig:
    """How sub-goals are visited. Defaults are the paper's; lengths in environment steps."""

    length: int = 20  # l, steps per attempt
    attempts: int = 5  # K = L / l; the paper uses 2 (n + 1) - 1
    # Ours, off in the paper presets (docs/learner.md). Easiest and hardest go by the
    # critic's value of each open sub-goal, gain by what a plan expects of it for all objects.
    order: Order = "cycle"
    switch_when_solved: bool = False  # go on at once instead of waiting for the attempt to end
    stop_when_solved: bool = True  # end the episode when every sub-goal is solved
    # Whether the place of the agent's own body in the goal picture is a sub-goal, too (Paper: yes).
    # On its way there the body may push what is done already; distances are of objects only.
    own_body: bool = True

    def __post_init__(self) -> None:
        within(self, {"length": (1, 10_000), "attempts": (1, 10_000)})

    @property
    def steps(self) -> int:
        """L, the longest episode."""
        return self.length * self.attempts


class SubgoalCycle:
    """Alg. 3. `current` (K,) is each episode's sub-goal; `finished` (K,) says who is done.

    Call `update` with the solved flags after every environment step. When an attempt ends (after
    `length` steps), the episode stops if every sub-goal is solved now, sub-goals solved earlier
    included, because later attempts can undo them; otherwise the next unsolved one is taken.
    """

    def __init__(self, config: SubgoalConfig, valid: np.ndarray, first: np.ndarray) -> None:
        """`valid` (K, G) marks real sub-goals, `first` (K,) where each episode starts."""
        self.config, self.valid = config, valid
        self.current = first.copy()
        self.attempt_steps = np.zeros(len(valid), np.int64)
        self.steps = 0
        # Nothing to do where the goal image showed nothing.
        self.finished: np.ndarray = np.logical_not(valid.any(1))

    def update(self, solved: np.ndarray, scores: Scores | None = None) -> None:
        """Account for one step; `solved` is (K, G).

        `scores` is asked for the scores of sub-goals (K, G), higher first, when some row takes the
        next one; None, asked or answered, is the order of the cycle.
        """
        self.steps += 1
        self.attempt_steps += 1
        rows = np.arange(len(solved))
        over = self.attempt_steps >= self.config.length
        if self.config.switch_when_solved:
            over = over | solved[rows, self.current]
        open_goals = self.valid & ~solved
        done = over & ~open_goals.any(1)
        if self.config.stop_when_solved:
            self.finished |= done
        elif self.config.switch_when_solved:
            over = over & ~done  # nothing else to do: keep the current one
        move = over & open_goals.any(1) & ~self.finished
        if move.any():
            following = self._next(open_goals, None if scores is None else scores())
            self.current = np.where(move, following, self.current)
        self.attempt_steps[over] = 0
        if self.steps >= self.config.steps:
            self.finished[:] = True

    def _next(self, open_goals: np.ndarray, scores: np.ndarray | None) -> np.ndarray:
        """Return the next unsolved sub-goal (K,): the following in the cycle, or the best."""
        count = open_goals.shape[1]
        if scores is None:
            ahead = (np.arange(count) - self.current[:, None] - 1) % count
            return np.where(open_goals, ahead, count).argmin(1)
        # Stay on the current goal only if it is the only one left open.
        score = np.where(open_goals, scores, -np.inf)
        others = score.copy()
        others[np.arange(len(score)), self.current] = -np.inf
        has_other = np.isfinite(others).any(1)
        return np.where(has_other, others.argmax(1), score.argmax(1))
