"""A ring of whole episodes over object sets; every observation is stored once."""

from __future__ import annotations

import numpy as np

from smorl.errors import InvalidInput
from smorl.types import Episode, ObjectGoal, ObjectLayout, ObjectSet


class Replay:
    """The last `capacity` environment steps, as episodes of one length `horizon`."""

    def __init__(self, capacity: int, horizon: int, layout: ObjectLayout, actions: int) -> None:
        if capacity < horizon:
            raise InvalidInput(
                f"a replay of {capacity} steps cannot hold one episode of {horizon} steps; "
                f"raise the capacity."
            )
        count = capacity // horizon
        try:
            self.episodes = _nothing(count, horizon, layout, actions)
        except (MemoryError, ValueError) as error:  # numpy's for more than an address can say
            raise InvalidInput(
                f"a replay of {capacity} steps does not fit into memory; lower "
                f"--collect.replay_steps."
            ) from error
        self.capacity, self.horizon = count, horizon
        self.next, self.size = 0, 0

    def add(self, episodes: Episode) -> None:
        """Store K episodes, overwriting the oldest."""
        count = len(episodes.actions)
        if episodes.actions.shape[1] != self.horizon:
            raise InvalidInput(
                f"episodes of {episodes.actions.shape[1]} steps do not fit a replay of "
                f"{self.horizon}-step episodes."
            )
        if count > self.capacity:
            episodes, count = episodes[-self.capacity :], self.capacity
        index = (self.next + np.arange(count)) % self.capacity
        for target, source in _pairs(self.episodes, episodes):
            target[index] = source
        self.next = int((self.next + count) % self.capacity)
        self.size = min(self.capacity, self.size + count)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Return the filled part of every array, by name, and the pointers."""
        arrays = {name: array[: self.size] for name, array in _named(self.episodes)}
        return arrays, {"next": self.next, "size": self.size}

    def load(self, arrays: dict[str, np.ndarray], pointers: dict[str, int]) -> None:
        """Restore `state`."""
        self.next, self.size = pointers["next"], pointers["size"]
        if not (0 <= self.next < self.capacity and 0 <= self.size <= self.capacity):
            raise InvalidInput(f"{pointers} are no places in a replay of {self.capacity} episodes.")
        for name, array in _named(self.episodes):
            found, wanted = arrays[name], array[: self.size]
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                raise InvalidInput(
                    f"{name!r} is {found.dtype} {found.shape}, which does not fit the replay's "
                    f"{wanted.dtype} {wanted.shape}."
                )
            wanted[:] = found


def _nothing(count: int, horizon: int, layout: ObjectLayout, actions: int) -> Episode:
    """Return room for `count` episodes; memory is used only as far as it is filled."""
    steps, slots = horizon + 1, layout.slots
    names = ("what", "position", "scale", "depth", "motion")
    sizes = {k: getattr(layout, k) for k in names}
    parts = {k: np.zeros((count, steps, slots, d), np.float32) for k, d in sizes.items()}
    present, ids = (np.zeros((count, steps, slots), kind) for kind in (bool, np.int32))
    objects = ObjectSet(**parts, present=present, ids=ids)
    parts = {k: np.zeros((count, sizes[k]), np.float32) for k in names[:3]}
    goal = ObjectGoal(**parts, id=np.zeros(count, np.int32))
    return Episode(objects, np.zeros((count, horizon, actions), np.float32), goal)


def _named(episodes: Episode) -> list[tuple[str, np.ndarray]]:
    return [
        *((f"objects.{name}", array) for name, array in episodes.objects.arrays()),
        ("actions", episodes.actions),
        *((f"goal.{name}", array) for name, array in episodes.goal.arrays()),
    ]


def _pairs(a: Episode, b: Episode) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(x, y) for (_, x), (_, y) in zip(_named(a), _named(b), strict=True)]
