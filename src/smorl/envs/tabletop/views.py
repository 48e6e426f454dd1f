"""Pictures of a table for people: the whole scene with the goals marked, and the agent's view.

Drawn by the ray caster of `envs.rendering.renderer`, so no GL is needed here either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from smorl.envs.rendering.cameras import CAMERAS, Camera, get_camera, project
from smorl.envs.rendering.raycast import shade
from smorl.envs.rendering.renderer import RayRenderer, upscale
from smorl.envs.tabletop.scene import PUCK_RADIUS, build_scene
from smorl.envs.tabletop.world import World

Picture = NDArray[np.uint8]

# A soft blue grey instead of black, for pictures people look at.
BACKDROP = (0.86, 0.90, 0.94)
AGENT_PIXELS = 64
# The table's own colour in the scene.
TABLE_GREY = 0.9


class TableViews:
    """Draws table `row` of a world; `size` is the height of its scene pictures in pixels."""

    def __init__(self, world: World, size: int, samples: int = 2, row: int = 0) -> None:
        self._world, self._row = world, row
        self._view: Camera = CAMERAS["overview"]
        model = build_scene(world.task.num_objects)
        self._scene = RayRenderer(
            model, self._view, size, size, samples=samples, background=BACKDROP
        )
        self.pixels = world.image_size if world.visual else AGENT_PIXELS
        self._agent = RayRenderer(model, get_camera(world.camera), self.pixels, self.pixels)

    def scene(self, goal_state: bool = False) -> Picture:
        """The whole scene (size, size, 3); rings on the table mark where the pucks should go.

        With `goal_state` the scene is drawn as it should be, and needs no rings.
        """
        picture = self._draw(self._scene, goal_state)
        if goal_state:
            return picture
        goals = self._world.goal_objects[self._row]
        return mark_goals(picture, self._view, goals, self._world.puck_rgb[self._row])

    def agent(self, goal_state: bool = False, pixels: int | None = None) -> Picture:
        """What a visual agent sees, 64x64, enlarged by whole pixels to about `pixels`."""
        times = 1 if pixels is None else max(1, pixels // self.pixels)
        return upscale(self._draw(self._agent, goal_state), times)

    def _draw(self, renderer: RayRenderer, goal_state: bool) -> Picture:
        world, row = self._world, [self._row]
        qpos = world.simulation.qpos[row]
        if goal_state:
            qpos = world.simulation.goal_qpos(world.goal_hand[row], world.goal_objects[row])
        return renderer.render(qpos, world.puck_rgb[row])[0]


def mark_goals(
    picture: Picture,
    camera: Camera,
    goals: NDArray[np.float64],
    rgb: NDArray[np.float64],
) -> Picture:
    """Draw a ring of the puck's colour and size around each goal (n, 2) in metres.

    Only the bare table is drawn on, so that rings lie under the arm and the pucks.
    """
    height, width = picture.shape[:2]
    angles = np.linspace(0, 2 * np.pi, 49)
    ring = 0.9 * PUCK_RADIUS * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    marked = picture.copy()
    for goal, colour in zip(goals, rgb, strict=True):
        corners = project(ring + np.append(goal, 0.0), camera, width / height)
        if np.isnan(corners).any():
            continue  # behind the camera
        points = (corners + 1) / 2 * (width, height)
        _draw_on_table(marked, points, max(2, round(height / 110)), colour, _table_grey(camera))
    return marked


def _draw_on_table(
    picture: Picture,
    points: NDArray[np.float64],
    line: int,
    colour: NDArray[np.float64],
    table_grey: int,
) -> None:
    """Draw a closed line through points (m, 2) (pixels: column, row) where the table is bare."""
    height, width = picture.shape[:2]
    left, top = np.clip(np.floor(points.min(axis=0)).astype(int) - line, 0, (width, height))
    right, bottom = np.clip(np.ceil(points.max(axis=0)).astype(int) + line, 0, (width, height))
    if right <= left or bottom <= top:
        return
    # Drawn at four times the size and shrunk, because Pillow's lines have hard edges.
    fine = 4
    stencil = Image.new("L", (int(right - left) * fine, int(bottom - top) * fine))
    corners = [(x, y) for x, y in (points - (left, top)) * fine]
    ImageDraw.Draw(stencil).line(corners, fill=255, width=line * fine)
    shrunk = np.asarray(stencil.reduce(fine)) / 255
    part = picture[top:bottom, left:right]
    bare = np.abs(part.astype(int) - table_grey).max(axis=-1) <= 2
    share = (shrunk * bare)[..., None]
    part[:] = np.rint((1 - share) * part + share * 255 * np.asarray(colour)).astype(np.uint8)


def _table_grey(camera: Camera) -> int:
    up = np.array([[0.0, 0.0, 1.0]])
    return int(shade(np.full((1, 3), TABLE_GREY, np.float32), up, camera.axes[2])[0, 0])
