"""The Gymnasium env of one table; `tabletop.vector` has the vector env of the same world."""

from typing import Any

import gymnasium
import numpy as np

from smorl.envs.tabletop import checks
from smorl.envs.tabletop.truth import TabletopTruth
from smorl.envs.tabletop.views import TableViews
from smorl.envs.tabletop.world import LARGEST_PICTURE, Arrays, World, goal_reward
from smorl.errors import NotReset

RENDER_SIZE = 480
METADATA = {"render_modes": ["rgb_array"], "render_fps": 10}


class TabletopEnv(gymnasium.Env[Any, Any]):
    """A Sawyer arm pushes pucks to goal positions on a table (Push and Rearrange of the paper).

    Action: (2,) in [-1, 1], the wanted hand motion in units of 0.1 m; one step is 0.1 s. Values
    outside are clipped. Observation: a dict of `observation`, `achieved_goal`, `desired_goal`;
    state envs give float32 vectors of hand xy then pucks xy in metres, visual envs give uint8
    images. Reward: minus the Euclidean norm between achieved and desired goal. Episodes never
    terminate; they are truncated by Gymnasium's time limit, or when physics diverges.

    `reset(options={"objects": (n, 2), "goal_objects": (n, 2), "goal_hand": (2,)})` places things
    exactly, in metres.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        render_mode: str | None = None,
        render_size: int = RENDER_SIZE,
        **settings: Any,
    ):
        self.world = World(1, **settings)
        self.render_mode = check_render_mode(render_mode)
        self.render_size = checks.check_count(render_size, "render_size", 1, LARGEST_PICTURE)
        self.observation_space = self.world.observation_space
        self.action_space = self.world.action_space
        self._ready = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        checked = checks.check_options(options)
        super().reset(seed=checks.check_seed(seed))
        self.world.reset(np.array([0]), [self.np_random], checked)
        self._ready = True
        return self._first(self.world.observe()), _single_info(self.world.info())

    def step(self, action: Any) -> tuple[Arrays, float, bool, bool, dict[str, Any]]:
        require_reset(self._ready, "step")
        self.world.step(checks.check_actions(action, (2,))[None])
        observation = self.world.observe()
        reward = goal_reward(observation["achieved_goal"], observation["desired_goal"])
        info = _single_info(self.world.info())
        return self._first(observation), float(reward[0]), False, info["diverged"], info

    def render(self) -> np.ndarray | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a `render_size` square picture, row 0 on top, in mode "rgb_array"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render mode; pass render_mode='rgb_array'.")
            return None
        require_reset(self._ready, "render")
        return self.world.render(self.render_size, self.render_size)[0]

    @property
    def truth(self) -> TabletopTruth:
        """What only the simulator knows, for metrics and studies."""
        return TabletopTruth(self.world)

    def views(self, size: int = 320, samples: int = 2, row: int = 0) -> TableViews:
        """Return who draws table `row` for people."""
        return TableViews(self.world, size, samples, row)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Return minus the Euclidean norm, over any leading axes; `info` is not used."""
        return goal_reward(*checks.check_rewarded(achieved_goal, desired_goal))

    @staticmethod
    def _first(observation: Arrays) -> Arrays:
        return {name: value[0] for name, value in observation.items()}


def _single_info(infos: Arrays) -> dict[str, Any]:
    """Row 0 of vector infos, with plain Python scalars."""
    return {name: value[0].item() if value.ndim == 1 else value[0] for name, value in infos.items()}


def check_render_mode(mode: str | None) -> str | None:
    return None if mode is None else checks.check_choice(mode, "render_mode", ("rgb_array",))


def require_reset(ready: bool, what: str) -> None:
    if not ready:
        raise NotReset(f"{what}() was called before reset(); call reset() first.")
