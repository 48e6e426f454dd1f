"""One visitor's table: what may be asked of it, and one control step after the other.

Nothing here knows the browser: the page translates gestures into calls, and draws snapshots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from smorl.envs.rendering.cameras import Camera
from smorl.envs.tabletop.tasks import make_task
from smorl.envs.tabletop.world import World
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
        if self.pucks not in range(1, MOST_PUCKS + 1):
            raise InvalidInput(f"{self.pucks} pucks; the page has tables for 1 to {MOST_PUCKS}.")
        make_task(self.task, self.pucks)


@dataclass(frozen=True)
class View:
    """The camera an agent looks through, and the side of its pictures in pixels."""

    camera: str | Camera = "zoomed_in"
    image_size: int = 64


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
    """A world with one player. Not thread-safe: one thread steps it and passes snapshots on."""

    def __init__(
        self, setup: Setup, player: Player, rng: np.random.Generator, view: View | None = None
    ) -> None:
        self.setup, self.player, self._rng = setup, player, rng
        self.view = view = View() if view is None else view
        self._world = World(
            1,
            task=setup.task,
            num_objects=setup.pucks,
            observation="image",
            camera=view.camera,
            image_size=view.image_size,
        )
        self._held: dict[int, np.ndarray] = {}
        self._seen: tuple[Moment, Moment] | None = None  # drawn at most once per change
        self.reset()

    def reset(self) -> None:
        """Start afresh, with new places and goals."""
        self._world.reset(np.array([0]), [self._rng], {})
        self._held.clear()
        self._steps = 0
        self._distances: deque[np.ndarray] = deque(maxlen=HISTORY)
        self._before = self._qpos()
        self._new_goal()
        self.player.start()
        self._record()

    def copy_from(self, other: Table) -> None:
        """Take over places, goals and colours of a table with the same setup."""
        self._world.set_state(other._world.get_state())
        self._before = self._qpos()
        self._new_goal()
        self._record()

    def change_player(self, player: Player) -> None:
        """Let somebody else go on from here."""
        self.player = player
        player.start()
        self._aimed = False

    def random_goal(self) -> None:
        """Draw new goals; pucks stay where they are."""
        self._set_goals(self._world.task.sample_goals(self._rng, self._world.goal_hand[0]))

    def take_goals(self, other: Table) -> None:
        """Take over the goals of a table with the same setup."""
        self._set_goals(other._world.goal_objects[0])

    def _set_goals(self, places: np.ndarray) -> None:
        for puck, place in enumerate(places):
            self._world.move_goal(0, puck, place)
        self._new_goal()

    def move(self, kind: Kind, index: int, place: object) -> bool:
        """Put a goal, or a puck, as near to `place` (2,) metres as it fits; False: nowhere."""
        if kind not in KINDS or index not in range(self.setup.pucks):
            return False
        world = self._world
        if kind == "goal":
            free = free_place(place, _without(world.goal_objects[0], index))
            if free is not None:
                world.move_goal(0, index, free)
                self._new_goal()
            return free is not None
        pucks, hand = world.simulation.objects[0, :, :2], world.simulation.hand[0, :2]
        free = free_place(place, _without(pucks, index), hand)
        if free is not None:
            world.move_object(0, index, free)
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
        self._before = self._qpos()
        self._world.step(action[None].astype(np.float64))
        self._steps += 1
        self._record()

    def snapshot(self) -> Snapshot:
        """Return everything there is to draw."""
        world = self._world
        pucks, goals = world.simulation.objects[0, :, :2].copy(), world.goal_objects[0].copy()
        return Snapshot(
            self.setup,
            self._steps,
            np.stack(self._distances),
            world.puck_rgb[0].copy(),
            *self._look(),
            self.player.thoughts,
            Body(self._before, self._qpos(), pucks, goals),
        )

    def _qpos(self) -> np.ndarray:
        return self._world.simulation.qpos[0].copy()

    def _look(self) -> tuple[Moment, Moment]:
        """Return now and goal."""
        if self._seen is None:
            world, seen = self._world, self._world.observe()
            pucks, hand = world.simulation.objects[0, :, :2], world.simulation.hand[0, :2]
            self._seen = (
                Moment(seen["observation"][0], _state(hand, pucks)),
                Moment(seen["desired_goal"][0], _state(world.goal_hand[0], world.goal_objects[0])),
            )
        return self._seen

    def _new_goal(self) -> None:
        self._aimed, self._seen = False, None

    def _record(self) -> None:
        self._seen = None
        self._distances.append(self._world.info()["object_distances"][0])


def _without(places: np.ndarray, index: int) -> np.ndarray:
    return np.delete(places, index, axis=0)


def _state(hand: np.ndarray, pucks: np.ndarray) -> np.ndarray:
    return np.concatenate([hand, pucks.reshape(-1)]).astype(np.float32)


def puck_counts(task: str) -> Sequence[int]:
    """Return the numbers of pucks a task has tables for, on this page."""
    counts = []
    for pucks in range(1, MOST_PUCKS + 1):
        try:
            Setup(task, pucks)
        except InvalidInput:
            continue
        counts.append(pucks)
    return counts
