"""Frames of a film: the whole scene beside what the agent sees now and at the goal."""

from __future__ import annotations

from typing import Any

import numpy as np

from smorl.envs.contract import views_of
from smorl.errors import InvalidInput
from smorl.visualise.agent_view import AgentView
from smorl.visualise.video import Picture, beside, caption, tile

# Below this height there is no room for the agent's view beside the scene.
SMALLEST = 180


class SceneCamera:
    """Films row `row` of an environment; `size` is the height of its scene pictures in pixels."""

    def __init__(self, envs: Any, size: int = 320, samples: int = 2, row: int = 0) -> None:
        """`envs` draws itself: it has `views` (`smorl.envs.contract.Views`)."""
        if size < SMALLEST:
            raise InvalidInput(f"The size of a film is {size}; use {SMALLEST} pixels or more.")
        self.size, self._views = size, views_of(envs, size, samples, row)
        self.scene, self.agent = self._views.scene, self._views.agent

    def frame(self, text: str, view: AgentView | None = None) -> Picture:
        """One frame of a video: the scene, beside it the agent's view now and at the goal.

        With `view` the pictures show what the agent found in them, and which sub-goal it pursues;
        beside them is a table of its attention, if it has any.
        """
        cell = self.size // 2 - 2
        now, goal = (self.agent(at_goal, cell - 21) for at_goal in (False, True))
        extra = []
        if view is not None:
            if view.attention is not None:
                extra = [_fit(view.table(self.agent()), self.size)]
            now, goal = view.now(now), view.goal(goal)
        names = (f"agent, {self._views.pixels}x{self._views.pixels}", "goal image")
        views = [
            _fit(caption(shown, name, size=13), cell)
            for shown, name in zip((now, goal), names, strict=True)
        ]
        return caption(beside([self.scene(), tile(views, columns=1), *extra]), text)


def _fit(picture: Picture, height: int) -> Picture:
    """Cut the picture, or fill it up with white rows, to `height`."""
    missing = max(height - picture.shape[0], 0)
    return np.pad(picture, ((0, missing), (0, 0), (0, 0)), constant_values=255)[:height]
