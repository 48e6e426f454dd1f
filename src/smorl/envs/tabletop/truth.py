"""What the simulator knows of its tables, for metrics and studies; no agent is ever shown it."""

from __future__ import annotations

import numpy as np

from smorl.envs.rendering.cameras import get_camera, project, project_onto_table
from smorl.envs.rendering.segmentation import Segmentation
from smorl.envs.tabletop.world import World

# Observation coordinates within which something is taken for what is there: pixels of a picture,
# or metres, where ground truth puts a goal exactly where the puck should go.
PIXELS, METRES = 4.0, 1e-3


class TabletopTruth:
    """The truth of the contract (`smorl.envs.contract.Truth`), read from a world as it is now."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.tolerance = PIXELS * 2 / world.image_size if world.visual else METRES

    @property
    def objects(self) -> np.ndarray:
        """Where the pucks are, (K, n, 2) metres."""
        return self._world.simulation.objects[..., :2].copy()

    @property
    def body(self) -> np.ndarray:
        """Where the hand is on the table, (K, 2) metres."""
        return self._world.simulation.hand[:, :2].copy()

    @property
    def goal_objects(self) -> np.ndarray:
        """Where the pucks should go, (K, n, 2) metres."""
        return self._world.goal_objects.copy()

    @property
    def goal_body(self) -> np.ndarray:
        """Where the hand should go, (K, 2) metres."""
        return self._world.goal_hand.copy()

    @property
    def qpos(self) -> np.ndarray:
        """The whole state of the simulation, (K, Q), from which any camera can draw it."""
        return self._world.simulation.qpos.copy()

    @property
    def colours(self) -> np.ndarray:
        """The pucks' colours (K, n, 3) in [0, 1]."""
        return self._world.puck_rgb.copy()

    def seen(self, places: np.ndarray) -> np.ndarray:
        """Return where places (..., 2) on the table show in the observation."""
        if not self._world.visual:
            return places
        return project_onto_table(places, get_camera(self._world.camera))

    def places(self) -> np.ndarray:
        """Where pucks and then the hand show in the observation, (K, n + 1, 2)."""
        return self.seen(np.concatenate([self.objects, self.body[:, None]], 1))

    def goal_places(self) -> np.ndarray:
        """Where pucks and then the hand should show, (K, n + 1, 2)."""
        return self.seen(np.concatenate([self.goal_objects, self.goal_body[:, None]], 1))

    def hand_in_picture(self) -> np.ndarray:
        """Where the hand itself shows, above the table, (K, 2) image coordinates."""
        return project(self._world.simulation.hand, get_camera(self._world.camera))

    def segment(self) -> Segmentation:
        """Say which pixels of every picture show the arm, and how much of each puck."""
        return self._world.segment()
