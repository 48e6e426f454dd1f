"""Perceptions that are spoiled on purpose, and all of them judged by the self-check alike.

For `smorl study foretelling`, which asks whether the score ranks with what agents then reach.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from smorl.errors import InvalidInput
from smorl.representations.scalor.training.contact import Toucher, collect_contact
from smorl.representations.scalor.training.data import together
from smorl.representations.scalor.training.self_check import EPISODES, FRAMES, check, judge
from smorl.representations.scalor.weights import PerceptionWeights, save_weights
from smorl.representations.video import Sequences, collect

# Weights get noise of this share of their spread, up to what the network of hand and things cannot
# make good; appearances are scaled, so that with less all look alike, and with more nothing looks
# like itself.
NOISE, SCALES = (0.1, 0.3, 0.6), (0.15, 0.3, 4.0)
save = save_weights


def spoiled(weights: PerceptionWeights, seed: int) -> Iterator[tuple[str, PerceptionWeights]]:
    """Return worse perceptions made of a good one, by name."""
    for share in NOISE:
        generator = torch.Generator().manual_seed(seed)
        model = copy.deepcopy(weights.model)
        with torch.no_grad():
            for value in model.parameters():
                spread = value.std() if value.numel() > 1 else value.abs().mean()
                value += share * spread * torch.randn(value.shape, generator=generator)
        yield f"weights-{share:g}", replace(weights, model=model)
    for scale in SCALES:
        yield f"looks-{scale:g}", replace(weights, what_basis=weights.what_basis * scale)


def video(weights: PerceptionWeights, seed: int, threads: int = 1) -> Sequences:
    """Return fresh sequences to judge by, half of them random motion, half of them pushes."""
    common: dict[str, Any] = {
        "steps": FRAMES - 1, "seed": seed, "threads": threads, "image_size": weights.image_size,
    }  # fmt: skip
    data = collect(weights.env, 4 * EPISODES, **common)  # it takes many to learn how to push
    toucher = Toucher.fit(weights, data)
    if toucher is None:
        raise InvalidInput(
            "the first perception finds no hand that moves things, so nothing can be pushed before "
            "its eyes; name a good one first."
        )
    half = EPISODES // 2
    pushes = collect_contact(weights.env, weights.tracker(), toucher, half, **common)
    images, actions = data.images[:half], data.actions[:half]
    return together(Sequences(data.env, data.seed, images, actions), pushes)


def judged(weights: PerceptionWeights, data: Sequences) -> dict[str, float | bool]:
    """Return the self-check's numbers, its score among them, and whether it is content."""
    found = check(weights.tracker(), weights.threshold, data)
    return {**found.row(), "healthy": not judge(found)}
