"""One visitor: their tables, their pace, and what they asked for. Knows no browser.

Two threads meet here. The page's event loop calls `ask`, which never blocks; one control thread
calls `tick`, which does the work and replaces `scene`, a tuple of snapshots others may read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from smorl.errors import SmorlError
from smorl.page import requests as wishes
from smorl.page.casting import Casting, Part, Seat
from smorl.page.env_table import EnvTable
from smorl.page.requests import SPEEDS, Inbox, Request
from smorl.page.table import KINDS, STEPS_PER_SECOND, Setup, Snapshot, Table, puck_counts

# How often a visitor who has paused is looked after, seconds: dragged things still move.
_IDLE = 0.05


@dataclass(frozen=True)
class _Plan:
    """What was asked for and is being loaded; None for players who stay in their seats."""

    setup: Setup
    seats: tuple[Seat, ...]
    parts: tuple[Future[Part] | None, ...]


class Session:
    """A visitor's tables. `scene` has one snapshot per seat, empty until the first is loaded."""

    def __init__(
        self, casting: Casting, seat: Seat, setup: Setup, rng: np.random.Generator
    ) -> None:
        self._casting, self._rng = casting, rng
        self._inbox = Inbox()
        self._tables: list[Table | EnvTable] = []
        self.setup, self.seats = setup, (seat,)
        self.paused, self.speed = False, 1.0
        self.message = ""
        self.scene: tuple[Snapshot, ...] = ()
        self.due = 0.0
        self._plan: _Plan | None = self._prepare(setup, self.seats)
        self._handlers: dict[type, Callable] = {
            wishes.Drag: self._drag,
            wishes.Reset: self._reset,
            wishes.RandomGoal: self._random_goal,
            wishes.Pause: self._pause,
            wishes.StepOnce: self._step_once,
            wishes.Speed: self._set_speed,
            wishes.Lay: self._lay,
            wishes.Cast: self._cast,
            wishes.Compare: self._compare,
            wishes.Renew: self._renew,
        }

    def ask(self, request: Request) -> None:
        """Note what the visitor wants; strange requests are dropped here. Never blocks."""
        if isinstance(request, wishes.Drag) and not self._sensible(request):
            return
        if isinstance(request, wishes.Cast) and request.seat not in (0, 1):
            return
        self._inbox.put(request)

    @property
    def loading(self) -> bool:
        """Whether what was asked for is not there yet."""
        return self._plan is not None or len(self._inbox) > 0

    def tick(self, now: float) -> bool:
        """Do what was asked, step if it is time (`now`, seconds); say whether a step was made.

        Afterwards `due` is when to come back.
        """
        changed = self._take_plan()
        for request in self._inbox.take():
            self._handlers[type(request)](request)
            changed = True
        stepped = bool(self._tables) and not self.paused and now >= self.due
        if stepped:
            self._step()
        elif changed and self._tables:
            for table in self._tables:
                table.settle_held()
            self._publish()
        self._schedule(now, stepped)
        return stepped

    def close(self) -> None:
        """Free everything; to be called by whoever ticks."""
        self._plan = None
        for table in self._tables:
            table.close()
        self._tables = []

    def _schedule(self, now: float, stepped: bool) -> None:
        if self.paused or not self._tables:
            self.due = now + _IDLE
        elif stepped:
            # A table that cannot keep its pace goes on from now: it never catches up in a burst.
            self.due = max(self.due + 1 / (STEPS_PER_SECOND * self.speed), now)

    def _step(self) -> None:
        for table in self._tables:
            table.step()
        self._publish()

    def _publish(self) -> None:
        self.scene = tuple(table.snapshot() for table in self._tables)

    def _prepare(self, setup: Setup, seats: tuple[Seat, ...], renew: str = "") -> _Plan:
        """Send for the players of a plan; those who play this table already may stay."""

        def stays(index: int, seat: Seat) -> bool:
            here = index < len(self._tables) and setup == self.setup
            return here and seat == self.seats[index] and seat.agent != renew

        parts = [
            None if stays(index, seat) else self._casting.cast(seat, setup)
            for index, seat in enumerate(seats)
        ]
        return _Plan(setup, seats, tuple(parts))

    def _take_plan(self) -> bool:
        """Bring in the players asked for once they are loaded; say whether anything changed."""
        plan = self._plan
        if plan is None or not all(part is None or part.done() for part in plan.parts):
            return False
        self._plan = None
        try:
            parts = [None if part is None else part.result() for part in plan.parts]
        except SmorlError as error:
            self.message = str(error)
            return True
        self._seat(plan, parts)
        self.message = ""
        return True

    def _seat(self, plan: _Plan, parts: list[Part | None]) -> None:
        """Let new players go on where the old ones were, if the table is the same."""
        old = self._tables if plan.setup == self.setup else []
        tables: list[Table | EnvTable] = []
        for index, part in enumerate(parts):
            if part is None:
                table = old[index]
            elif part.envs is None and index < len(old) and old[index].view == part.view:
                table = old[index]
                table.change_player(part.player)
            else:
                table = part.table(plan.setup, self._rng)
                _go_on([table], (old or tables)[:1])
            tables.append(table)
        for table in self._tables:
            if table not in tables:
                table.close()
        self.setup, self.seats, self._tables = plan.setup, plan.seats, tables

    def _sensible(self, drag: wishes.Drag) -> bool:
        return drag.kind in KINDS and drag.index in range(self.setup.pucks)

    def _drag(self, drag: wishes.Drag) -> None:
        for table in self._tables:
            if drag.kind == "goal":
                table.move("goal", drag.index, drag.place)
            else:
                table.hold(drag.index, drag.place)
                if drag.last:
                    table.settle_held()
                    table.release(drag.index)

    def _reset(self, _: wishes.Reset) -> None:
        for table in self._tables:
            table.reset()
        _go_on(self._tables[1:], self._tables[:1])

    def _random_goal(self, _: wishes.RandomGoal) -> None:
        first: list[Any] = self._tables[:1]
        for table in first:
            table.random_goal()
            for other in self._tables[1:]:
                other.take_goals(table)

    def _pause(self, request: wishes.Pause) -> None:
        self.paused = bool(request.paused)

    def _step_once(self, _: wishes.StepOnce) -> None:
        self.paused = True
        if self._tables:
            self._step()

    def _set_speed(self, request: wishes.Speed) -> None:
        if request.times in SPEEDS:
            self.speed = request.times

    def _lay(self, request: wishes.Lay) -> None:
        task = request.task or self.setup.task
        pucks = request.pucks or self.setup.pucks
        try:
            setup = Setup(task, min(pucks, max(puck_counts(task), default=pucks)))
        except SmorlError as error:
            self.message = str(error)
            return
        if setup != self._wanted_setup():
            self._plan = self._prepare(setup, self._wanted_seats())

    def _cast(self, request: wishes.Cast) -> None:
        seats = list(self._wanted_seats())
        if request.seat >= len(seats):
            return
        seat = seats[request.seat]
        agent, controller = request.agent or seat.agent, request.controller or seat.controller
        known = agent in self._casting.agents() and controller in self._casting.controllers()
        if known:
            seats[request.seat] = replace(seat, agent=agent, controller=controller)
            self._plan = self._prepare(self._wanted_setup(), tuple(seats))

    def _compare(self, request: wishes.Compare) -> None:
        seats = self._wanted_seats()
        wanted = (seats[0], seats[-1]) if request.wanted else seats[:1]
        if wanted != seats:
            self._plan = self._prepare(self._wanted_setup(), wanted)

    def _renew(self, request: wishes.Renew) -> None:
        if any(seat.agent == request.agent for seat in self._wanted_seats()):
            self._plan = self._prepare(self._wanted_setup(), self._wanted_seats(), request.agent)

    def _wanted_setup(self) -> Setup:
        return self.setup if self._plan is None else self._plan.setup

    def _wanted_seats(self) -> tuple[Seat, ...]:
        return self.seats if self._plan is None else self._plan.seats


def _go_on(tables: Sequence[Any], others: Sequence[Any]) -> None:
    """Let tables go on where another one of their kind is."""
    for table, other in product(tables, others):
        if type(other) is type(table):
            table.copy_from(other)
