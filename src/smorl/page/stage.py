"""The 3-D scene of one table in one visitor's browser: the simulator's own model, by viser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser

from smorl.envs.tabletop.scene import PUCK_HALF_HEIGHT, PUCK_RADIUS
from smorl.envs.tabletop.solids import Rgb, Solid, TableSolids
from smorl.page.places import on_plane
from smorl.page.players import Belief
from smorl.page.shapes import disc, tube
from smorl.page.table import Kind, Snapshot
from smorl.visualise.agent_view import CURRENT, SEEN

TABLE_TOP, FLOOR = 0.0, -0.92
_HIGHEST_GRIP = 2 * PUCK_HALF_HEIGHT
_TABLE_SIZE, _TABLE_MIDDLE = (0.8, 0.5, 0.03), (0.0, 0.6, -0.0155)
_TABLE_RGB, _FLOOR_RGB = (232, 228, 220), (205, 210, 214)
# The invisible walls of the simulator, drawn as low glass: inner faces, metres.
_WALL_X, _WALL_Y, _WALL_HEIGHT, _WALL_RGB = 0.245, (0.355, 0.755), 0.02, (150, 175, 190)
# Wide enough to be grabbed where a puck lies in it.
RING_RADIUS, RING_WIDTH, _RING_HEIGHT = PUCK_RADIUS + 0.02, 0.014, 0.003
_PLAN_RGB = (0, 84, 147)
# Lines lie just above the pucks, so that nothing hides them.
_LINE_HEIGHT = 2 * PUCK_HALF_HEIGHT + 0.004
_NO_POINTS = np.zeros((0, 2))
# Bodies nearer than this to where they were drawn last (metres, or parts of a quaternion) stay.
_UNSEEN = 2e-5
# (kind, index, place, is it the last one of this gesture)
Dragged = Callable[[Kind, int, tuple[float, float], bool], None]


class Stage:
    """Draws snapshots of one table, `shift` metres along x; gestures go to `dragged`."""

    def __init__(
        self,
        client: viser.ClientHandle,
        name: str,
        snapshot: Snapshot,
        shift: float,
        dragged: Dragged,
    ) -> None:
        self._client, self._root = client, f"/{name}"
        self._dragged = dragged
        # Of what is being dragged: the height of the grip, and its offset from the middle.
        self._grips: dict[tuple[Kind, int], tuple[float, np.ndarray]] = {}
        self._table = TableSolids(snapshot.setup.pucks)
        self._drawn: dict[str, np.ndarray] = {}
        client.scene.add_frame(self._root, show_axes=False, position=(shift, 0.0, 0.0))
        self._add_furniture()
        self._solids = [(solid, self._add_solid(solid, snapshot)) for solid in self._table.solids]
        self._goals = [self._add_goal(i, snapshot) for i in range(snapshot.setup.pucks)]
        self._believed = Belief()
        self._aim = self._add_lines("aim", CURRENT, 0.006)
        self._tracks = self._add_lines("tracks", SEEN, 0.0015)
        self._plan = self._add_lines("plan", _PLAN_RGB, 0.004)

    def draw(self, snapshot: Snapshot, progress: float) -> None:
        """Show the table between the step before (0) and this one (1)."""
        body = snapshot.body
        if body is None:
            return
        qpos = body.before + np.clip(progress, 0, 1) * (body.qpos - body.before)
        poses = self._table.poses(qpos)
        for solid, handle in self._solids:
            self._pose(handle, poses.position[solid.body], poses.wxyz[solid.body])
        for handles, place in zip(self._goals, body.goals, strict=True):
            for handle in handles:
                self._pose(handle, np.append(place, handle.position[2]), None)

    def draw_belief(self, belief: Belief) -> None:
        """Show what the player wants to move where, and what it imagines."""
        if belief is self._believed:
            return
        self._believed = belief
        for lines, ways in ((self._tracks, belief.tracks), (self._plan, belief.plan)):
            _show_lines(lines, _segments(_NO_POINTS if ways is None else ways))
        aim = _NO_POINTS
        if belief.mover is not None and belief.target is not None:
            aim = np.stack([belief.mover, belief.target])
        _show_lines(self._aim, _segments(aim))

    def remove(self) -> None:
        """Take everything off the scene."""
        self._client.scene.remove_by_name(self._root)

    def _pose(
        self, handle: viser.SceneNodeHandle, position: np.ndarray, wxyz: np.ndarray | None
    ) -> None:
        """Move a node, unless nobody could see the difference: what rests costs no messages."""
        pose = position if wxyz is None else np.concatenate([position, wxyz])
        before = self._drawn.get(handle.name)
        if before is not None and np.abs(pose - before).max() < _UNSEEN:
            return
        self._drawn[handle.name] = pose
        handle.position = position
        if wxyz is not None:
            handle.wxyz = wxyz

    def _add_furniture(self) -> None:
        scene, root = self._client.scene, self._root
        scene.add_box(
            f"{root}/table", dimensions=_TABLE_SIZE, position=_TABLE_MIDDLE, color=_TABLE_RGB
        )
        near, far = _WALL_Y
        middle = (near + far) / 2
        for name, size, place in (
            ("left", (0.006, far - near, _WALL_HEIGHT), (_WALL_X + 0.003, middle)),
            ("right", (0.006, far - near, _WALL_HEIGHT), (-_WALL_X - 0.003, middle)),
            ("far", (2 * _WALL_X + 0.012, 0.006, _WALL_HEIGHT), (0.0, far + 0.003)),
            ("near", (2 * _WALL_X + 0.012, 0.006, _WALL_HEIGHT), (0.0, near - 0.003)),
        ):
            scene.add_box(
                f"{root}/wall-{name}",
                dimensions=size,
                position=(*place, _WALL_HEIGHT / 2),
                color=_WALL_RGB,
                opacity=0.45,
                cast_shadow=False,
            )
        for number, (x, y) in enumerate(((0.36, 0.4), (-0.36, 0.4), (0.36, 0.8), (-0.36, 0.8))):
            height = -FLOOR - _TABLE_SIZE[2]
            scene.add_box(
                f"{root}/leg-{number}",
                dimensions=(0.04, 0.04, height),
                position=(x, y, -_TABLE_SIZE[2] - height / 2),
                color=(120, 116, 110),
            )

    def _add_solid(self, solid: Solid, snapshot: Snapshot) -> viser.MeshHandle:
        puck = solid.puck
        rgb = solid.rgb if puck is None else _rgb(snapshot.rgb[puck])
        name = f"{self._root}/{solid.name}"
        handle = self._client.scene.add_mesh_simple(name, solid.vertices, solid.faces, color=rgb)
        if puck is not None:
            self._make_draggable(handle, "puck", puck)
        return handle

    def _add_goal(self, index: int, snapshot: Snapshot) -> list[viser.MeshHandle]:
        """Add a ring on the table and a ghost of the puck in it."""
        scene, rgb = self._client.scene, _rgb(snapshot.rgb[index])
        name = f"{self._root}/goal-{index}"
        ring = scene.add_mesh_simple(
            f"{name}/ring",
            *tube(RING_RADIUS, RING_WIDTH, _RING_HEIGHT),
            color=rgb,
            cast_shadow=False,
        )
        ghost = scene.add_mesh_simple(
            f"{name}/ghost",
            *disc(RING_RADIUS - RING_WIDTH, 2 * _RING_HEIGHT),
            color=rgb,
            opacity=0.3,
            cast_shadow=False,
            position=(0.0, 0.0, _RING_HEIGHT / 2),
        )
        for handle in (ring, ghost):
            self._make_draggable(handle, "goal", index)
        return [ring, ghost]

    def _add_lines(self, name: str, rgb: Rgb, thickness: float) -> viser.LineSegmentsHandle:
        return self._client.scene.add_line_segments(
            f"{self._root}/{name}",
            np.zeros((1, 2, 3), np.float32),
            rgb,
            thickness=thickness,
            visible=False,
        )

    def _make_draggable(self, handle: viser.MeshHandle, kind: Kind, index: int) -> None:
        # Asynchronous callbacks run in order on the event loop, and nothing queues up.
        async def follow(event: viser.SceneNodeDragEvent) -> None:
            place = self._follow(event, kind, index)
            if place is not None:
                self._dragged(kind, index, place, event.phase == "end")

        handle.on_drag("left")(follow)

    def _follow(
        self, event: viser.SceneNodeDragEvent, kind: Kind, index: int
    ) -> tuple[float, float] | None:
        """Turn a gesture on the screen into a place on the table.

        The thing moves in the plane of the point it was grabbed at, and keeps that grip.
        """
        eye = event.client.camera.position
        if event.phase == "start":
            height = float(np.clip(event.start_position[2], TABLE_TOP, _HIGHEST_GRIP))
            grip = on_plane(eye, event.start_position, height)
            if grip is None:
                return None
            self._grips[kind, index] = height, grip - event.target.position[:2]
        if (kind, index) not in self._grips:
            return None
        height, offset = self._grips[kind, index]
        pointer = on_plane(eye, event.end_position, height)
        if event.phase == "end":
            del self._grips[kind, index]
            if pointer is None:  # let go above the horizon: it stays where it is
                pointer = offset + event.target.position[:2]
        if pointer is None:
            return None
        x, y = pointer - offset
        return float(x), float(y)


def _segments(points: np.ndarray) -> np.ndarray:
    """Return the pieces (m, 2, 3) of lines through places (t, 2), which rows of NaN interrupt."""
    raised = np.concatenate([points, np.full((len(points), 1), _LINE_HEIGHT)], axis=1)
    pieces = np.stack([raised[:-1], raised[1:]], axis=1) if len(raised) > 1 else raised[:0, None]
    return pieces[np.isfinite(pieces).all(axis=(1, 2))].astype(np.float32)


def _show_lines(handle: viser.LineSegmentsHandle, pieces: np.ndarray) -> None:
    if len(pieces):
        handle.points = pieces
    if handle.visible != bool(len(pieces)):
        handle.visible = bool(len(pieces))


def _rgb(colour: np.ndarray) -> Rgb:
    red, green, blue = np.rint(255 * np.asarray(colour)).astype(int).tolist()
    return red, green, blue
