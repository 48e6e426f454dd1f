"""Training the beta-VAE. Everything that changes is an argument, so any split resumes exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from smorl.errors import Diverged, InvalidInput
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import VaeTraining

Progress = Callable[[int, int], None]


def make_optimizer(model: BetaVae, config: VaeTraining) -> torch.optim.Optimizer:
    """Return Adam over the model's parameters; its state belongs into checkpoints."""
    return torch.optim.Adam(model.parameters(), lr=config.lr, fused=True)


def train_vae(
    model: BetaVae,
    optimizer: torch.optim.Optimizer,
    images: np.ndarray,
    config: VaeTraining,
    batches: int,
    generator: torch.Generator,
    weights: np.ndarray | None = None,
    progress: Progress | None = None,
) -> dict[str, float]:
    """Make `batches` gradient steps on uint8 pictures (M, S, S, 3); return the terms' means.

    `weights` (M,), summing to 1, are the probabilities of drawing each picture (Skew-Fit); without
    them all are alike. Model, optimiser and generator are changed in place and are all there is:
    a + b batches in one call or in two give the same bits.
    """
    cumulative = _cumulative(weights, len(images))
    sums: dict[str, float] = {}
    for done in range(batches):
        index = _draw(config.batch, len(images), cumulative, generator)
        terms = model.loss(model.prepare(images[index]), generator)
        values = {name: float(value.detach()) for name, value in terms.items()}
        if not math.isfinite(values["loss"]):
            raise Diverged(
                f"the VAE's loss is {values['loss']} after {done} batches; try a learning rate "
                f"below {config.lr}."
            )
        optimizer.zero_grad(set_to_none=True)
        terms["loss"].backward()
        optimizer.step()
        for name, value in values.items():
            sums[name] = sums.get(name, 0.0) + value
        if progress is not None:
            progress(done + 1, batches)
    return {name: value / batches for name, value in sums.items()}


def _cumulative(weights: np.ndarray | None, count: int) -> Tensor | None:
    """Return the distribution function of the weights, or None for the uniform one."""
    if count == 0:
        raise InvalidInput(
            "training a VAE needs at least one picture; collect some episodes first."
        )
    if weights is None:
        return None
    good = weights.shape == (count,) and bool(np.all(weights >= 0))
    if not good or abs(float(weights.sum()) - 1) > 1e-6:
        raise InvalidInput(
            f"weights must be {count} probabilities, one per picture, that sum to 1; got shape "
            f"{weights.shape} and sum {float(weights.sum()):.6g}."
        )
    return torch.from_numpy(np.cumsum(weights, dtype=np.float64))


def _draw(
    size: int, count: int, cumulative: Tensor | None, generator: torch.Generator
) -> np.ndarray:
    if cumulative is None:
        return torch.randint(count, (size,), generator=generator).numpy()
    # Scaled by the last entry, because the sum of rounded weights may miss 1 by a little.
    uniform = torch.rand(size, generator=generator, dtype=torch.float64) * cumulative[-1]
    return torch.searchsorted(cumulative, uniform, right=True).clamp_(max=count - 1).numpy()
