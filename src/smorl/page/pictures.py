"""The pictures of the panel: what the agent sees now, and the goal picture, enlarged."""

from __future__ import annotations

from smorl.envs.rendering.renderer import upscale
from smorl.page.table import Snapshot
from smorl.visualise.video import Picture, beside, caption

# The side of an enlarged picture in pixels, as near as whole pixels come to it.
SIDE = 256


def side_by_side(snapshot: Snapshot, side: int = SIDE) -> Picture:
    """Return now and goal beside each other, about `side` pixels each, with what it found."""
    now, goal = (
        upscale(moment.picture, max(1, side // moment.picture.shape[0]))
        for moment in (snapshot.now, snapshot.goal)
    )
    said, name = snapshot.thoughts, "what the camera sees"
    if said.view is not None and said.boxes:
        now, goal, name = said.view.now(now), said.view.goal(goal), "what it sees"
    return beside([caption(now, name), caption(goal, "the goal picture")])
