"""Teach the whole picture to tell where hand and things are, by where the tracker mostly sees them.

What counts as a thing is read off the data: appearances that mostly rest (`goals/own_body.py`),
those of one object together. The losses grow linearly with the error of a place, and every picture
has many that look like it, so the frames in which the tracker was wrong are outvoted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn import functional as F

from smorl.devices import CPU, device_of, to_tensor
from smorl.goals.own_body import StillnessModel, hand_and_things
from smorl.goals.priors import nearest_centre
from smorl.representations.scalor.tracking.finder import Finder
from smorl.representations.scalor.tracking.known import Known
from smorl.representations.scalor.training.own_body import Followed, follow
from smorl.representations.scalor.training.settings import FinderConfig
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.video import Sequences
from smorl.seeding import stream

_EPISODES = 500  # of the data, at most
_FEWEST = 100  # sightings of a hand below which nothing is learned
_CLOSE = 0.01  # image coordinates: smaller errors count squared, so that the median is learned
_CLOSE_CELLS = 0.05  # the same within a cell
_ALIKE = 0.7  # share of the matching distance within which clusters look like one thing
_OFTEN = 0.3  # share of the pictures in which a thing is seen at least


@dataclass(frozen=True)
class Sightings:
    """Pictures uint8 (M, S, S, 3), and where the tracker saw the hand (M, 2) and the things
    (M, K, 2) in them; not a number where it did not."""

    images: np.ndarray
    hands: np.ndarray
    things: np.ndarray


def with_finder(
    weights: PerceptionWeights, data: Sequences, config: FinderConfig, seed: int
) -> PerceptionWeights:
    """Return `weights` that also know where hand and things are, learned from the data as they
    track it. Nothing changes where it is not asked for, or no hand is seen."""
    followed = follow(weights, data, _EPISODES) if config.iterations else None
    if followed is None:
        return weights
    objects, centres = followed.objects, followed.rest.centres
    cluster = np.where(objects.present, nearest_centre(objects.what, centres), -1)
    often = np.array([(cluster == c).any(-1).mean() for c in range(len(centres))])
    kinds = kinds_of_things(followed.rest, often, weights.threshold)
    seen = sightings(followed, kinds)
    if np.isfinite(seen.hands[:, 0]).sum() < _FEWEST:
        return weights
    finder = learn(seen, config, seed, device_of(weights.model))
    return replace(weights, known=Known(finder, followed.rest, kinds, *usual(followed, kinds)))


def kinds_of_things(rest: StillnessModel, often: np.ndarray, same: float) -> np.ndarray:
    """Return which thing (C,) each cluster of appearances is, -1 if none.

    Clusters that look alike are of one thing. `often` (C,) is the share of pictures in which each
    is seen: what is seldom seen is another look of a thing less than `same` away, or nothing.
    """
    kinds, resting = np.full(len(rest.rest), -1), np.flatnonzero(rest.rest >= 0.5)
    centres = rest.centres[resting]
    gap = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
    if not len(resting):
        return kinds
    group = connected_components(gap < _ALIKE * same, directed=False)[1]
    usually = np.bincount(group, often[resting]) >= _OFTEN
    nearest = np.where(usually[group], gap, np.inf)  # (cluster, cluster of something usual)
    beside = np.where(nearest.min(1) < same, group[nearest.argmin(1)], -1)
    group = np.where(usually[group], group, beside)
    names = np.cumsum(usually) - 1
    kinds[resting] = np.where(group >= 0, names[group], -1)
    return kinds


def sightings(followed: Followed, kinds: np.ndarray) -> Sightings:
    """Return every picture, and what the tracker saw in it; a thing that it saw twice is unseen."""
    objects, contact = followed.objects, followed.contact
    reach = np.zeros(objects.position.shape[-1]) if contact is None else contact.reach
    hand, _ = hand_and_things(objects, followed.rest, reach)
    body = (objects.present & (followed.rest.of(objects.what) < 0.5)).any(-1)
    hands = np.where(body[..., None], _take(objects.position, hand), np.nan)
    places = np.full((*hands.shape[:-1], kinds.max(initial=-1) + 1, 2), np.nan, np.float32)
    kind, now = _kinds(followed, kinds), objects.depth[..., -1] == 0
    for k in range(places.shape[-2]):
        mine = (kind == k) & now
        once = mine.sum(-1) == 1
        places[..., k, :][once] = _take(objects.position, mine.argmax(-1))[once]
    return Sightings(
        followed.images.reshape(-1, *followed.images.shape[2:]),
        hands.reshape(-1, 2).astype(np.float32),
        places.reshape(-1, *places.shape[-2:]),
    )


def usual(followed: Followed, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what a usual sighting of each thing, and last of the body, is like: its appearance
    (K + 1, W), half extent (K + 1, 2) and depth (K + 1, D)."""
    objects, kind = followed.objects, _kinds(followed, kinds)
    body = objects.present & (followed.rest.of(objects.what) < 0.5)
    found = []
    for mine in [*(kind == k for k in range(kinds.max(initial=-1) + 1)), body]:
        parts = objects.what, objects.scale, objects.depth[..., :-1]
        found.append([np.median(part[mine], axis=0).astype(np.float32) for part in parts])
    # A median of many poses may look like nothing: the body looks as the commonest cluster does.
    clusters = nearest_centre(objects.what[body], followed.rest.centres)
    found[-1][0] = followed.rest.centres[np.bincount(clusters).argmax()].astype(np.float32)
    looks, extents, depths = (np.stack(parts) for parts in zip(*found, strict=True))
    return looks, extents, depths


def learn(seen: Sightings, config: FinderConfig, seed: int, device: torch.device = CPU) -> Finder:
    """Return a network that tells from pictures what the sightings tell."""
    rng = stream(seed, "perception/finder")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        finder = Finder(seen.images.shape[1], seen.things.shape[1]).to(device)
    mean = seen.images.mean(0, dtype=np.float64).astype(np.float32)
    finder.usual.copy_(torch.from_numpy(mean).permute(2, 0, 1) / 255)
    hands = to_tensor(seen.hands, device)
    places = torch.cat([to_tensor(seen.things, device), hands[:, None]], 1)
    with torch.no_grad():
        finder.head.bias.copy_(hands.nanmedian(0).values)
    optimiser = torch.optim.Adam(finder.parameters(), config.lr)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.lr, config.iterations + 1)
    for _ in range(config.iterations):
        drawn = rng.integers(0, len(hands), config.batch)
        chosen = to_tensor(drawn, device)
        hand, logit, offset = finder.maps(_pictures(seen.images[drawn], device))
        loss = _hand_loss(hand, hands[chosen]) + _cell_loss(logit, offset, places[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
    return finder.eval().requires_grad_(False)


def _hand_loss(hand: Tensor, told: Tensor) -> Tensor:
    known = torch.isfinite(told)
    away = F.smooth_l1_loss(hand, told.nan_to_num(), beta=_CLOSE, reduction="none")
    return (away * known).sum() / known.sum().clamp_min(1)


def _cell_loss(logit: Tensor, offset: Tensor, told: Tensor) -> Tensor:
    """Is it in this cell, and where in it? Asked of pictures in which the tracker saw it."""
    size = logit.shape[-1]  # pictures are square
    known = torch.isfinite(told[..., 0])
    at = ((told.nan_to_num() + 1) / 2 * size).clamp(0, size - 1e-3)
    cell = at.long()
    index = cell[..., 1] * size + cell[..., 0]
    there = torch.zeros_like(logit.flatten(2)).scatter_(2, index[..., None], 1.0)
    wrong = F.binary_cross_entropy_with_logits(logit.flatten(2), there, reduction="none").sum(2)
    inside = offset.flatten(3).gather(3, index[:, None, :, None].expand(-1, 2, -1, 1))[..., 0]
    target = (at - cell - 0.5).transpose(1, 2)
    away = F.smooth_l1_loss(inside, target, beta=_CLOSE_CELLS, reduction="none").sum(1)
    return ((wrong + away) * known).mean()


def _kinds(followed: Followed, kinds: np.ndarray) -> np.ndarray:
    """Return which thing every object (E, T, N) is, -1 if none."""
    objects = followed.objects
    return np.where(objects.present, kinds[nearest_centre(objects.what, followed.rest.centres)], -1)


def _take(position: np.ndarray, slot: np.ndarray) -> np.ndarray:
    return np.take_along_axis(position, slot[..., None, None], 2)[..., 0, :]


def _pictures(images: np.ndarray, device: torch.device) -> Tensor:
    return to_tensor(images, device).permute(0, 3, 1, 2).contiguous() / 255
