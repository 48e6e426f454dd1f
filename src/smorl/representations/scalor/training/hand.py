"""Teach the whole picture to tell where the hand is, by where the tracker mostly sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch.nn import functional as F

from smorl.devices import CPU, device_of, to_tensor
from smorl.goals.own_body import hand_and_things
from smorl.representations.scalor.tracking.hand import Hand, HandFinder
from smorl.representations.scalor.training.own_body import Followed, follow
from smorl.representations.scalor.training.settings import HandConfig
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.video import Sequences
from smorl.seeding import stream

_EPISODES = 250  # of the data, at most
_FEWEST = 100  # sightings of a hand below which nothing is learned
_CLOSE = 0.01  # image coordinates: smaller errors count squared, so that the median is learned


def with_hand(
    weights: PerceptionWeights, data: Sequences, config: HandConfig, seed: int
) -> PerceptionWeights:
    """Return `weights` that also know where the hand is, learned from the data as they track it.

    The loss grows linearly, so the network learns where the tracker sees the hand in most of the
    frames that look alike, and the frames in which a mask ends elsewhere are outvoted. Nothing
    changes where it is not asked for, or no hand is seen.
    """
    followed = follow(weights, data, _EPISODES) if config.iterations else None
    if followed is None:
        return weights
    images, places = sightings(followed)
    if len(places) < _FEWEST:
        return weights
    finder = learn_places(images, places, config, seed, device_of(weights.model))
    return replace(weights, hand=Hand(finder, followed.rest))


def sightings(followed: Followed) -> tuple[np.ndarray, np.ndarray]:
    """Return the pictures (M, S, S, 3) in which a body is seen, and where its hand is (M, 2)."""
    objects, contact = followed.objects, followed.contact
    reach = np.zeros(objects.position.shape[-1]) if contact is None else contact.reach
    hand, _ = hand_and_things(objects, followed.rest, reach)
    seen = (objects.present & (followed.rest.of(objects.what) < 0.5)).any(-1)
    place = np.take_along_axis(objects.position, hand[..., None, None], 2)[..., 0, :]
    return followed.images[seen], place[seen]


def learn_places(
    images: np.ndarray,
    places: np.ndarray,
    config: HandConfig,
    seed: int,
    device: torch.device = CPU,
) -> HandFinder:
    """Return a network that tells from pictures uint8 (M, S, S, 3) what `places` (M, 2) tell."""
    rng = stream(seed, "perception/hand")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        finder = HandFinder(images.shape[1]).to(device)
    mean = images.mean(0, dtype=np.float64).astype(np.float32)
    finder.usual.copy_(torch.from_numpy(mean).permute(2, 0, 1) / 255)
    target = to_tensor(np.asarray(places, np.float32), device)
    with torch.no_grad():
        finder.head.bias.copy_(target.median(0).values)
    optimiser = torch.optim.Adam(finder.parameters(), config.lr)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.lr, config.iterations + 1)
    for _ in range(config.iterations):
        chosen = rng.integers(0, len(images), config.batch)
        found = finder(_pictures(images[chosen], device))
        loss = F.smooth_l1_loss(found, target[to_tensor(chosen, device)], beta=_CLOSE)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
    return finder.eval().requires_grad_(False)


def _pictures(images: np.ndarray, device: torch.device) -> torch.Tensor:
    return to_tensor(images, device).permute(0, 3, 1, 2).contiguous() / 255
