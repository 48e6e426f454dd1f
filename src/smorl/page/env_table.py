"""A table that is somebody's own environment: nothing can be dragged, but everything can be seen.

It has no 3-D model, so the page shows pictures and plots only.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.envs.factory import View
from smorl.page.players import Moment, Player
from smorl.page.table import HISTORY, Kind, Setup, Snapshot

# Colours that tell objects apart in plots; more objects than that share them.
_COLOURS = np.array([(0.0, 0.33, 0.58), (0.9, 0.4, 0.0), (0.1, 0.6, 0.2), (0.6, 0.2, 0.6)])
_BLANK = np.full((64, 64, 3), 255, np.uint8)


class EnvTable:
    """One row of a vector environment; the same calls as `Table`, as far as they make sense.

    The environment follows the contract of docs/environments.md: dictionary observations with
    `observation` and `desired_goal`, and `object_distances` [m] in its infos if it knows them.
    """

    def __init__(
        self, envs: gym.vector.VectorEnv, player: Player, rng: np.random.Generator
    ) -> None:
        self.setup, self.view, self.player = Setup(), View(), player
        self._envs, self._rng = envs, rng
        self.reset()

    def reset(self) -> None:
        """Start a new episode, with a goal of its own."""
        self._start(int(self._rng.integers(2**31)))

    random_goal = reset  # goals come with episodes here

    def copy_from(self, other: EnvTable) -> None:
        """Start the same episode as another table."""
        self._start(other._seed)

    take_goals = copy_from

    def change_player(self, player: Player) -> None:
        """Let somebody else go on from here."""
        self.player, self._aimed = player, False
        player.start()

    def move(self, kind: Kind, index: int, place: object) -> bool:
        """Nothing can be moved by hand here."""
        return False

    def hold(self, puck: int, place: object) -> None:
        """Nothing can be held here."""

    def release(self, puck: int) -> None:
        """Nothing is held here."""

    def settle_held(self) -> None:
        """Nothing is held here."""

    def step(self) -> None:
        """Let the player act once."""
        if not self._aimed:
            self.player.aim(self._moment("desired_goal"))
            self._aimed = True
        space: Any = self._envs.single_action_space
        action = np.nan_to_num(self.player.act(self._moment("observation")))
        action = np.clip(np.resize(action, space.shape), space.low, space.high)
        seen, _, ended, truncated, info = self._envs.step(action[None].astype(space.dtype))
        self._steps += 1
        if ended[0] or truncated[0]:  # the row holds a new episode already
            self.player.start()
            self._aimed = False
        self._take(seen, info)

    def snapshot(self) -> Snapshot:
        """Return everything there is to draw."""
        distances = np.stack(self._distances)
        rgb = np.resize(_COLOURS, (distances.shape[1], 3))
        now, goal = self._moment("observation"), self._moment("desired_goal")
        return Snapshot(self.setup, self._steps, distances, rgb, now, goal, self.player.thoughts)

    def close(self) -> None:
        """Nobody looks any more."""
        self._envs.close()

    def _start(self, seed: int) -> None:
        self._seed, self._steps, self._aimed = seed, 0, False
        self._distances: deque[np.ndarray] = deque(maxlen=HISTORY)
        self.player.start()
        seeds: Any = [seed]
        self._take(*self._envs.reset(seed=seeds))

    def _take(self, seen: dict[str, np.ndarray], info: dict[str, Any]) -> None:
        self._seen = seen
        self._distances.append(np.array(info.get("object_distances", [[]]), np.float64)[0])

    def _moment(self, name: str) -> Moment:
        seen = self._seen[name][0]
        if seen.ndim == 3:
            return Moment(seen, np.zeros(0, np.float32))
        return Moment(self._picture(name), seen)

    def _picture(self, name: str) -> np.ndarray:
        """Return what the environment renders of itself, for people."""
        drawn = self._envs.render() if self._envs.render_mode == "rgb_array" else None
        if name == "desired_goal" or drawn is None or not len(drawn):
            return _BLANK
        return np.asarray(drawn[0], np.uint8)
