"""One browser window: a session, and everything that is drawn of it."""

from __future__ import annotations

import viser

from smorl.envs.rendering.cameras import Camera
from smorl.page.casting import Casting
from smorl.page.following import Progress
from smorl.page.panels import Controls, Insight
from smorl.page.requests import Drag
from smorl.page.session import Session
from smorl.page.stage import Stage
from smorl.page.table import STEPS_PER_SECOND, Kind, Setup, Snapshot

# Of the agent's panel, pixels; the larger one where there is no scene beside it.
_WIDTH, _WIDTH_ALONE = 380, 720
_PANEL_RATE = 5  # how often panels change, a second
_APART = 1.1  # metres between two tables that are compared
# The table in the middle, the arm behind it; both tables, from farther away.
VIEW = Camera((0.0, 0.5, 0.1), distance=1.5, elevation=-35.0, azimuth=242.0)
_VIEW_OF_TWO = Camera((0.0, 0.45, 0.1), distance=3.4, elevation=-35.0, azimuth=270.0)


class Visitor:
    """One browser window: its session, and everything drawn in it."""

    def __init__(self, client: viser.ClientHandle, session: Session, casting: Casting) -> None:
        self.client, self.session = client, session
        self.gone = False
        self._controls = Controls(client, session, casting)
        self._panel = client.gui.add_panel()
        self._panel.dock_left()
        self._panel.set_width(_WIDTH_ALONE if casting.foreign else _WIDTH)
        self._tabs: list[viser.GuiTabHandle] = []
        self._insights: list[Insight] = []
        self._stages: list[Stage] = []
        self._arranged: list[tuple[Setup, float, bool]] = []
        self._steps: list[int] = []
        self._since = 0.0  # when the last step was seen, for the motion until the next
        self._refreshed = 0.0

    def draw(self, now: float, progress: Progress | None) -> None:
        """Bring the browser up to date; `now` in seconds, `progress` of a run in training."""
        scene, session = self.session.scene, self.session
        steps = [snapshot.steps for snapshot in scene]
        if steps != self._steps:
            self._steps, self._since = steps, now
        self._arrange(scene)
        between = (now - self._since) * STEPS_PER_SECOND * session.speed
        with self.client.atomic():
            for stage, snapshot in zip(self._stages, scene, strict=False):
                stage.draw(snapshot, 1.0 if session.paused else between)
        if now - self._refreshed >= 1 / _PANEL_RATE:
            self._refreshed = now
            self._controls.refresh(progress)
            for insight, snapshot in zip(self._insights, scene, strict=True):
                insight.refresh(snapshot)
            for stage, snapshot in zip(self._stages, scene, strict=False):
                stage.draw_belief(snapshot.thoughts.belief)

    def _arrange(self, scene: tuple[Snapshot, ...]) -> None:
        """Build what is missing, and take away what no longer fits."""
        shifts = [0.0] if len(scene) < 2 else [_APART / 2, -_APART / 2]
        wanted = [
            (snapshot.setup, shift, snapshot.body is not None)
            for snapshot, shift in zip(scene, shifts, strict=False)
        ]
        if wanted == self._arranged:
            return
        self._arranged = wanted
        for stage in self._stages:
            stage.remove()
        for tab in self._tabs:
            tab.remove()
        self._stages = [
            Stage(self.client, f"table-{i}", snapshot, shifts[i], self._dragged)
            for i, snapshot in enumerate(scene)
            if snapshot.body is not None  # somebody's own environment has no 3-D model
        ]
        if (len(scene) > 1) != (len(self._insights) > 1):
            view = _VIEW_OF_TWO if len(scene) > 1 else VIEW
            self.client.camera.position, self.client.camera.look_at = view.position, view.lookat
        self._tabs, self._insights = [], []
        names = ["What the agent sees"] if len(scene) < 2 else ["Left table", "Right table"]
        for snapshot, name in zip(scene, names, strict=False):
            tab = self._panel.add_tab(name)
            with tab:
                self._insights.append(Insight(self.client.gui, snapshot))
            self._tabs.append(tab)

    def _dragged(self, kind: Kind, index: int, place: tuple[float, float], last: bool) -> None:
        self.session.ask(Drag(kind, index, place, last))
