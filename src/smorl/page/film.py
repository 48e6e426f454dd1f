"""Keep what was seen: frames of a visitor's table go into a film while they play."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from smorl.envs.rendering.cameras import CAMERAS
from smorl.envs.rendering.renderer import RayRenderer, upscale
from smorl.envs.tabletop.scene import build_scene
from smorl.envs.tabletop.views import BACKDROP, mark_goals
from smorl.errors import SmorlError
from smorl.page.pictures import side_by_side
from smorl.page.table import STEPS_PER_SECOND, Snapshot
from smorl.visualise.video import Picture, check_writable, write_video

SIDE = 448  # pixels of a scene; a frame is two of them wide
# Moments that wait to be drawn; when the encoder cannot keep up, newer ones are left out.
_WAITING = 32
_VIEW = CAMERAS["overview"]


class Film:
    """Draws snapshots in a thread of its own and writes them to a file when it is closed.

    Drawn by the ray caster, from a fixed place: it costs the visitor's browser nothing.
    """

    def __init__(self, path: Path) -> None:
        check_writable(path)
        self.path = path
        self.left_out = 0
        self._renderers: dict[int, RayRenderer] = {}
        self._moments: queue.Queue[tuple[Snapshot, ...] | None] = queue.Queue(_WAITING)
        self._error: SmorlError | None = None
        self._frames, self._ended = 0, False
        self._thread = threading.Thread(target=self._write, name="page-film", daemon=True)
        self._thread.start()

    def add(self, scene: tuple[Snapshot, ...]) -> None:
        """Take in one moment; never blocks."""
        try:
            self._moments.put_nowait(scene)
        except queue.Full:
            self.left_out += 1

    def close(self) -> int:
        """Finish the file; return the number of frames, 0 if there was nothing to film."""
        self._moments.put(None)
        self._thread.join()
        if self._error is not None and self._frames:
            raise self._error
        return self._frames

    def _write(self) -> None:
        try:
            write_video(self.path, self._draw(), fps=STEPS_PER_SECOND)
        except SmorlError as error:
            self._error = error
        while not self._ended:  # nobody may wait for a film that failed
            self._ended = self._moments.get() is None

    def _draw(self) -> Iterator[Picture]:
        while (scene := self._moments.get()) is not None:
            if scene:
                self._frames += 1
                yield self.frame(scene)
        self._ended = True

    def frame(self, scene: Sequence[Snapshot]) -> Picture:
        """Return one frame: a table and what its agent sees, or two tables side by side."""
        sheet = np.full((SIDE, 2 * SIDE, 3), 255, np.uint8)
        sheet[:, :SIDE] = self._table(scene[0])
        if len(scene) > 1:
            sheet[:, SIDE:] = self._table(scene[1])
        else:
            seen = side_by_side(scene[0], SIDE // 2 - 8)[:SIDE, :SIDE]
            top = (SIDE - seen.shape[0]) // 2
            sheet[top : top + seen.shape[0], SIDE : SIDE + seen.shape[1]] = seen
        return sheet

    def _table(self, snapshot: Snapshot) -> Picture:
        body, pucks = snapshot.body, snapshot.setup.pucks
        if body is None:
            return _fitted(snapshot.now.picture)
        if pucks not in self._renderers:
            self._renderers[pucks] = RayRenderer(
                build_scene(pucks), _VIEW, SIDE, SIDE, background=BACKDROP
            )
        picture = self._renderers[pucks].render(body.qpos[None], snapshot.rgb[None])[0]
        return mark_goals(picture, _VIEW, body.goals, snapshot.rgb)


def _fitted(picture: Picture) -> Picture:
    """Return a picture of any size as a square of `SIDE` pixels, white where it does not reach."""
    sheet = np.full((SIDE, SIDE, 3), 255, np.uint8)
    larger = upscale(picture, max(1, SIDE // max(picture.shape[:2])))[:SIDE, :SIDE]
    sheet[: larger.shape[0], : larger.shape[1]] = larger
    return sheet
