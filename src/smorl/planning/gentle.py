"""Gentle contact: slow down near objects, so that they are pushed and not kicked.

Ours, not the paper's (docs/planning.md). A hand that meets an object at full speed sends it
across the table, farther than anybody can foresee. Where contact begins and how far a full action
goes are read off random data, so nothing here knows the table, the robot or the camera.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.stats import rankdata

from smorl.goals.own_body import StillnessModel
from smorl.types import ObjectSet

_FEW = 20  # contacts below which nothing can be fitted
_TOUCH, _STEP = 0.25, 0.9  # quantiles: of gaps at which objects move, and of the body's own steps
_MOVED = 0.3  # long steps of the body; trembling of tracked places stays well below
_SPANS = (2.0, 0.5, 0.12)  # of the search for the offset, in long steps


@dataclass(frozen=True)
class GentleConfig:
    """How an agent approaches objects."""

    floor: float = 0.28  # share of an action that is left where body and object touch


@dataclass(frozen=True)
class GentleContact:
    """Scales actions by the gap between the own body and the nearest object.

    The gap is || basis^T (body - object - offset) ||, in long steps of the body: `basis` (P, P)
    makes steps in all directions equally long, and `offset` (P,) is where the body is when it
    touches, which a camera that looks from the side shifts. Of several parts of the body the one
    farthest along `reach` is the hand.
    """

    centres: np.ndarray  # (C, W) appearance clusters
    body: np.ndarray  # (C,) bool: whether a cluster belongs to the own body
    offset: np.ndarray
    basis: np.ndarray
    touch: np.ndarray  # () the gap below which objects move
    floor: np.ndarray  # ()
    reach: np.ndarray  # (P,) points to the part of the body that touches; 0: there is one part only

    def __call__(self, objects: ObjectSet, actions: np.ndarray) -> np.ndarray:
        """Return the actions (K, A) that are carried out."""
        return (actions * self.scale(objects)[..., None]).astype(np.float32)

    def scale(self, objects: ObjectSet) -> np.ndarray:
        """Return the share (...,) of an action that is carried out: as far as the way is free."""
        return np.clip(self.gap(objects) - self.touch, self.floor, 1).astype(np.float32)

    def gap(self, objects: ObjectSet) -> np.ndarray:
        """Return the smallest gap (...,) between the hand and an object; inf: there is none."""
        body, place = self._body(objects), objects.position
        along = np.where(body, place @ self.reach, -np.inf)
        hand = body & (along == along.max(-1, keepdims=True))
        pair = hand[..., :, None] & (objects.present & ~body)[..., None, :]
        away = place[..., :, None, :] - place[..., None, :, :] - self.offset
        gap = np.where(pair, np.linalg.norm(away @ self.basis, axis=-1), np.inf)
        return gap.reshape(*gap.shape[:-2], -1).min(-1)

    def _body(self, objects: ObjectSet) -> np.ndarray:
        offset = objects.what[..., None, :] - self.centres
        cluster = np.einsum("...i,...i->...", offset, offset).argmin(-1)
        return objects.present & self.body[cluster]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything needed to rebuild it."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

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
        return cls(rest.centres, rest.rest < 0.5, *(np.asarray(f, np.float32) for f in floats))


def steps_by_id(now: ObjectSet, following: ObjectSet) -> tuple[np.ndarray, np.ndarray]:
    """How far (..., N, P) each object goes, by its tracker ID, and whether it is seen again."""
    same = (now.ids[..., :, None] == following.ids[..., None, :]) & (now.ids >= 0)[..., None]
    same &= now.present[..., :, None] & following.present[..., None, :]
    place = np.take_along_axis(following.position, same.argmax(-1)[..., None], axis=-2)
    return place - now.position, same.any(-1)


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
            ranks = [rankdata(_gaps(away, parts, t))[moved].mean() for t in tried]
            offset = tried[int(np.argmin(ranks))]
    return offset
