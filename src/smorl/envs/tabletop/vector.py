"""The native vector env: K tables stepped together on a thread pool."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from smorl.envs.tabletop import checks
from smorl.envs.tabletop.env import METADATA, RENDER_SIZE, check_render_mode, require_reset
from smorl.envs.tabletop.meddling import TableMeddler
from smorl.envs.tabletop.truth import TabletopTruth
from smorl.envs.tabletop.views import TableViews
from smorl.envs.tabletop.world import LARGEST_PICTURE, Arrays, World, goal_reward
from smorl.errors import InvalidInput

_METADATA = {**METADATA, "autoreset_mode": AutoresetMode.SAME_STEP}


class TabletopVectorEnv(VectorEnv[Any, Any, Any]):
    """K tables of `TabletopEnv` on a thread pool; row i equals a single env bit for bit.

    Autoreset is `AutoresetMode.SAME_STEP`: the step that truncates a row returns the first
    observation and info of its next episode, and `infos["final_obs"]`, `infos["final_info"]` hold
    the last of the finished one. An int seed gives row i the seed `seed + i`.
    """

    metadata: dict[str, Any] = _METADATA

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        render_size: int = RENDER_SIZE,
        threads: int = 0,
        **settings: Any,
    ):
        self.world = World(num_envs, threads=threads, **settings)
        self.num_envs = self.world.num
        self.render_mode = check_render_mode(render_mode)
        self.render_size = checks.check_count(render_size, "render_size", 1, LARGEST_PICTURE)
        if max_episode_steps is not None:
            checks.check_count(max_episode_steps, "max_episode_steps", 1)
        self.max_episode_steps = max_episode_steps
        self.single_observation_space = self.world.observation_space
        self.single_action_space = self.world.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.elapsed_steps = np.zeros(self.num_envs, dtype=np.int64)
        self._rngs: list[np.random.Generator | None] = [None] * self.num_envs
        self._ready = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Arrays, dict[str, Any]]:
        """Reset all rows, or those of `options["reset_mask"]`, a (num_envs,) bool array.

        Other options are as in `TabletopEnv.reset`, for all rows or with a leading axis of rows.
        """
        checked = checks.check_options(options, extra=("reset_mask",))
        rows = self._rows(checked.pop("reset_mask", None))
        for row, row_seed in zip(rows, self._seeds(seed)[rows], strict=True):
            if row_seed is not None or self._rngs[row] is None:
                self._rngs[row], _ = seeding.np_random(row_seed)
        self._start(rows, checked)
        return self.world.observe(), dict(self.world.info())

    def step(
        self, actions: Any
    ) -> tuple[Arrays, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        require_reset(bool(self._ready.all()), "step")
        self.world.step(checks.check_actions(actions, (self.num_envs, 2)))
        self.elapsed_steps += 1
        observation, infos = self.world.observe(), dict[str, Any](self.world.info())
        rewards = goal_reward(observation["achieved_goal"], observation["desired_goal"])
        truncated = infos["diverged"].copy()
        if self.max_episode_steps is not None:
            truncated |= self.elapsed_steps >= self.max_episode_steps
        if truncated.any():
            final = _final_infos(observation, infos, truncated)
            rows = np.flatnonzero(truncated)
            self._start(rows, {})
            for name, value in self.world.observe(rows).items():
                observation[name][rows] = value
            infos = {**self.world.info(), **final}
        return observation, rewards, np.zeros(self.num_envs, dtype=bool), truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return one `render_size` square picture per row, row 0 of each on top."""
        if self.render_mode is None:
            return None
        require_reset(bool(self._ready.all()), "render")
        return tuple(self.world.render(self.render_size, self.render_size))

    @property
    def truth(self) -> TabletopTruth:
        """What only the simulator knows, for metrics and studies."""
        return TabletopTruth(self.world)

    @property
    def meddler(self) -> TableMeddler:
        """How a person moves pucks and goals in the middle of an episode."""
        return TableMeddler(self.world)

    def timed_calls(self) -> Iterator[tuple[str, Any, str]]:
        """Where it simulates and where it draws, for stopwatches: (part, object, method)."""
        yield "physics", self.world.simulation, "step"
        yield "physics", self.world.simulation, "reset"
        yield "drawing", self.world, "render"

    def views(self, size: int = 320, samples: int = 2, row: int = 0) -> TableViews:
        """Return who draws table `row` for people."""
        return TableViews(self.world, size, samples, row)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Return minus the Euclidean norm, over any leading axes; `info` is not used."""
        return goal_reward(*checks.check_rewarded(achieved_goal, desired_goal))

    def get_state(self) -> tuple[Arrays, list[dict[str, Any]]]:
        """Return all that a resume needs: arrays, and one JSON-ready random state per row."""
        arrays = {**self.world.get_state(), "elapsed_steps": self.elapsed_steps.copy()}
        return arrays, [dict(rng.bit_generator.state) for rng in self._rngs if rng is not None]

    def set_state(self, arrays: Arrays, generators: Sequence[Mapping[str, Any]]) -> None:
        """Restore what `get_state` returned on an env with the same settings after a reset."""
        restored = self._generators(generators)
        checks.check_state(arrays, {"elapsed_steps": self.elapsed_steps, **self.world.get_state()})
        self.world.set_state(arrays)
        self.elapsed_steps[:] = arrays["elapsed_steps"]
        self._rngs[:] = restored
        self._ready[:] = True

    def _generators(self, states: Sequence[Mapping[str, Any]]) -> list[np.random.Generator]:
        """Return one generator per row, each where `get_state` found it."""
        if not isinstance(states, Sequence) or len(states) != self.num_envs:
            count = len(states) if isinstance(states, Sequence) else repr(states)[:80]
            raise InvalidInput(
                f"{count} random states for {self.num_envs} rows; restore the state of "
                "an env with as many rows that had been reset."
            )
        restored = [seeding.np_random(0)[0] for _ in states]
        try:
            for rng, state in zip(restored, states, strict=True):
                rng.bit_generator.state = dict(state)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InvalidInput(
                f"these are no random states ({error!r}); pass what get_state returned."
            ) from error
        return restored

    def _start(self, rows: np.ndarray, options: dict[str, Any]) -> None:
        rngs = [rng for row in rows if (rng := self._rngs[row]) is not None]
        self.world.reset(rows, rngs, options)
        self.elapsed_steps[rows] = 0
        self._ready[rows] = True

    def _rows(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.arange(self.num_envs)
        mask = checks.plain_array(mask if isinstance(mask, np.ndarray | Sequence) else None)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise InvalidInput(
                f"reset_mask={mask!r:.80}; pass a bool array of shape ({self.num_envs},) with at "
                "least one True."
            )
        return np.flatnonzero(mask)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> np.ndarray:
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, int | np.integer):
            first = checks.check_count(seed, "seed", 0)
            seeds = [first + i for i in range(self.num_envs)]
        else:
            flat = isinstance(seed, np.ndarray) and seed.ndim != 1
            if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str | bytes) or flat:
                raise InvalidInput(f"seed={seed!r:.80}; pass a whole number, one per row, or None.")
            seeds = [checks.check_seed(value) for value in seed]
        if len(seeds) != self.num_envs:
            raise InvalidInput(f"{len(seeds)} seeds for {self.num_envs} rows; pass one per row.")
        array = np.empty(self.num_envs, dtype=object)
        array[:] = seeds
        return array


def _final_infos(observation: Arrays, infos: Arrays, ended: np.ndarray) -> dict[str, Any]:
    """Return `final_obs` and `final_info` of the ended rows in Gymnasium's vector layout."""
    final_obs = np.full(len(ended), None, dtype=object)
    for row in np.flatnonzero(ended):
        final_obs[row] = {name: value[row].copy() for name, value in observation.items()}
    final_info: dict[str, Any] = {}
    for name, value in infos.items():
        final_info[name] = value
        final_info[f"_{name}"] = ended.copy()
    return {
        "final_obs": final_obs,
        "_final_obs": ended.copy(),
        "final_info": final_info,
        "_final_info": ended.copy(),
    }
