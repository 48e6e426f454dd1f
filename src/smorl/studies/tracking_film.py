"""A filmstrip of one episode of the tracking study: boxes with IDs, and who is paid for."""

import numpy as np

from smorl.errors import InvalidInput
from smorl.studies.tracking import Paid, Played
from smorl.visualise.overlay import Colour, draw_box, draw_tag, enlarged
from smorl.visualise.video import Picture, caption, tile

GOAL, OTHER = (255, 140, 0), (86, 180, 233)  # the goal's ID and its place; all other objects


def filmstrip(
    played: Played, episode: int, every: int = 2, zoom: int = 4, columns: int = 6
) -> Picture:
    """Draw every `every`-th frame of an episode; `zoom` is the size of a pixel.

    Every box has its ID. The object with the goal's ID is orange, and so, dashed, is the goal's
    place. Above each frame: the step, what the paid object is, and its reward.
    """
    if not 0 <= episode < len(played):
        raise InvalidInput(f"episode {episode} is not one of the {len(played)} that were played.")
    if every < 1 or zoom < 1 or columns < 1:
        raise InvalidInput(f"every={every}, zoom={zoom}, columns={columns}; all must be 1 or more.")
    shown = range(0, len(played.images[episode]), every)
    cells = [_cell(played, episode, frame, zoom) for frame in shown]
    cells += [np.full_like(cells[0], 255)] * (-len(cells) % columns if len(cells) > columns else 0)
    return tile(cells, columns=min(columns, len(cells)))


def _cell(played: Played, episode: int, frame: int, zoom: int) -> Picture:
    picture = enlarged(played.images[episode, frame], zoom)
    objects, goal = played.objects[episode, frame], played.goal[episode]
    for slot in np.flatnonzero(objects.present).tolist():
        own = objects.ids[slot] == goal.id
        colour: Colour = GOAL if own else OTHER
        place, half = objects.position[slot], objects.scale[slot]
        hidden = not played.seen[episode, frame, slot]
        picture = draw_box(picture, place, half, colour, dashed=hidden)
        picture = draw_tag(picture, place, half, str(int(objects.ids[slot])), colour)
    picture = draw_box(picture, goal.position, goal.scale, GOAL, dashed=True, line=1)
    return caption(picture, _words(played, episode, frame), size=13)


def _words(played: Played, episode: int, frame: int) -> str:
    if frame == 0:
        return f"t = 0: puck, ID {int(played.goal.id[episode])}"
    kind = Paid(int(played.paid["id"][episode, frame - 1])).name.lower().replace("_", " ")
    return f"t = {frame}: {kind}, {played.reward['id'][episode, frame - 1]:.2f}"
