"""The paper's reconstruction figure: what a tracker makes of an episode, as a panel and as a film.

Five rows over time: the original with boxes (green: recognised, that is tracked before; red: newly
found; grey and dashed: remembered while hidden), the reconstruction, the boxes alone, the
foreground, and the masks. In boxes and masks every object keeps the colour of its ID.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import action_size
from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.evaluation.detection import HELD_OUT, STEPS
from smorl.representations.base import PictureEncoder
from smorl.representations.video import episode_plan
from smorl.visualise.overlay import (
    LABEL_SIZE,
    Colour,
    as_bytes,
    column_labels,
    draw_box,
    enlarged,
    side_label,
)
from smorl.visualise.video import Picture, caption, tile

ROWS = ("original", "reconstruction", "boxes", "foreground", "masks")

RECOGNISED, FOUND, REMEMBERED = (40, 200, 60), (235, 40, 40), (150, 150, 150)
# Bright on black and told apart by most eyes; IDs take them in turn.
_COLOURS = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (204, 121, 167),
    (213, 94, 0), (120, 150, 255), (160, 220, 160), (255, 255, 255), (180, 130, 90),
)  # fmt: skip


@dataclass(frozen=True)
class Trace:
    """One tracked episode of T frames with N slots, in image coordinates.

    images uint8 (T, S, S, 3); position and scale (T, N, 2); present, also of what is remembered,
    and seen in that very frame (T, N) bool; ids (T, N), -1 where empty; reconstruction and
    foreground (T, S, S, 3) and masks (T, N, S, S) in [0, 1].
    """

    images: NDArray[np.uint8]
    position: NDArray[np.float32]
    scale: NDArray[np.float32]
    present: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    ids: NDArray[np.int64]
    reconstruction: NDArray[np.float32]
    foreground: NDArray[np.float32]
    masks: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.images)

    def new(self, frame: int, slot: int) -> bool:
        """Is it seen in this frame, and was it not in the one before?"""
        before = self.ids[frame - 1][self.seen[frame - 1]] if frame else []
        return bool(self.seen[frame, slot]) and self.ids[frame, slot] not in before


def trace(
    encoder: PictureEncoder, env_id: str, steps: int = STEPS, seed: int = 0, episode: int = 0
) -> Trace:
    """Track one held-out random episode, the same as number `episode` of an evaluation."""
    envs = make_visual_envs(env_id, 1, threads=1)
    env_seed, actions = episode_plan(seed, episode, steps, action_size(envs), purpose=HELD_OUT)
    frames: list[dict[str, Any]] = []
    try:
        observation, _ = envs.reset(seed=env_seed)
        carry = encoder.init(1)
        for t in range(steps + 1):
            if t:
                observation, *_ = envs.step(actions[t : t + 1])
            pictures = observation["observation"]
            carry, objects = encoder.step(carry, pictures, actions[t : t + 1])
            drawing = encoder.draw(carry)
            frame: dict[str, Any] = {"images": pictures, "seen": encoder.seen_now(carry)}
            for name in ("position", "scale", "present", "ids"):
                frame[name] = getattr(objects, name)
            for name in ("reconstruction", "foreground", "masks"):
                frame[name] = getattr(drawing, name)
            frames.append({name: np.array(value[0]) for name, value in frame.items()})
    finally:
        envs.close()
    return Trace(**{name: np.stack([frame[name] for frame in frames]) for name in frames[0]})


def panel(episode: Trace, every: int = 2, zoom: int = 3, columns: int | None = None) -> Picture:
    """Draw the five rows over every `every`-th frame, at most `columns` of them.

    `zoom` is the size of a pixel of the observation.
    """
    if every < 1 or zoom < 1:
        raise InvalidInput(f"every={every}, zoom={zoom}; both must be 1 or more.")
    shown = list(range(0, len(episode), every))[:columns]
    cells = [_cells(episode, frame, zoom) for frame in shown]
    size = cells[0][0].shape[0]
    rows = []
    for row, name in enumerate(ROWS):
        line = tile([column[row] for column in cells], columns=len(cells))
        rows.append(np.concatenate([side_label(name, size), line], axis=1))
    gap = np.full((4, rows[0].shape[1], 3), 255, np.uint8)
    sheet = np.concatenate([part for row in rows for part in (row, gap)][:-1])
    times = [f"t = {frame}" for frame in shown]
    return np.concatenate([column_labels(times, size, sheet.shape[1]), sheet])


def film(episode: Trace, zoom: int = 3) -> Iterator[Picture]:
    """Yield one picture per frame: the five views side by side under their names."""
    for frame in range(len(episode)):
        cells = [
            caption(cell, name, LABEL_SIZE)
            for cell, name in zip(_cells(episode, frame, zoom), ROWS, strict=True)
        ]
        yield tile(cells, columns=len(cells))


def _cells(episode: Trace, frame: int, zoom: int) -> list[Picture]:
    """Draw the five views of one frame."""
    size = episode.images.shape[1] * zoom
    black = np.zeros((size, size, 3), np.uint8)
    shown, seen = _shown(episode, frame), episode.seen[frame]
    status = [
        (REMEMBERED if not seen[slot] else FOUND if episode.new(frame, slot) else RECOGNISED)
        for slot in shown
    ]
    identity = [_colour(episode.ids[frame, slot]) for slot in shown]
    return [
        _boxes(enlarged(episode.images[frame], zoom), episode, frame, status),
        enlarged(as_bytes(episode.reconstruction[frame]), zoom),
        _boxes(black, episode, frame, identity),
        enlarged(as_bytes(episode.foreground[frame]), zoom),
        enlarged(_coloured_masks(episode, frame), zoom),
    ]


def _shown(episode: Trace, frame: int) -> NDArray[np.intp]:
    return np.flatnonzero(episode.present[frame])


def _boxes(picture: Picture, episode: Trace, frame: int, colours: list[Colour]) -> Picture:
    """Draw the box position +- scale of every present slot; dashed if it is not seen now."""
    for slot, colour in zip(_shown(episode, frame), colours, strict=True):
        centre, half = episode.position[frame, slot], episode.scale[frame, slot]
        picture = draw_box(picture, centre, half, colour, dashed=not episode.seen[frame, slot])
    return picture


def _coloured_masks(episode: Trace, frame: int) -> Picture:
    """Lay the masks over each other on black, each in the colour of its ID."""
    picture = np.zeros(episode.images.shape[1:], np.float32)
    for slot in _shown(episode, frame):
        share = episode.masks[frame, slot][..., None]
        picture = (1 - share) * picture + share * _colour(episode.ids[frame, slot])
    return as_bytes(picture / 255)


def _colour(identity: int) -> Colour:
    return _COLOURS[int(identity) % len(_COLOURS)]
