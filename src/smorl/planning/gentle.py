"""Gentle contact: slow down near objects, so that they are pushed and not kicked.

Ours, not the paper's (docs/planning.md). A hand that meets an object at full speed sends it
across the table, farther than anybody can foresee. Where contact begins and how far a full action
goes are read off random data, so nothing here knows the table, the robot or the camera.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from smorl.goals.own_body import StillnessModel, hand_and_things, steps_by_id
from smorl.ranges import within
from smorl.types import ObjectSet

_FEW = 20  # contacts below which nothing can be fitted
_TOUCH, _STEP = 0.25, 0.9  # quantiles: of gaps at which objects move, and of the body's own steps
_MOVED = 0.3  # long steps of the body; trembling of tracked places stays well below
_SPANS = (2.0, 0.5, 0.12)  # of the search for the offset, in long steps


@dataclass(frozen=True)
class GentleConfig:
    """How an agent approaches objects."""

    floor: float = 0.28  # share of an action that is left where body and object touch

    def __post_init__(self) -> None:
        within(self, {"floor": (1e-3, 1)})


@dataclass(frozen=True)
class GentleContact:
    """Scales actions by the gap between the own body and the nearest object.

    The gap is || basis^T (body - object - offset) ||, in long steps of the body: `basis` (P, P)
    makes steps in all directions equally long, and `offset` (P,) is where the body is when it
    touches, which a camera that looks from the side shifts. Of several parts of the body the one
    farthest along `reach` is the hand.
    """

    rest: StillnessModel  # tells the own body from things
    offset: np.ndarray
    basis: np.ndarray
    touch: np.ndarray  # () the gap below which objects move
    floor: np.ndarray  # ()
    reach: np.ndarray  # (P,) points to the part of the body that touches; 0: there is one part only

    def __post_init__(self) -> None:
        """Refuse shapes that no fit has; a file may say anything."""
        size = np.size(self.offset)
        wanted = {
            "offset": (size,),
            "basis": (size, size),
            "touch": (),
            "floor": (),
            "reach": (size,),
        }
        for name, shape in wanted.items():
            if np.shape(getattr(self, name)) != shape:
                raise ValueError(f"{name} of shape {np.shape(getattr(self, name))}, not {shape}")

    def __call__(self, objects: ObjectSet, actions: np.ndarray) -> np.ndarray:
        """Return the actions (K, A) that are carried out."""
        return (actions * self.scale(objects)[..., None]).astype(np.float32)

    def scale(self, objects: ObjectSet) -> np.ndarray:
        """Return the share (...,) of an action that is carried out: as far as the way is free."""
        return np.clip(self.gap(objects) - self.touch, self.floor, 1).astype(np.float32)

    def gap(self, objects: ObjectSet) -> np.ndarray:
        """Return the smallest gap (...,) between the hand and an object; inf: there is none."""
        hand, things = hand_and_things(objects, self.rest, self.reach)
        place = objects.position
        at = np.take_along_axis(place, hand[..., None, None], -2)
        gap = np.linalg.norm((at - place - self.offset) @ self.basis, axis=-1)
        return np.where(things, gap, np.inf).min(-1)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything needed to rebuild it, besides `rest`."""
        return {f.name: np.asarray(getattr(self, f.name)) for f in fields(self) if f.name != "rest"}

    @classmethod
    def fit(
        cls, objects: ObjectSet, rest: StillnessModel, config: GentleConfig
    ) -> GentleContact | None:
        """Fit to paths (E, T, N) of random actions; None where too few contacts were seen."""
        now, following = objects[:, :-1], objects[:, 1:]
        body = now.present & (rest.of(now.what) < 0.5)
        step, seen = steps_by_id(now, following)
        other = now.present & ~body & seen & body.any(-1, keepdims=True)
        own = step[body & seen]
        if len(own) < _FEW:
            return None
        basis = _round_steps(own)
        moved = np.linalg.norm(step @ basis, axis=-1)[other] > _MOVED
        if moved.sum() < _FEW:
            return None
        place = now.position @ basis
        away = (place[..., None, :, :] - place[..., :, None, :])[other]
        parts = np.broadcast_to(body[..., None, :], (*body.shape, body.shape[-1]))[other]
        offset = _centre(away, parts, moved)
        touch = np.quantile(_gaps(away, parts, offset)[moved], _TOUCH)
        back = np.linalg.inv(basis)
        reach = _reach((away - offset)[moved], parts[moved])
        floats = (offset @ back, basis, touch, config.floor, reach @ back)
        return cls(rest, *(np.asarray(f, np.float32) for f in floats))


def _round_steps(own: np.ndarray) -> np.ndarray:
    """Return the basis (P, P) in which steps (M, P) of the body are round, and a long one is 1.

    Actions of all directions are equally likely, so what is not round is the camera's.
    """
    values, vectors = np.linalg.eigh(np.cov(own.T) + 1e-12 * np.eye(own.shape[1]))
    basis = vectors / np.sqrt(values)
    return basis / max(np.quantile(np.linalg.norm(own @ basis, axis=-1), _STEP), 1e-6)


def _gaps(away: np.ndarray, parts: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the gap (M,) of objects to the nearest part (M, N) of the body, `away` (M, N, P)."""
    return np.where(parts, np.linalg.norm(away - offset, axis=-1), np.inf).min(-1)


def _reach(away: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return where (P,) the part that touches is, seen from the middle of the body's parts.

    `away` (M, N, P) leads from touched objects to slots, of which `parts` (M, N) are the body's.
    """
    several = parts.sum(-1) > 1
    if several.sum() < _FEW:
        return np.zeros(away.shape[-1])
    away, parts = away[several], parts[several]
    nearest = np.where(parts, np.linalg.norm(away, axis=-1), np.inf).argmin(-1)
    middle = (away * parts[..., None]).sum(-2) / parts.sum(-1)[:, None]
    return (away[np.arange(len(away)), nearest] - middle).mean(0)


def _centre(away: np.ndarray, parts: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return the offset (P,) around which gaps tell best which objects move.

    Found by search, axis by axis and ever finer; the measure is the mean rank of the gaps of moved
    objects, which a few falsely tracked ones do not spoil.
    """
    offset = np.zeros(away.shape[-1])
    for span in _SPANS:
        for axis in [*range(len(offset))] * 2:
            tried = offset + np.linspace(-span, span, 9)[:, None] * np.eye(len(offset))[axis]
            ranks = [_ranks(_gaps(away, parts, t))[moved].mean() for t in tried]
            offset = tried[int(np.argmin(ranks))]
    return offset


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks (M,) of values from 1 on; equal ones share the mean of theirs.

    By hand, because importing `scipy.stats` takes longer than all of smorl.
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[where]
