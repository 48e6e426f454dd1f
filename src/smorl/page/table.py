"""One visitor's table: what may be asked of it, and one control step after the other.

Nothing here knows the browser: the page translates gestures into calls, and draws snapshots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from smorl.envs.contract import Meddler, require_truth
from smorl.envs.factory import View, make_envs
from smorl.envs.registration import env_ids
from smorl.errors import InvalidInput
from smorl.page.places import free_place, on_table
from smorl.page.players import Moment, Player, Thoughts

Kind = Literal["goal", "puck"]
KINDS: tuple[Kind, ...] = ("goal", "puck")
MOST_PUCKS = 4
# Control steps a second of the real robot, and what the plot of distances remembers of them.
STEPS_PER_SECOND = 10
HISTORY = 600
ARRIVED = 0.05  # metres: nearer than this a puck counts as arrived, as in the paper


@dataclass(frozen=True)
class Setup:
    """What is on a table."""

    task: str = "rearrange"
    pucks: int = 2

    def __post_init__(self) -> None:
        counts = puck_counts(self.task)
        if not counts:
            raise InvalidInput(f"unknown task {self.task!r:.80}; use 'push' or 'rearrange'.")
        if self.pucks not in counts:
            raise InvalidInput(f"{self.pucks!r:.80} pucks; {self.task} has 1 to {counts[-1]} here.")

    def env_id(self, visual: bool) -> str:
        """Return the id of the environment with this table, seen in pictures or as a state."""
        seen = "image" if visual else "state"
        (found,) = (
            env.id
            for env in env_ids()
            if (env.task, env.num_objects, env.observation) == (self.task, self.pucks, seen)
        )
        return found


@dataclass(frozen=True)
class Snapshot:
    """A table at one moment, for drawing: nobody changes it any more.

    distances (t, n) are each object's true distance to its goal over the last steps in metres, the
    newest last, with n = 0 where nobody knows; rgb (n, 3) in [0, 1] tells their lines apart.
    """

    setup: Setup
    steps: int
    distances: np.ndarray
    rgb: np.ndarray
    now: Moment
    goal: Moment
    thoughts: Thoughts
    body: Body | None = None  # of tables that can be shown in 3-D

    @property
    def arrived(self) -> np.ndarray:
        """Which pucks (n,) are within 5 cm of their goals, in truth."""
        return self.distances[-1] < ARRIVED


@dataclass(frozen=True)
class Body:
    """What the simulator's model needs to be drawn: qpos (nq,) now and one step before.

    pucks, goals (n, 2) are in metres.
    """

    before: np.ndarray
    qpos: np.ndarray
    pucks: np.ndarray
    goals: np.ndarray


class Table:
    """One row of the package's environment with one player, for as long as anybody looks.

    Not thread-safe: one thread steps it and passes snapshots on.
    """

    def __init__(
        self, setup: Setup, player: Player, rng: np.random.Generator, view: View | None = None
    ) -> None:
        self.setup, self.player, self._rng = setup, player, rng
        self.view = View() if view is None else view
        envs: Any = make_envs(setup.env_id(visual=True), 1, 1, view=self.view)
        self._envs = envs
        self._meddler: Meddler = envs.meddler
        self._truth: Any = require_truth(envs, "a table on the page")
        self._held: dict[int, np.ndarray] = {}
        self.reset()

    def reset(self) -> None:
        """Start afresh, with new places and goals."""
        seen, _ = self._envs.reset(seed=int(self._rng.integers(2**31)))
        self._held.clear()
        self._steps = 0
        self._distances: deque[np.ndarray] = deque(maxlen=HISTORY)
        self._before = self._truth.qpos[0]
        self.player.start()
        self._aimed = False
        self._take(seen)

    def copy_from(self, other: Table) -> None:
        """Take over places, goals and colours of a table with the same setup."""
        self._envs.set_state(*other._envs.get_state())
        self._before = self._truth.qpos[0]
        self._aimed = False
        self._take(None)

    def change_player(self, player: Player) -> None:
        """Let somebody else go on from here."""
        self.player = player
        player.start()
        self._aimed = False

    def random_goal(self) -> None:
        """Draw new goals; pucks stay where they are."""
        self._meddler.random_goals(0, self._rng)
        self._new_goal()

    def take_goals(self, other: Table) -> None:
        """Take over the goals of a table with the same setup."""
        for puck, place in enumerate(other._truth.goal_objects[0]):
            self._meddler.move_goal(0, puck, place)
        self._new_goal()

    def move(self, kind: Kind, index: int, place: object) -> bool:
        """Put a goal, or a puck, as near to `place` (2,) metres as it fits; False: nowhere."""
        if kind not in KINDS or index not in range(self.setup.pucks):
            return False
        truth = self._truth
        if kind == "goal":
            free = free_place(place, _without(truth.goal_objects[0], index))
            if free is not None:
                self._meddler.move_goal(0, index, free)
                self._new_goal()
            return free is not None
        free = free_place(place, _without(truth.objects[0], index), truth.body[0])
        if free is not None:
            self._meddler.move_object(0, index, free)
            self._seen = None
        return free is not None

    def hold(self, puck: int, place: object) -> None:
        """Keep a puck where a visitor's hand holds it, until `release`, whatever the arm does."""
        xy = on_table(place)
        if xy is not None and puck in range(self.setup.pucks):
            self._held[puck] = xy

    def release(self, puck: int) -> None:
        """Let a held puck go."""
        self._held.pop(puck, None)

    def settle_held(self) -> None:
        """Put held pucks where they are held."""
        for puck, place in self._held.items():
            self.move("puck", puck, place)

    def step(self) -> None:
        """Let the player act once: 0.1 seconds of the table's time."""
        self.settle_held()
        if not self._aimed:
            self.player.aim(self._look()[1])
            self._aimed = True
        action = np.clip(np.nan_to_num(self.player.act(self._look()[0])), -1, 1)
        self._before = self._truth.qpos[0]
        seen, _, _, restarted, _ = self._envs.step(action[None].astype(np.float32))
        self._steps += 1
        if restarted[0]:  # physics had diverged, and the row holds a new episode
            self._before, self._aimed = self._truth.qpos[0], False
            self.player.start()
        self._take(seen)

    def snapshot(self) -> Snapshot:
        """Return everything there is to draw."""
        truth = self._truth
        return Snapshot(
            self.setup,
            self._steps,
            np.stack(self._distances),
            truth.colours[0],
            *self._look(),
            self.player.thoughts,
            Body(self._before, truth.qpos[0], truth.objects[0], truth.goal_objects[0]),
        )

    def close(self) -> None:
        """Nobody looks any more."""
        self._envs.close()

    def _take(self, seen: dict[str, np.ndarray] | None) -> None:
        """Note what is seen (None: look when somebody asks) and how far the pucks are."""
        self._seen = seen
        offset = self._truth.objects[0] - self._truth.goal_objects[0]
        self._distances.append(np.hypot(*offset.T))

    def _look(self) -> tuple[Moment, Moment]:
        """Return now and goal; drawn at most once per change."""
        if self._seen is None:
            self._seen = self._meddler.observe()
        seen, truth = self._seen, self._truth
        return (
            Moment(seen["observation"][0], _state(truth.body[0], truth.objects[0])),
            Moment(seen["desired_goal"][0], _state(truth.goal_body[0], truth.goal_objects[0])),
        )

    def _new_goal(self) -> None:
        self._aimed, self._seen = False, None


def _without(places: np.ndarray, index: int) -> np.ndarray:
    return np.delete(places, index, axis=0)


def _state(hand: np.ndarray, pucks: np.ndarray) -> np.ndarray:
    return np.concatenate([hand, pucks.reshape(-1)]).astype(np.float32)


def puck_counts(task: str) -> Sequence[int]:
    """Return the numbers of pucks a task has tables for, on this page."""
    counts = {env.num_objects for env in env_ids() if env.task == task}
    return sorted(count for count in counts if count <= MOST_PUCKS)
