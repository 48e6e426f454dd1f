"""Rounds of one run played on Ray actors, for simulators slower than ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smorl.cluster.ray import connect
from smorl.config import to_json
from smorl.errors import SmorlError
from smorl.representations.base import Perception
from smorl.training.ahead import Order, RoundPlayer, rows_of
from smorl.training.settings import RunConfig
from smorl.types import Episode

_ATTEMPTS = 3  # at one part, each on a new actor


class RayCollectors:
    """As many actors as the settings say; one that dies is replaced, and plays its part again.

    Orders decide everything about their episodes, so a part played twice is the same twice.
    """

    def __init__(
        self, config: RunConfig, perception: Perception | None, address: str | None = None
    ) -> None:
        number = config.collect.collectors
        self._ray = connect(address, number * config.threads)
        self._player = self._ray.remote(num_cpus=config.threads)(RoundPlayer)
        self._given = (to_json(config), rows_of(config), perception)
        self._actors = [self._player.remote(*self._given) for _ in range(number)]
        self._orders: list[Order] = []
        self._parts: list[Any] = []

    def begin(self, orders: Sequence[Order]) -> None:
        self._orders = list(orders)
        self._parts = [
            actor.play.remote(order) for actor, order in zip(self._actors, orders, strict=True)
        ]

    def finish(self) -> list[Episode]:
        return [self._part(index) for index in range(len(self._parts))]

    def _part(self, index: int) -> Episode:
        error: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return self._ray.get(self._parts[index])
            except self._ray.exceptions.RayTaskError:
                raise  # a mistake of ours, not of a node's
            except self._ray.exceptions.RayError as lost:
                error = lost
                self._actors[index] = self._player.remote(*self._given)
                self._parts[index] = self._actors[index].play.remote(self._orders[index])
        words = str(error).strip().splitlines() or ["it said nothing"]
        raise SmorlError(
            f"collectors died {_ATTEMPTS} times in a row ({type(error).__name__}: {words[-1]}). "
            "The last checkpoint is whole; the same command goes on when the cluster is well again."
        )

    def close(self) -> None:
        """End the actors and leave the cluster."""
        self._ray.shutdown()
