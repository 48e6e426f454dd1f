"""A film for people who know nothing of this: what is wanted, what is done, how it ended.

No words of the trade, no numbers without a meaning. Frames are the whole scene beside the two small
pictures that are all the robot gets; below stands how each puck is doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from smorl.visualise.agent_view import AgentView
from smorl.visualise.film import SceneCamera
from smorl.visualise.video import Picture, beside, caption, tile

NEAR = 0.05  # metres within which a puck is in its place
SIZE = 448  # height of the scene, pixels
GREEN, RED, INK, PAPER = (22, 130, 60), (190, 40, 40), (25, 25, 35), (255, 255, 255)
_NAMES = {
    "red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0),
    "purple": (0.6, 0, 0.8), "cyan": (0, 1, 1), "orange": (1, 0.5, 0), "pink": (1, 0.4, 0.7),
    "black": (0, 0, 0), "white": (1, 1, 1), "grey": (0.5, 0.5, 0.5),
}  # fmt: skip


@dataclass(frozen=True)
class Moment:
    """How a table stands: distances (n,) in metres, the puck being moved (None: none)."""

    distances: np.ndarray
    puck: int | None
    finished: bool = False


def colour_names(rgb: np.ndarray) -> list[str]:
    """Name the colours (n, 3), in [0, 1], of the pucks; alike ones are numbered."""
    names, table = list(_NAMES), np.array(list(_NAMES.values()))
    found = [names[int(np.linalg.norm(table - colour, axis=1).argmin())] for colour in rgb]
    doubled = {name for name in found if found.count(name) > 1}
    return [f"{n} {found[: i + 1].count(n)}" if n in doubled else n for i, n in enumerate(found)]


def doing(moment: Moment, names: Sequence[str]) -> str:
    """Say in a few words what happens."""
    if moment.finished:
        return "done" if (moment.distances < NEAR).all() else "stops here"
    if moment.puck is None:
        return "moving its own arm into place"
    count = len(names)
    which = (
        "the puck"
        if count == 1
        else f"puck {moment.puck + 1} of {count}: the {names[moment.puck]} one"
    )
    return f"moving {which}"


def standing(moment: Moment, names: Sequence[str]) -> list[tuple[str, bool]]:
    """Say of every puck how far it is from its ring; whether it is in place."""
    return [
        (f"{name}: in place" if distance < NEAR else f"{name}: {100 * distance:.0f} cm to go",
         bool(distance < NEAR))
        for name, distance in zip(names, moment.distances, strict=True)
    ]  # fmt: skip


def ending(distances: np.ndarray, names: Sequence[str]) -> tuple[str, bool]:
    """Return how a table ended, in words, and whether that is a success."""
    off = [
        f"{name} {100 * d:.0f} cm" for name, d in zip(names, distances, strict=True) if d >= NEAR
    ]
    if not off:
        every = {1: "the puck is in its place", 2: "both pucks are in place"}
        return f"Success: {every.get(len(names), 'all pucks are in place')}", True
    return f"Failure: {', '.join(off)} from {'its ring' if len(off) == 1 else 'their rings'}", False


def frame(
    camera: SceneCamera, title: str, moment: Moment, names: Sequence[str], view: AgentView | None
) -> Picture:
    """Draw one moment; `view` marks what the robot is looking after."""
    cell = SIZE // 2 - 2
    now, goal = (camera.agent(at_goal, cell - 26) for at_goal in (False, True))
    if view is not None and moment.puck is not None and not moment.finished:
        now, goal = view.aim(now), view.aim(goal, at_goal=True)
    sees = [caption(now, "what the robot sees", 14), caption(goal, "how it should look", 14)]
    picture = beside([camera.scene(), tile(sees, columns=1)])
    picture = caption(picture, f"{title}{doing(moment, names)}", 20)
    return np.concatenate([picture, _strip(standing(moment, names), picture.shape[1])])


def banner(picture: Picture, text: str, good: bool) -> Picture:
    """Put a broad band with the outcome across a frame."""
    image = Image.fromarray(picture)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(30)
    height, width = picture.shape[:2]
    draw.rectangle([0, height // 2 - 36, width, height // 2 + 36], fill=GREEN if good else RED)
    draw.text((width // 2, height // 2), text, fill=PAPER, font=font, anchor="mm")
    return np.asarray(image)


def card(shape: tuple[int, ...], title: str, lines: Sequence[str]) -> Picture:
    """Return a page of text as large as a frame; long lines are set smaller."""
    height, width = shape[:2]
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    top = height // 2 - 24 * (len(lines) + 1)
    for row, line in enumerate([title, *lines]):
        size = 20 if row else 30
        while size > 8 and draw.textlength(line, ImageFont.load_default(size)) > 0.94 * width:
            size -= 1
        place = (width // 2, top + (20 + 44 * row if row else 0))
        draw.text(place, line, fill=INK, font=ImageFont.load_default(size), anchor="mm")
    return np.asarray(image)


def _strip(says: Sequence[tuple[str, bool]], width: int) -> Picture:
    """Return a line that says how every puck is doing; green is in place."""
    image = Image.new("RGB", (width, 40), PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(18)
    left = 10
    for text, good in says:
        draw.text((left, 20), text, fill=GREEN if good else INK, font=font, anchor="lm")
        left += int(draw.textlength(text, font=font)) + 36
    return np.asarray(image)
