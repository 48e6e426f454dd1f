"""Who moves the arm of a table: a trained agent, the scripted pusher, or nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from smorl.envs.tabletop.scripted import ScriptedPusher
from smorl.visualise.agent_view import AgentView


@dataclass(frozen=True)
class Moment:
    """One table as it is, or as it should be: a picture and the truth.

    picture (S, S, 3) uint8, row 0 on top; state (2(n+1),) hand xy and pucks xy in metres.
    """

    picture: np.ndarray
    state: np.ndarray


@dataclass(frozen=True)
class Belief:
    """Where a player believes things to be on the table, in metres: what the scene can show.

    `mover` (2,) is the object it wants to move and `target` (2,) where to. Who plans ahead imagines
    ways of its hand and of that object: `plan` (T, 2) those it takes, `tracks` (T, 2) others, each
    way ended by a row of NaN. None where it has no such thing.
    """

    mover: np.ndarray | None = None
    target: np.ndarray | None = None
    tracks: np.ndarray | None = None
    plan: np.ndarray | None = None


@dataclass(frozen=True)
class Thoughts:
    """What a player can tell of itself: `words` always, the rest where it has any.

    `view` has the objects it found and its sub-goals, in image coordinates if `boxes`; `values`
    (G,) is how near to solved each sub-goal looks to it (0: solved), or with `gains` what it
    expects of pursuing each; `reason` says how it chose.
    """

    words: str
    done: bool = False  # it considers everything solved
    view: AgentView | None = None
    boxes: bool = False
    values: np.ndarray | None = None
    gains: bool = False
    reason: str = ""
    belief: Belief = Belief()


class Player(Protocol):
    """Plays one table. What it makes of it can be read from `thoughts` after `act`."""

    def start(self) -> None:
        """Forget everything: a new episode begins."""
        ...

    def aim(self, goal: Moment) -> None:
        """Take over a goal, at the start or in the middle of an episode."""
        ...

    def act(self, now: Moment) -> np.ndarray:
        """Return the next action (2,) in [-1, 1]."""
        ...

    @property
    def thoughts(self) -> Thoughts:
        """What it makes of the last moment it saw."""
        ...


class Scripted:
    """The scripted pusher, which is told the true positions."""

    def __init__(self) -> None:
        self._pusher = ScriptedPusher()
        self._goal: np.ndarray | None = None
        self._near = False

    def start(self) -> None:
        self._pusher.reset()

    def aim(self, goal: Moment) -> None:
        self._goal = goal.state

    def act(self, now: Moment) -> np.ndarray:
        assert self._goal is not None, "aim comes before act"
        offset = (now.state - self._goal)[2:].reshape(-1, 2)
        self._near = bool((np.hypot(*offset.T) < 0.025).all())
        return self._pusher.act(now.state, self._goal)

    @property
    def thoughts(self) -> Thoughts:
        """It knows the truth, so what it considers solved is solved."""
        words = "Every puck is at its ring." if self._near else "Pushes one puck after the other."
        return Thoughts(words, self._near)


class Nobody:
    """Lets the arm rest: what happens then is all yours."""

    def start(self) -> None:
        pass

    def aim(self, goal: Moment) -> None:
        pass

    def act(self, now: Moment) -> np.ndarray:
        return np.zeros(2, np.float32)

    @property
    def thoughts(self) -> Thoughts:
        return Thoughts("Nobody moves the arm. Choose who should.")
