"""The nouns that cross module borders: sets of objects, goals, episodes and training batches.

Arrays carry any leading batch dimensions, written `...` below; `N` is the number of slots.
The same classes hold NumPy arrays (simulation, replay) and torch tensors (learning).

A state that is one flat vector (SAC+HER, RIG, Skew-Fit) is a set of ONE object whose appearance
has zero dimensions and whose position is the vector: it always matches its goal, and the distance
of Eq. 7 becomes the plain distance between vectors. So every method shares replay, relabelling,
reward and learner (docs/decisions/0002-a-vector-is-a-set-of-one.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

Array = Any  # np.ndarray or torch.Tensor; one name, because both index and broadcast alike


class _Arrays:
    """Field-wise operations shared by the dataclasses below."""

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield (field name, array)."""
        for field in fields(self):  # pyright: ignore[reportArgumentType]
            yield field.name, getattr(self, field.name)

    def map(self, function: Callable[[Array], Array]):
        """Return the same noun with `function` applied to every array."""
        return type(self)(**{name: function(array) for name, array in self.arrays()})

    def __getitem__(self, index: Any):
        """Index the leading dimensions of every array."""
        return self.map(lambda array: array[index])

    @classmethod
    def stack(cls, parts: Sequence[Self], axis: int = 1) -> Self:
        """Return several as one: frames (B, ...) become episodes (B, T, ...)."""
        return cls._of(parts, lambda arrays: np.stack(arrays, axis))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of several, one after the other."""
        return cls._of(parts, np.concatenate)

    @classmethod
    def _of(cls, parts: Sequence[Self], function: Callable[[list[Array]], Array]) -> Self:
        names = [name for name, _ in parts[0].arrays()]
        return cls(**{name: function([getattr(part, name) for part in parts]) for name in names})


def unknown_ids(shape: tuple[int, ...]) -> np.ndarray:
    """Return the ids of objects that nobody follows: -1, read-only."""
    return np.broadcast_to(np.int64(-1), shape)


@dataclass(frozen=True)
class Spaces:
    """What an environment shows and takes, which is all that the parts of an agent ask of it.

    observation: (H, W, 3) of pictures or (D,) of states; goal: the same of `desired_goal`, None if
    there is none; actions: length of an action in [-1, 1]; objects: how many there are, the
    agent's own body included, None if the environment does not say.
    """

    observation: tuple[int, ...]
    actions: int
    goal: tuple[int, ...] | None = None
    objects: int | None = None

    @property
    def visual(self) -> bool:
        """Are observations pictures?"""
        return len(self.observation) == 3


@dataclass(frozen=True)
class ObjectLayout:
    """Sizes of an object's parts. `slots` is the fixed number of slots N of a set."""

    slots: int
    what: int
    position: int = 2
    scale: int = 0
    depth: int = 0
    motion: int = 0

    @property
    def features(self) -> int:
        """Length of one object's feature vector."""
        return self.what + self.position + self.scale + self.depth + self.motion


@dataclass(frozen=True)
class ObjectSet(_Arrays):
    """Objects of a frame, in slots; absent slots are zero and `present` is False there.

    what (..., N, W) appearance; position (..., N, P) metres on ground truth, image coordinates on
    pixels; scale (..., N, S); depth (..., N, D); present (..., N) bool; ids (..., N) int, which
    names an object through an episode as far as the encoder can tell, -1 where nobody knows. Only
    the tracking reward looks at ids; no network sees them. motion (..., N, M) is how far an object
    has gone since the frame before, 0 if that is unknown; encoders without it have M = 0.
    """

    what: Array
    position: Array
    scale: Array
    depth: Array
    present: Array
    ids: Array = None  # left out: nobody knows
    motion: Array = None  # left out: there is none

    def __post_init__(self) -> None:
        if self.ids is None:
            object.__setattr__(self, "ids", unknown_ids(np.shape(self.present)))
        if self.motion is None:
            none = np.zeros((*np.shape(self.present), 0), np.float32)
            object.__setattr__(self, "motion", none)

    @classmethod
    def of_vectors(cls, vectors: np.ndarray) -> ObjectSet:
        """Return vectors (B, D) as sets of one object without appearance; see the module."""
        nothing = np.zeros((len(vectors), 1, 0), np.float32)
        position = np.asarray(vectors, np.float32)[:, None]
        one = np.ones((len(vectors), 1), bool)
        return cls(nothing, position, nothing, nothing, one, ids=np.zeros(one.shape, np.int64))

    def features(self) -> np.ndarray:
        """Return [what; position; scale; depth; motion] per object, (..., N, F)."""
        return np.concatenate(self._parts(), axis=-1)

    @property
    def layout(self) -> ObjectLayout:
        """Return the sizes of the parts."""
        return ObjectLayout(self.present.shape[-1], *(part.shape[-1] for part in self._parts()))

    def _parts(self) -> tuple[Array, ...]:
        return self.what, self.position, self.scale, self.depth, self.motion

    def goals(self) -> ObjectGoal:
        """Return every object as a goal of its own: (..., N, .) arrays."""
        return ObjectGoal(self.what, self.position, self.scale, self.ids)


@dataclass(frozen=True)
class ObjectGoal(_Arrays):
    """One object at a place: what (..., W), position (..., P), scale (..., S), id (...,) int.

    The id is the object's in the episode the goal was set in, -1 if it comes from elsewhere, such
    as a goal image.
    """

    what: Array
    position: Array
    scale: Array
    id: Array = None  # left out: nobody knows

    def __post_init__(self) -> None:
        if self.id is None:
            object.__setattr__(self, "id", unknown_ids(np.shape(self.what)[:-1]))

    def features(self, layout: ObjectLayout) -> np.ndarray:
        """Return [what; position; scale; 0] so that goals share the embedding of objects.

        Release: the goal's depth is always zero; the paper lists it without saying its value.
        """
        zeros = np.zeros((*self.what.shape[:-1], layout.depth + layout.motion), self.what.dtype)
        return np.concatenate([self.what, self.position, self.scale, zeros], axis=-1)


@dataclass(frozen=True)
class Episode(_Arrays):
    """Whole episodes, (K, ...) leading: H + 1 observed sets and the H actions between them."""

    objects: ObjectSet  # (K, H + 1, N, .)
    actions: Array  # (K, H, A)
    goal: ObjectGoal  # (K, .)

    def map(self, function: Callable[[Array], Array]) -> Episode:
        return Episode(self.objects.map(function), function(self.actions), self.goal.map(function))


@dataclass(frozen=True)
class Batch(_Arrays):
    """What one SAC update needs, as float arrays of features: leading dimension B."""

    objects: Array  # (B, N, F)
    present: Array  # (B, N) bool
    goal: Array  # (B, F)
    action: Array  # (B, A)
    reward: Array  # (B,)
    next_objects: Array  # (B, N, F)
    next_present: Array  # (B, N) bool
