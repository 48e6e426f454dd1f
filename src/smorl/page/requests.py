"""What a visitor can ask for, and the inbox it waits in: bounded, however much is asked."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass

from smorl.page.table import Kind

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Drag:
    """A goal or a puck is held over a place (x, y) in metres; `last`: and let go there."""

    kind: Kind
    index: int
    place: tuple[float, float]
    last: bool = False


@dataclass(frozen=True)
class Reset:
    """Start afresh, with new places and goals."""


@dataclass(frozen=True)
class RandomGoal:
    """New goals; pucks stay where they are."""


@dataclass(frozen=True)
class Pause:
    """Stop, or go on."""

    paused: bool


@dataclass(frozen=True)
class StepOnce:
    """One control step, then stop."""


@dataclass(frozen=True)
class Speed:
    """How many times as fast as the robot."""

    times: float


@dataclass(frozen=True)
class Lay:
    """Another table. None: as it is."""

    task: str | None = None
    pucks: int | None = None


@dataclass(frozen=True)
class Cast:
    """Somebody else in a seat: 0 plays the visitor's table, 1 the same table beside it.

    `agent` and `controller` are names the page offers; None: as it is.
    """

    seat: int
    agent: str | None = None
    controller: str | None = None


@dataclass(frozen=True)
class Compare:
    """A second table beside the first, or not."""

    wanted: bool


@dataclass(frozen=True)
class Renew:
    """Load an agent afresh wherever it plays: it has learned more."""

    agent: str


Request = Renew | Drag | Reset | RandomGoal | Pause | StepOnce | Speed | Lay | Cast | Compare


class Inbox:
    """Holds the newest request of each kind, in order of arrival, so its size has a limit.

    A flood of drags leaves one: the newest place of each thing that is dragged.
    """

    def __init__(self) -> None:
        self._requests: dict[Hashable, Request] = {}
        self._lock = threading.Lock()

    def put(self, request: Request) -> None:
        """Never blocks. Replaces an older request of the same kind."""
        with self._lock:
            key = _key(request)
            before = self._requests.pop(key, None)
            self._requests[key] = _merge(before, request)

    def take(self) -> list[Request]:
        """Return and forget what waits."""
        with self._lock:
            waiting, self._requests = list(self._requests.values()), {}
        return waiting

    def __len__(self) -> int:
        return len(self._requests)


def _key(request: Request) -> Hashable:
    if isinstance(request, Drag):
        return Drag, request.kind, request.index
    if isinstance(request, Cast):
        return Cast, request.seat
    return type(request)


def _merge(before: Request | None, request: Request) -> Request:
    """Return the newer request; what it leaves open is taken from the older one."""
    if isinstance(before, Lay) and isinstance(request, Lay):
        return Lay(request.task or before.task, request.pucks or before.pucks)
    if isinstance(before, Cast) and isinstance(request, Cast):
        agent = request.agent or before.agent
        return Cast(request.seat, agent, request.controller or before.controller)
    return request
