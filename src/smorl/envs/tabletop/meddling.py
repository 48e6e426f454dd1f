"""What a person may do to a table in the middle of an episode (`smorl.envs.contract.Meddler`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from smorl.envs.tabletop.world import Arrays, World


class TableMeddler:
    """Moves pucks and goals of a world; whatever it is given is checked there."""

    def __init__(self, world: World) -> None:
        self._world = world

    def move_object(self, row: int, index: int, place: Any) -> None:
        """Put a puck at rest on `place` (2,) metres. Physics pushes apart what overlaps there."""
        self._world.move_object(row, index, place)

    def move_goal(self, row: int, index: int, place: Any) -> None:
        """Change where a puck should go to `place` (2,) metres."""
        self._world.move_goal(row, index, place)

    def random_goals(self, row: int, rng: np.random.Generator) -> None:
        """Draw new goals as the task does at a reset; pucks stay where they are."""
        world = self._world
        places = world.task.sample_goals(rng, world.goal_hand[row])
        for puck, place in enumerate(places):
            world.move_goal(row, puck, place)

    def observe(self) -> Arrays:
        """Return what is seen now, as `step` does."""
        return self._world.observe()
