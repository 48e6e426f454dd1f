"""What a perception imagines: its prior rolled forward under the actions really taken.

The model sees the first frames of held-out episodes and none after them. From there on its prior
alone moves the objects; the simulator shows what the same actions did in truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import action_size
from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.evaluation.detection import HELD_OUT
from smorl.representations.base import PictureEncoder
from smorl.representations.video import episode_plan
from smorl.visualise.overlay import (
    LABEL_SIZE,
    Colour,
    as_bytes,
    column_labels,
    enlarged,
    side_label,
)
from smorl.visualise.video import Picture, caption, tile

OBSERVED = 5  # frames the model sees before it must imagine
ROWS = ("what happened", "imagined")
_EDGE, _SEEN, _AHEAD = 2, (150, 150, 150), (0, 114, 178)


@dataclass(frozen=True)
class Imagination:
    """E episodes of T frames: images uint8 and the model's pictures in [0, 1], (E, T, S, S, 3).

    The first `observed` pictures are reconstructions of what the model saw, the rest imagined.
    """

    images: NDArray[np.uint8]
    pictures: NDArray[np.float32]
    observed: int

    def errors(self) -> tuple[float, float]:
        """Return the mean squared error per imagined pixel, and that of a still last frame."""
        happened = self.images[:, self.observed :] / 255
        last = self.images[:, self.observed - 1 : self.observed] / 255
        imagined = (self.pictures[:, self.observed :] - happened) ** 2
        return float(imagined.mean()), float(((last - happened) ** 2).mean())


def imagine(
    tracker: PictureEncoder,
    env_id: str,
    steps: int,
    episodes: int = 3,
    seed: int = 0,
    observed: int = OBSERVED,
) -> Imagination:
    """Let the model watch `observed` frames of held-out episodes and imagine `steps` more.

    They are the first episodes of an evaluation with this seed.
    """
    if steps < 1 or episodes < 1 or observed < 1:
        raise InvalidInput(
            f"steps={steps}, episodes={episodes}, observed={observed}; all must be 1 or more."
        )
    length = observed + steps
    images, actions = _happened(env_id, episodes, length, seed)
    carry, seen = tracker.init(episodes), []
    for t in range(observed):
        carry, _ = tracker.step(carry, images[:, t], actions[:, t])
        seen.append(tracker.draw(carry).reconstruction)
    drawn = tracker.imagine(carry, actions[:, observed:])
    return Imagination(images, np.concatenate([np.stack(seen, 1), drawn], 1), observed)


def _happened(
    env_id: str, episodes: int, length: int, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return pictures (E, T, S, S, 3) of held-out episodes, the actions (E, T, A) before them."""
    envs = make_visual_envs(env_id, episodes, threads=1)
    size, rows = action_size(envs), range(episodes)
    try:
        plans = [episode_plan(seed, i, length - 1, size, purpose=HELD_OUT) for i in rows]
        seeds, actions = [plan[0] for plan in plans], np.stack([plan[1] for plan in plans])
        frames = [envs.reset(seed=seeds)[0]["observation"]]  # pyright: ignore[reportArgumentType]
        for t in range(1, actions.shape[1]):
            frames.append(envs.step(actions[:, t])[0]["observation"])
    finally:
        envs.close()
    return np.stack(frames, 1), actions


def imagination_panel(dream: Imagination, every: int = 2, zoom: int = 3) -> Picture:
    """Draw two rows per episode over every `every`-th frame: what happened, what was imagined.

    Frames that the model saw have a grey edge, imagined ones a blue edge. `zoom` is the size of a
    pixel of the observation.
    """
    if every < 1 or zoom < 1:
        raise InvalidInput(f"every={every}, zoom={zoom}; both must be 1 or more.")
    # Counted from the last frame seen, so that the border lies in every picture.
    start = (dream.observed - 1) % every
    shown = list(range(start, dream.images.shape[1], every))
    bands = []
    for episode in range(len(dream.images)):
        for row, name in enumerate(ROWS):
            cells = [_cells(dream, episode, frame, zoom)[row] for frame in shown]
            line = tile(cells, columns=len(cells))
            bands.append(np.concatenate([side_label(name, cells[0].shape[0]), line], axis=1))
        bands.append(np.full((8, bands[0].shape[1], 3), 255, np.uint8))
    sheet = np.concatenate(bands[:-1])
    names = [f"t = {f} {'seen' if f < dream.observed else 'ahead'}" for f in shown]
    size = dream.images.shape[2] * zoom
    return np.concatenate([column_labels(names, size, sheet.shape[1]), sheet])


def imagination_film(dream: Imagination, zoom: int = 3) -> Iterator[Picture]:
    """Yield one picture per frame: each episode a column, what happened above what was imagined."""
    for frame in range(dream.images.shape[1]):
        pairs = [_cells(dream, episode, frame, zoom) for episode in range(len(dream.images))]
        ahead = frame + 1 - dream.observed
        names = (f"happened, t = {frame}", "seen" if ahead <= 0 else f"imagined, {ahead} ahead")
        cells = [
            caption(pair[row], names[row], LABEL_SIZE) for row in range(len(ROWS)) for pair in pairs
        ]
        yield tile(cells, columns=len(pairs))


def _cells(dream: Imagination, episode: int, frame: int, zoom: int) -> tuple[Picture, Picture]:
    """Draw one moment of one episode: what happened, what the model thinks."""
    colour = _SEEN if frame < dream.observed else _AHEAD
    happened = enlarged(dream.images[episode, frame], zoom)
    thought = enlarged(as_bytes(dream.pictures[episode, frame]), zoom)
    return happened, _edged(thought, colour)


def _edged(picture: Picture, colour: Colour) -> Picture:
    """Return the picture with its outermost pixels in a colour."""
    edged = np.full_like(picture, colour)
    edged[_EDGE:-_EDGE, _EDGE:-_EDGE] = picture[_EDGE:-_EDGE, _EDGE:-_EDGE]
    return edged
