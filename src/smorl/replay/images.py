"""The pictures behind replayed latents: what a VAE trains on, and what it encodes anew."""

from __future__ import annotations

import numpy as np

from smorl.errors import InvalidInput


class Pictures:
    """Pictures of the last `capacity` episodes, in the slots that `Replay` gives these episodes.

    `frames` uint8 (C, H + 1, S, S, 3) are what was seen, `goals` (C, S, S, 3) what the goals of the
    episodes look like. A picture of 48 pixels takes 7 kB, so 100,000 steps take 0.7 GB; memory is
    used only as far as it is filled.
    """

    def __init__(self, capacity: int, horizon: int, size: int) -> None:
        try:
            self.frames = np.zeros((capacity, horizon + 1, size, size, 3), np.uint8)
            self.goals = np.zeros((capacity, size, size, 3), np.uint8)
        except (MemoryError, ValueError) as error:  # numpy's for more than an address can say
            raise InvalidInput(
                f"the pictures of {capacity} episodes do not fit into memory; lower "
                f"--collect.replay_steps."
            ) from error
        self.added = 0  # episodes ever stored; number `e` lives in slot e % capacity

    @property
    def capacity(self) -> int:
        return len(self.frames)

    @property
    def size(self) -> int:
        """How many episodes are stored now."""
        return min(self.added, self.capacity)

    @property
    def first(self) -> int:
        """The number of the oldest episode that is still stored."""
        return self.added - self.size

    def add(self, frames: np.ndarray, goals: np.ndarray) -> None:
        """Store the pictures of K episodes, overwriting the oldest."""
        if frames.shape[1:] != self.frames.shape[1:] or len(frames) != len(goals):
            raise InvalidInput(
                f"pictures of shape {frames.shape} with {len(goals)} goals do not fit a store of "
                f"{self.frames.shape[1:]} per episode."
            )
        # As `Replay` does with more episodes than fit, so that slots stay the same.
        frames, goals = frames[-self.capacity :], goals[-self.capacity :]
        slots = self._slots(self.added, self.added + len(frames))
        self.frames[slots], self.goals[slots] = frames, goals
        self.added += len(frames)

    def flat(self) -> np.ndarray:
        """Return every stored frame, (M, S, S, 3), as a view: M is episodes times H + 1."""
        return self.frames[: self.size].reshape(-1, *self.frames.shape[2:])

    def joined(self, start: int, stop: int) -> np.ndarray:
        """Return frames and, last, the goal of the episodes numbered start ... stop - 1."""
        slots = self._slots(start, stop)
        return np.concatenate([self.frames[slots], self.goals[slots][:, None]], axis=1)

    def restore(self, start: int, joined: np.ndarray) -> None:
        """Put back what `joined` returned; `added` is the caller's business."""
        slots = self._slots(start, start + len(joined))
        self.frames[slots], self.goals[slots] = joined[:, :-1], joined[:, -1]

    def _slots(self, start: int, stop: int) -> np.ndarray:
        return np.arange(start, stop) % self.capacity
