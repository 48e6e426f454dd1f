"""K tables with their tasks: goals, observations, rewards and infos (metres).

`World` is what the single env (K = 1) and the vector env share; neither adds physics or maths.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from smorl.envs.rendering.cameras import get_camera
from smorl.envs.tabletop import checks
from smorl.envs.tabletop.pictures import Pictures
from smorl.envs.tabletop.scene import FAST_PHYSICS, Physics
from smorl.envs.tabletop.simulation import HAND_HIGH, HAND_LOW, PUCK_HIGH, PUCK_LOW, Simulation
from smorl.envs.tabletop.tasks import Task, make_task
from smorl.errors import InvalidInput

if TYPE_CHECKING:
    from smorl.envs.rendering.cameras import Camera
    from smorl.envs.rendering.segmentation import Segmentation

Arrays = dict[str, np.ndarray]

# A table is a success if every puck is this near its goal. Release: hand and pucks on average.
SUCCESS_DISTANCE = 0.05
MOST_TABLES, MOST_THREADS, LARGEST_PICTURE = 100_000, 1024, 4096
# The hand may overshoot its box a little, and spaces must contain every observation.
_SPACE_MARGIN = 0.05


class World:
    """`num` tables, each with its own goal and its own random stream (passed to `reset`)."""

    def __init__(
        self,
        num: int,
        task: str = "rearrange",
        num_objects: int = 2,
        observation: str = "state",
        image_size: int = 64,
        camera: "str | Camera" = "zoomed_in",
        colours: Any = None,
        threads: int = 1,
        goal_images: bool = True,
        physics: Physics = FAST_PHYSICS,
        **unknown: Any,
    ):
        checks.refuse_unknown(unknown, World)
        self.task: Task = make_task(task, num_objects)
        self.num = checks.check_count(num, "num_envs", 1, MOST_TABLES)
        self.visual = checks.check_choice(observation, "observation", ("state", "image")) == "image"
        self.image_size = checks.check_count(image_size, "image_size", 1, LARGEST_PICTURE)
        self.camera = camera
        self.goal_images = bool(goal_images)
        self._random_colours = isinstance(colours, str)
        if self._random_colours:
            checks.check_choice(colours, "colours", ("random",))
        rgb = checks.check_colours(None if self._random_colours else colours, self.task.colours)
        threads = checks.check_count(threads, "threads", 0, MOST_THREADS)
        if not isinstance(physics, Physics):
            raise InvalidInput(f"physics={physics!r:.80}; pass a Physics of envs.tabletop.scene.")
        get_camera(camera)
        self.simulation = Simulation(self.task.num_objects, self.num, threads, physics)
        self.puck_rgb = np.tile(rgb, (self.num, 1, 1))
        self.goal_hand = np.tile(self.simulation.initial_hand[:2], (self.num, 1))
        self.goal_objects = np.zeros((self.num, self.task.num_objects, 2))
        self.diverged = np.zeros(self.num, dtype=bool)
        self._pictures = Pictures(self.simulation, camera)
        if self.visual:
            self._goal_pixels = np.zeros((self.num, *self._space().shape), np.uint8)
            self._pictures.renderer(self.image_size, self.image_size)

    @property
    def action_space(self) -> spaces.Box:
        """The wanted hand motion (x, y), in units of 0.1 m."""
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    @property
    def observation_space(self) -> spaces.Dict:
        """Observation, achieved and desired goal of one table."""
        names = ("observation", "achieved_goal", "desired_goal")
        return spaces.Dict({name: self._space() for name in names})

    def _space(self) -> spaces.Box:
        if self.visual:
            return spaces.Box(0, 255, (self.image_size, self.image_size, 3), np.uint8)
        n = self.task.num_objects
        low = np.concatenate([HAND_LOW[:2], np.tile(PUCK_LOW[:2], n)]) - _SPACE_MARGIN
        high = np.concatenate([HAND_HIGH[:2], np.tile(PUCK_HIGH[:2], n)]) + _SPACE_MARGIN
        return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    def reset(
        self, rows: np.ndarray, rngs: Sequence[np.random.Generator], options: dict[str, Any]
    ) -> None:
        """Start new episodes on `rows` (indices), drawing from one generator per row.

        Starts, goals and colours are drawn even where `options` override them, so that an option
        never shifts what the rest of the episode draws.
        """
        count, n = len(rows), self.task.num_objects
        rest = self.simulation.initial_hand[:2]
        goal_hand = np.tile(rest, (count, 1))
        if "goal_hand" in options:
            goal_hand = checks.check_goal_hand(options["goal_hand"], count)
        given = {}
        for name, hand in (("objects", rest), ("goal_objects", None)):
            if name in options:
                given[name] = checks.check_objects(options[name], name, count, n, hand)
        starts = np.stack([self.task.sample_starts(rng, rest) for rng in rngs])
        goals = np.stack(
            [self.task.sample_goals(rng, g) for rng, g in zip(rngs, goal_hand, strict=True)]
        )
        if self._random_colours:
            self.puck_rgb[rows] = np.stack([rng.uniform(size=(n, 3)) for rng in rngs])
        self.goal_hand[rows] = goal_hand
        self.goal_objects[rows] = given.get("goal_objects", goals)
        self.diverged[rows] = False
        self.simulation.reset(rows, given.get("objects", starts))
        self._update_goal_pixels(rows)

    def move_object(self, row: int, puck: int, place: Any) -> None:
        """Put a puck at rest on `place` (2,) metres in the middle of an episode.

        For people who meddle. Physics pushes apart what overlaps there.
        """
        self.simulation.place(row, puck, checks.check_place(place, "move_object"))

    def move_goal(self, row: int, puck: int, place: Any) -> None:
        """Change where a puck should go to `place` (2,) metres in the middle of an episode."""
        self.goal_objects[row, puck] = checks.check_place(place, "move_goal")
        self._update_goal_pixels(np.array([row]))

    def step(self, actions: np.ndarray) -> None:
        """Apply checked `actions` (num, 2); afterwards `diverged` says which tables failed."""
        self.diverged = self.simulation.step(actions)

    def observe(self, rows: np.ndarray | None = None) -> Arrays:
        """Return fresh arrays with a leading axis of `rows` (indices; None means all)."""
        chosen = np.arange(self.num) if rows is None else rows
        if self.visual:
            pixels = self.render(self.image_size, self.image_size, chosen)
            return _observation(pixels, self._goal_pixels[chosen])
        objects = self.simulation.objects[chosen, :, :2]
        achieved = _state_vector(self.simulation.hand[chosen, :2], objects)
        desired = _state_vector(self.goal_hand[chosen], self.goal_objects[chosen])
        return _observation(achieved, desired)

    def info(self) -> Arrays:
        """Return positions and distances of every table; privileged, never in an observation."""
        hand = self.simulation.hand[:, :2].copy()
        objects = self.simulation.objects[..., :2].copy()
        hand_distance = np.hypot(*(hand - self.goal_hand).T)
        offsets = objects - self.goal_objects
        distances = np.hypot(offsets[..., 0], offsets[..., 1])
        return {
            "hand": hand,
            "objects": objects,
            "goal_objects": self.goal_objects.copy(),
            "object_distances": distances,
            # Paper: the metric of every learning curve, mean over pucks.
            "object_distance": distances.mean(axis=1),
            "hand_distance": hand_distance,
            "success": distances.max(axis=1) < SUCCESS_DISTANCE,
            "diverged": self.diverged.copy(),
        }

    def get_state(self) -> Arrays:
        """Return every table's state and goal as arrays with a leading axis of `num`."""
        return {
            "simulation": self.simulation.get_state(),
            "goal_hand": self.goal_hand.copy(),
            "goal_objects": self.goal_objects.copy(),
            "puck_rgb": self.puck_rgb.copy(),
        }

    def set_state(self, state: Arrays) -> None:
        """Restore what `get_state` returned."""
        self.simulation.set_state(state["simulation"])
        self.goal_hand[:] = state["goal_hand"]
        self.goal_objects[:] = state["goal_objects"]
        self.puck_rgb[:] = state["puck_rgb"]
        self.diverged[:] = False
        self._update_goal_pixels(np.arange(self.num))

    def render(self, height: int, width: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Draw `rows` (None means all) as uint8 (rows, height, width, 3), row 0 on top."""
        chosen = np.arange(self.num) if rows is None else rows
        qpos = self.simulation.qpos[chosen]
        return self._pictures.renderer(height, width).render(qpos, self.puck_rgb[chosen])

    def segment(self) -> "Segmentation":
        """Say which pixels of every table's picture show the arm and how much of each puck.

        Privileged: for the evaluation of perception, never part of an observation.
        """
        return self._pictures.segmenter(self.image_size).segment(self.simulation.qpos)

    def _update_goal_pixels(self, rows: np.ndarray) -> None:
        """Draw the goal state of `rows`: hand and pucks put into it, without touching physics."""
        if not (self.visual and self.goal_images):
            return
        qpos = self.simulation.goal_qpos(self.goal_hand[rows], self.goal_objects[rows])
        renderer = self._pictures.renderer(self.image_size, self.image_size)
        self._goal_pixels[rows] = renderer.render(qpos, self.puck_rgb[rows])


def _observation(achieved: np.ndarray, desired: np.ndarray) -> Arrays:
    return {
        "observation": achieved,
        "achieved_goal": achieved.copy(),
        "desired_goal": desired,
    }


def _state_vector(hand: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return float32 (K, 2(n+1)): hand xy, then each puck's xy."""
    flat = objects.reshape(len(objects), -1)
    return np.concatenate([hand, flat], axis=1).astype(np.float32)


def goal_reward(achieved_goal: Any, desired_goal: Any) -> np.ndarray:
    """Return minus the Euclidean norm of achieved minus desired, for any leading axes.

    State goals are vectors in metres; images are uint8 and compared with pixels in [0, 1]. The
    sums are ordered so that a batch and a single goal agree to the last bit.
    """
    achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
    if achieved.dtype == np.uint8:
        difference = achieved.astype(np.int64) - desired
        return -np.sqrt((difference**2).sum(axis=(-3, -2, -1))) / 255.0
    difference = achieved.astype(np.float64) - desired
    total = np.zeros(difference.shape[:-1])
    for column in range(difference.shape[-1]):
        total = total + difference[..., column] ** 2
    return -np.sqrt(total)
