"""What stands beside the 3-D scene: controls, what the agent sees and wants, and live plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import viser

from smorl.page.casting import Casting
from smorl.page.charts import distances, learning, thoughts
from smorl.page.following import Progress
from smorl.page.pictures import side_by_side
from smorl.page.requests import (
    SPEEDS,
    Cast,
    Compare,
    Lay,
    Pause,
    RandomGoal,
    Request,
    Reset,
    Speed,
    StepOnce,
)
from smorl.page.session import Session
from smorl.page.table import Snapshot, puck_counts
from smorl.page.words import EXPLANATION, EXPLANATION_FOREIGN, FOREIGN, INTRODUCTION, TASKS, status

Ask = Callable[[Request], None]
_WIDTH = 310


class Controls:
    """The visitor's side: everything that can be asked of the table."""

    def __init__(self, client: viser.ClientHandle, session: Session, casting: Casting) -> None:
        self._gui, self._session = client.gui, session
        self._labels = labels(casting.agents())
        ask, gui = session.ask, client.gui
        gui.main_panel.dock_right()
        gui.main_panel.set_width(_WIDTH)
        gui.add_markdown(FOREIGN if casting.foreign else INTRODUCTION)
        self._status = gui.add_html(status(session))
        moves = {"go": Pause(False), "pause": Pause(True), "one step": StepOnce()}
        _offer(gui.add_button_group("Time", list(moves)), moves, ask)
        fresh = {"new goals": RandomGoal(), "new table": Reset()}
        if casting.foreign:
            fresh = {"new episode": Reset()}
        _offer(gui.add_button_group("Start", list(fresh)), fresh, ask)
        speeds = {_times(speed): Speed(speed) for speed in SPEEDS}
        self._speed = gui.add_dropdown("Speed", list(speeds), initial_value=_times(session.speed))
        _offer(self._speed, speeds, ask)
        with gui.add_folder("The table", visible=not casting.foreign):
            tasks = {words: Lay(task=task) for task, words in TASKS.items()}
            self._task = gui.add_dropdown(
                "Task", list(tasks), initial_value=TASKS[session.setup.task]
            )
            _offer(self._task, tasks, ask)
            counts = {str(n): Lay(pucks=n) for n in puck_counts("rearrange")}
            self._pucks = gui.add_dropdown(
                "Pucks", list(counts), initial_value=str(session.setup.pucks)
            )
            _offer(self._pucks, counts, ask)
        with gui.add_folder("Who plays"):
            self._seats = [self._add_seat(0, casting, ask)]
            compare = gui.add_checkbox("Compare two", False)
            _offer(compare, {wanted: Compare(wanted) for wanted in (True, False)}, ask)
            self._rival = gui.add_folder("The second table", visible=False)
            with self._rival:
                self._seats.append(self._add_seat(1, casting, ask))
        self._training = gui.add_folder("How it learns", visible=False)
        with self._training:
            self._curve = gui.add_html("")
        with gui.add_folder("What am I looking at?", expand_by_default=False):
            gui.add_markdown(EXPLANATION_FOREIGN if casting.foreign else EXPLANATION)

    def refresh(self, progress: Progress | None) -> None:
        """Show what the session is up to, and the progress of a run in training."""
        session = self._session
        _set(self._training, "visible", progress is not None)
        if progress is not None:
            _set(self._curve, "content", learning(progress))
        _set(self._status, "content", status(session))
        _set(self._rival, "visible", len(session.seats) > 1)
        if not session.loading:
            _set(self._speed, "value", _times(session.speed))
            _set(self._task, "value", TASKS[session.setup.task])
            _set(self._pucks, "value", str(session.setup.pucks))
            for (agent, controller), seat in zip(self._seats, session.seats, strict=False):
                _set(agent, "value", self._labels[seat.agent])
                _set(controller, "value", seat.controller)

    def _add_seat(self, seat: int, casting: Casting, ask: Ask) -> tuple[Any, Any]:
        now = self._session.seats[0]
        agents = {self._labels[name]: Cast(seat, agent=name) for name in casting.agents()}
        agent = self._gui.add_dropdown("Agent", list(agents), initial_value=self._labels[now.agent])
        _offer(agent, agents, ask)
        ways = {name: Cast(seat, controller=name) for name in casting.controllers()}
        controller = self._gui.add_dropdown("Acts by", list(ways), initial_value=now.controller)
        _offer(controller, ways, ask)
        return agent, controller


class Insight:
    """The agent's side, for one table: its pictures, its choice, its attention, its progress."""

    def __init__(self, gui: viser.GuiApi, snapshot: Snapshot) -> None:
        self._picture = gui.add_image(side_by_side(snapshot), format="jpeg", jpeg_quality=90)
        self._thoughts = gui.add_html(thoughts(snapshot))
        self._distances = gui.add_html(distances(snapshot))
        self._shown = snapshot

    def refresh(self, snapshot: Snapshot) -> None:
        """Show a newer snapshot of the same table."""
        if snapshot is self._shown:
            return
        self._shown = snapshot
        self._picture.image = side_by_side(snapshot)
        _set(self._thoughts, "content", thoughts(snapshot))
        _set(self._distances, "content", distances(snapshot))


def labels(agents: Sequence[str]) -> dict[str, str]:
    """Return a short name for each agent: the last part of a path, where that tells them apart."""
    short = {name: name.rstrip("/").rpartition("/")[2].removeprefix("shipped:") for name in agents}
    counts = Counter(short.values())
    return {name: brief if counts[brief] == 1 else name for name, brief in short.items()}


def _times(speed: float) -> str:
    return "as the robot" if speed == 1 else f"{speed:g} times the robot"


def _set(handle: Any, name: str, value: Any) -> None:
    """Assign only what differs: an assignment is a message."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _offer(handle: Any, requests: Mapping[Any, Request], ask: Ask) -> None:
    """Ask for what a visitor chooses or presses; whatever is not on offer is dropped.

    Asynchronous callbacks run on the event loop, so a flood of events cannot fill a thread pool.
    """

    async def chosen(event: viser.GuiEvent) -> None:
        value = event.target.value
        if event.client is not None and isinstance(value, Hashable) and value in requests:
            ask(requests[value])

    register = handle.on_click if hasattr(handle, "on_click") else handle.on_update
    register(chosen)
