"""The representation contract: observations become objects, goals come from somewhere.

An `Encoder` turns observations into objects; its recurrent state is explicit, it goes in and comes
out. A `Representation` is an encoder with what training it along a run takes. Whoever is trained
before the run, or not at all, is `Fixed`. What was trained before a run is a `Perception`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from smorl.types import Episode, ObjectLayout, ObjectSet

if TYPE_CHECKING:
    from torch import Tensor
    from torch import device as Device


class Encoder(Protocol):
    """Observation -> ObjectSet, batched over environments."""

    layout: ObjectLayout

    def init(self, batch: int) -> Any:
        """Return the carry before the first frame of `batch` episodes."""
        ...

    def step(
        self, carry: Any, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[Any, ObjectSet]:
        """Encode one observation per row, given the actions that led to it."""
        ...

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode goal observations, each on its own, without history."""
        ...


class Memoryless:
    """The part of an encoder that has no history: a frame is seen as a goal is."""

    def init(self, batch: int) -> None:
        """There is no history to carry."""

    def step(
        self, carry: None, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[None, ObjectSet]:
        """Encode one observation per row."""
        return None, self.encode_goal(observation)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Encode observations, each on its own."""
        raise NotImplementedError


@dataclass(frozen=True)
class Drawing:
    """The model's view of the last frame, floats in [0, 1]; masks (B, N, S, S) per slot."""

    reconstruction: np.ndarray
    foreground: np.ndarray
    background: np.ndarray
    masks: np.ndarray


class PictureEncoder(Encoder, Protocol):
    """An encoder of pictures that can show what it has seen, and what it expects."""

    @property
    def image_size(self) -> int:
        """Pixels of a side of the pictures that it takes."""
        ...

    def draw(self, carry: Any) -> Drawing:
        """Return what it makes of the last frame, and a mask per slot."""
        ...

    def seen_now(self, carry: Any) -> np.ndarray:
        """Which slots (B, N) were in the last frame itself, not only remembered?"""
        ...

    def raw_appearance(self, carry: Any) -> np.ndarray:
        """Return appearances (B, N, W) as inferred from the last frame alone."""
        ...

    def imagine(self, carry: Any, actions: np.ndarray) -> np.ndarray:
        """Return pictures (B, T, S, S, 3) in [0, 1] of what it expects of actions (B, T, A)."""
        ...


class Perception(Protocol):
    """Something trained before a run that sees objects in pictures, kept in one file."""

    @property
    def digest(self) -> str | None:
        """The hash of the file it was read from."""
        ...

    @property
    def env(self) -> str:
        """The environment whose pictures it was trained on."""
        ...

    @property
    def actions(self) -> int:
        """How many numbers the actions have that it was trained with."""
        ...

    @property
    def image_size(self) -> int:
        """Pixels of a side of the pictures that it takes."""
        ...

    @property
    def threshold(self) -> float:
        """The largest distance of appearances that counts as the same object."""
        ...

    @property
    def prior(self) -> dict[str, np.ndarray]:
        """Where objects were in its data, as arrays for `goals.priors.from_arrays`."""
        ...

    def tracker(self, config: Any = None, device: Device | None = None) -> PictureEncoder:
        """Return the encoder, by settings of its own kind or by its usual ones.

        `device` is where its networks compute; None: where they are.
        """
        ...

    def track(self, frames: np.ndarray, actions: np.ndarray | None = None) -> ObjectSet:
        """Follow the objects of a video uint8 (T, H, W, 3): a set of arrays (T, N, .)."""
        ...


class Representation(Protocol):
    """An encoder that may be trained along a run, between its rounds.

    The loop hands it every round (`add`), tells it when the random data is complete (`start`) and
    how far learning has come (`owe`); as long as `pending_batches` are left it calls `advance`
    instead of collecting, and `refresh` when none are.
    """

    @property
    def name(self) -> str:
        """What is trained, for people and for the log."""
        ...

    @property
    def ready(self) -> bool:
        """Is there anything to see yet? Until then the agent learns nothing."""
        ...

    @property
    def pending_batches(self) -> int:
        """Batches to train before the next round."""
        ...

    @property
    def trained(self) -> int:
        """Batches trained so far."""
        ...

    @property
    def pictures(self) -> Any:
        """The replayed pictures it trains on, or None if it needs none (any more)."""
        ...

    def add(self, episodes: Episode, frames: np.ndarray, pursued: bool) -> None:
        """Keep what it needs of new episodes and their pictures (K, H + 1, S, S, 3)."""
        ...

    def start(self) -> None:
        """The random data is complete."""
        ...

    def owe(self, before: int, after: int) -> None:
        """Learning went from step `before` to step `after`."""
        ...

    def advance(self) -> dict[str, float]:
        """Train some of the pending batches; return the means of the loss and its terms."""
        ...

    def refresh(self, replay: Any, space: Any, steps: int) -> Any:
        """Bring the replay up to date with what was learned; return the goal space of now."""
        ...

    def forget(self) -> None:
        """Nothing will be trained any more."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return what was learned and acting needs, by its names in a checkpoint."""
        ...

    def save(self) -> tuple[dict[str, Tensor], dict[str, np.ndarray], dict[str, Any]]:
        """Return tensors, arrays and JSON for a checkpoint."""
        ...

    def load(self, checkpoint: Any) -> None:
        """Restore `save`."""
        ...


class Fixed:
    """A representation that is ready and stays as it is."""

    name, ready, pending_batches, trained, pictures = "nothing", True, 0, 0, None

    def add(self, episodes: Episode, frames: np.ndarray, pursued: bool) -> None:
        """Nothing is trained on them."""

    def start(self) -> None:
        """There is nothing to train."""

    def owe(self, before: int, after: int) -> None:
        """There is nothing to train."""

    def advance(self) -> dict[str, float]:
        """Nothing is pending, so nobody calls this."""
        return {}

    def refresh(self, replay: Any, space: Any, steps: int) -> Any:
        """Nothing has changed."""
        return space

    def forget(self) -> None:
        """There is nothing to forget."""

    def tensors(self) -> dict[str, Tensor]:
        """What was learned before the run is not the run's to keep."""
        return {}

    def save(self) -> tuple[dict[str, Tensor], dict[str, np.ndarray], dict[str, Any]]:
        """There is nothing to save."""
        return {}, {}, {}

    def load(self, checkpoint: Any) -> None:
        """There is nothing to load."""
