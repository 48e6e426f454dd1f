"""Who may play, by name: the contract between visitors' sessions and where players come from."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import gymnasium as gym
import numpy as np

from smorl.envs.factory import View
from smorl.page.env_table import EnvTable
from smorl.page.players import Player
from smorl.page.table import Setup, Table


@dataclass(frozen=True)
class Seat:
    """Who plays a table, by the names the page offers."""

    agent: str
    controller: str


@dataclass(frozen=True)
class Part:
    """A player for one seat, and the camera it looks through.

    `envs` is somebody's own environment (one row), to be played instead of the package's table.
    """

    player: Player
    view: View
    envs: gym.vector.VectorEnv | None = None

    def table(self, setup: Setup, rng: np.random.Generator) -> Table | EnvTable:
        """Return a new table with this player."""
        if self.envs is not None:
            return EnvTable(self.envs, self.player, rng)
        return Table(setup, self.player, rng, self.view)


class Casting(Protocol):
    """Where players come from.

    `foreign`: they play somebody's own environment, which nobody can lay otherwise.
    """

    @property
    def foreign(self) -> bool: ...

    def agents(self) -> Sequence[str]:
        """Return the names of agents, the best first."""
        ...

    def controllers(self) -> Sequence[str]:
        """Return the names of ways to act, the best first."""
        ...

    def cast(self, seat: Seat, setup: Setup) -> Future[Part]:
        """Promise a new player; loading takes a while, so nobody waits for it."""
        ...
