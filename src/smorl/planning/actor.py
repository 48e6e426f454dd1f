"""Alg. 3 as an object: it is given a goal and observations, and returns actions.

Nothing here knows an environment. Whoever owns one (evaluation, the live page, a user's loop)
writes:

    actor.reset(goal_observation)
    while not actor.finished.all():
        observation = step(actor.act(observation))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.base import GoalSpace
from smorl.goals.matching import match_goals
from smorl.planning.base import Agent, Chooser, Controller, Situation
from smorl.planning.choosers import goal_values, make_chooser
from smorl.planning.controllers import PolicyController
from smorl.planning.gentle import GentleContact
from smorl.planning.subgoals import SubgoalConfig, SubgoalCycle
from smorl.representations.base import Encoder
from smorl.types import ObjectGoal, ObjectSet


class Actor:
    """Plays K tables at once, each with goals of its own.

    After `reset` and the first `observe` (or `act`) everything it knows can be read: `objects`,
    `targets`, `matched`, `solved`, `current`, `finished`, `values`; see `Situation` for shapes.
    """

    def __init__(
        self,
        encoder: Encoder,
        agent: Agent,
        space: GoalSpace,
        config: SubgoalConfig,
        *,
        actions: int,
        controller: Controller | None = None,
        chooser: Chooser | None = None,
        gentle: GentleContact | None = None,
    ) -> None:
        """`space` says what matches and what is solved; `actions` is the length A of an action.

        Without more the policy acts, and sub-goals are chosen as `config.order` says. `gentle`
        slows actions down near objects.
        """
        self.encoder, self.agent, self.space, self.config = encoder, agent, space, config
        self.actions, self.gentle = actions, gentle
        self.controller = PolicyController(agent) if controller is None else controller
        self.chooser = make_chooser(config.order, agent) if chooser is None else chooser
        self._situation: Situation | None = None
        self._cycle: SubgoalCycle | None = None

    def reset(self, goal: np.ndarray | ObjectSet, seeds: Sequence[int] | None = None) -> None:
        """Start new episodes with goal observations (K, ...), or with sets of goals (K, G, .).

        `seeds`, one per row (default 0, 1, ...), decide everything random.
        """
        targets = goal if isinstance(goal, ObjectSet) else self.encoder.encode_goal(goal)
        self.targets = targets if self.config.own_body else self._things(targets)
        rows = len(self.targets.present)
        self.seeds = list(range(rows)) if seeds is None else [int(seed) for seed in seeds]
        if len(self.seeds) != rows:
            raise InvalidInput(f"{len(self.seeds)} seeds for {rows} rows; give one seed per row.")
        self.rng = np.random.default_rng(self.seeds)
        self.carry: Any = self.encoder.init(rows)
        self.action = np.zeros((rows, self.actions), np.float32)
        self._situation = self._cycle = None

    def act(self, observation: np.ndarray) -> np.ndarray:
        """See what has become of the last action, and return the next one (K, A)."""
        self.observe(observation)
        return self.choose()

    def observe(self, observation: np.ndarray, lost: np.ndarray | None = None) -> None:
        """Take in what is seen now (K, ...), and go on to the next sub-goal where that is due.

        `lost` (K,) marks rows whose episode was ended from outside: they are finished, and what
        they show now means nothing.
        """
        self.carry, objects = self.encoder.step(self.carry, observation, self.action)
        if self._cycle is None or self._situation is None:
            current = np.zeros(len(self.seeds), np.int64)
            self._situation = self._look(objects, current)
            self._cycle = self._start(self._situation)
        else:
            if lost is not None:
                self._cycle.finished |= lost
            before, running = self._situation, ~self._cycle.finished
            now = self._look(objects, self._cycle.current)
            solved = np.where(running[:, None], now.solved, before.solved)
            self._situation = Situation(objects, self.targets, now.matched, solved, now.current)
            self._cycle.update(solved, lambda: self.chooser.scores(self.situation))
        self._situation = self._at(self._cycle.current)

    def choose(self) -> np.ndarray:
        """Return actions (K, A) for what was observed last; finished rows rest."""
        action = np.array(self.controller.act(self.situation, self.rng), np.float32)
        self.action = action if self.gentle is None else self.gentle(self.objects, action)
        self.action[self.finished] = 0.0
        return self.action

    def _things(self, targets: ObjectSet) -> ObjectSet:
        """Leave out sub-goals of the own body: of what rests less often than not."""
        if self.space.rest is None:
            return targets
        return replace(targets, present=targets.present & (self.space.rest.of(targets.what) >= 0.5))

    def _look(self, objects: ObjectSet, current: np.ndarray) -> Situation:
        goals = self.targets.goals()
        matched = match_goals(objects, goals, self.space.threshold)
        return Situation(
            objects, self.targets, matched, _solved(self.space, objects, goals), current
        )

    def _start(self, situation: Situation) -> SubgoalCycle:
        """Return the cycle at its first sub-goal.

        Release: the first one is random. Drawn from the episode's seed, so it is fixed too.
        """
        scores, present = self.chooser.scores(situation), self.targets.present
        if scores is None:
            size = present.shape[1]
            scores = np.stack([np.random.default_rng(seed).random(size) for seed in self.seeds])
        first = np.where(present, scores, -np.inf).argmax(1)
        return SubgoalCycle(self.config, present, first)

    def _at(self, current: np.ndarray) -> Situation:
        now = self.situation
        return Situation(now.objects, now.targets, now.matched, now.solved, current)

    @property
    def situation(self) -> Situation:
        """What is known now."""
        if self._situation is None:
            raise InvalidInput("an actor has seen nothing yet; reset it and let it observe first.")
        return self._situation

    @property
    def objects(self) -> ObjectSet:
        """What is seen now, (K, N, .)."""
        return self.situation.objects

    @property
    def matched(self) -> np.ndarray:
        """The slot (K, G) of the object each sub-goal is about, -1 where there is none."""
        return self.situation.matched

    @property
    def solved(self) -> np.ndarray:
        """Sub-goals (K, G) considered solved; rows that are finished keep their last answer."""
        return self.situation.solved

    @property
    def current(self) -> np.ndarray:
        """The sub-goal (K,) each row pursues."""
        return self.situation.current

    @property
    def finished(self) -> np.ndarray:
        """Rows (K,) that are done: everything solved, or no steps left."""
        return np.zeros(len(self.seeds), bool) if self._cycle is None else self._cycle.finished

    @property
    def values(self) -> np.ndarray:
        """The agent's value of every sub-goal from here, (K, G)."""
        return goal_values(self.agent, self.situation)


def _solved(space: GoalSpace, objects: ObjectSet, goals: ObjectGoal) -> np.ndarray:
    """Which of the G goals of each row are solved, (K, G)."""
    count = goals.what.shape[1]
    spread = objects.map(lambda array: np.repeat(array[:, None], count, 1))
    return space.solved(spread, goals)
