"""Where a perception goes wrong on pushing episodes: its worst frames on one sheet."""

from __future__ import annotations

import numpy as np

from smorl.evaluation.pushing import KINDS, Matches, Pushing, match_goals
from smorl.visualise.overlay import draw_box, enlarged
from smorl.visualise.video import Picture, caption, tile

ZOOM, COLUMNS = 4, 6
SEEN, TAKEN, TRUTH = (86, 180, 233), (255, 140, 0), (255, 255, 255)


def worst_frames(seen: Pushing, threshold: float, count: int = 24) -> Picture:
    """Draw the frames in which a puck's goal is worst served, at most one per puck and episode.

    Blue: what the encoder reports; orange: what is taken for the puck; a white cross: where the
    puck is. Captions name what went wrong and how the puck stood. First come wrong objects, then
    missing ones, then places far off; hidden pucks are left out.
    """
    matches = match_goals(seen, threshold, "first")
    badness = np.where(matches.matched, matches.error, 50.0)
    badness = np.where(seen.kinds()["hidden"], -1.0, badness)
    badness[matches.matched & (badness > 4)] += 100
    tiles, pucks = [], badness.shape[2]
    frame = badness.argmax(1)  # (E, n)
    worst = np.take_along_axis(badness, frame[:, None], 1)[:, 0]
    for index in np.argsort(-worst, axis=None, kind="stable")[:count]:
        episode, puck = divmod(int(index), pucks)
        tiles.append(_draw(seen, matches, episode, int(frame[episode, puck]), puck))
    return tile(tiles, COLUMNS)


def _draw(seen: Pushing, matches: Matches, episode: int, frame: int, puck: int) -> Picture:
    picture = enlarged(seen.images[episode, frame], ZOOM)
    objects, taken = seen.objects[episode, frame], int(matches.slot[episode, frame, puck])
    for slot in np.flatnonzero(objects.present).tolist():
        colour = TAKEN if slot == taken else SEEN
        picture = draw_box(picture, objects.position[slot], objects.scale[slot], colour)
    here = seen.pucks[episode, frame, puck]
    for half in ((0.06, 0.004), (0.004, 0.06)):
        picture = draw_box(picture, here, np.array(half), TRUTH)
    error = float(matches.error[episode, frame, puck])
    what = "not matched" if taken < 0 else "wrong object" if error > 4 else f"off by {error:.1f} px"
    kind = next(name for name in KINDS if seen.kinds()[name][episode, frame, puck])
    return caption(picture, f"{what}, {kind}", 13)
