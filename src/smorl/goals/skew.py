"""Skew-Fit: which of the pictures seen so far are rare? Weights p(x)^power from a latent model.

Drawing pictures with these weights gives a flatter distribution than the one they were collected
from: p(x)^(1 + power) where the model is right, so power -1 would be uniform over what was seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from smorl.devices import normal
from smorl.errors import Diverged, InvalidInput
from smorl.ranges import require, within

_DECODED = 512  # latents decoded at once, which bounds the memory


class LatentModel(Protocol):
    """A prior Normal(0, 1) over latents, a decoder, and an approximate posterior."""

    def prepare(self, images: np.ndarray) -> Tensor:
        """Return observations (B, ...) as the tensor the model sees."""
        ...

    def posterior(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, D) of q(z | x)."""
        ...

    def log_likelihood(
        self, pictures: Tensor, latents: Tensor, variance: float | None = None
    ) -> Tensor:
        """Return log p(x | z), (K, B), for latents (K, B, D); `variance` replaces the model's."""
        ...


@dataclass(frozen=True)
class SkewConfig:
    """How strongly rare pictures are preferred. No skew at all is None in place of this."""

    power: float = -0.5  # Release
    samples: int = 10  # Release: latents per picture
    # "importance": log of the mean of p(x, z) / q(z | x); tends to log p(x) with more samples.
    # "bound": Release, the mean of the log, which is the lower bound however many samples.
    estimator: Literal["importance", "bound"] = "importance"
    # Of the decoder. None: the variance the model was trained with. Release: e, because ones meant
    # as a variance are read as its logarithm.
    variance: float | None = None
    after: int = 5_500  # env steps of learning before anything is skewed. Release: 11 epochs of 500
    # How many pictures are weighed at a time, drawn from the replay. None: Release, all of them.
    pictures: int | None = None
    # Ours, off in the release: the least share of pictures that must stay effective (see
    # `effective_count`); the power is weakened until it does. log p(x) of a picture sums thousands
    # of pixels, so that even the square root of p may leave a handful of outliers as goals.
    spread: float | None = None

    def __post_init__(self) -> None:
        within(self, {
            # Positive powers prefer what is common; below -1 the rarest crowd out everything.
            "power": (-1, 0), "samples": (1, 10_000), "variance": (1e-12, 1e12),
            "after": (0, 10**12), "pictures": (1, 10**9), "spread": (1e-6, 1 - 1e-6),
        })  # fmt: skip
        known = ("importance", "bound")
        require(self, {"estimator": (self.estimator in known, " or ".join(known))})


RELEASE_SKEW = SkewConfig(estimator="bound", variance=math.e)
FAST_SKEW = SkewConfig(samples=5, after=0, pictures=4_000, spread=0.2)


def skew_at(config: SkewConfig | None, steps: int) -> SkewConfig | None:
    """Return the skew in force after `steps` env steps of learning; None: none, or not yet."""
    return None if config is None or steps < config.after else config


def candidates(count: int, config: SkewConfig | None, rng: np.random.Generator) -> np.ndarray:
    """Return which of `count` stored pictures are to be weighed, as increasing indices."""
    if config is None or config.pictures is None or config.pictures >= count:
        return np.arange(count)
    return np.sort(rng.choice(count, config.pictures, replace=False))


@torch.no_grad()
def log_importance(
    model: LatentModel, images: np.ndarray, config: SkewConfig, generator: torch.Generator
) -> np.ndarray:
    """Estimate log p(x), nats, of observations (M, ...) by sampling q(z | x); float64 (M,)."""
    found = np.empty(len(images), np.float64)
    chunk = max(1, _DECODED // config.samples)
    for start in range(0, len(images), chunk):
        rows = slice(start, start + chunk)
        ratios = _log_ratios(model, model.prepare(images[rows]), config, generator).cpu().double()
        if config.estimator == "bound":
            found[rows] = ratios.mean(0).numpy()
        else:
            found[rows] = (torch.logsumexp(ratios, 0) - math.log(config.samples)).numpy()
    return found


def _log_ratios(
    model: LatentModel, pictures: Tensor, config: SkewConfig, generator: torch.Generator
) -> Tensor:
    """Return log p(x, z) - log q(z | x), (K, B), for K samples z of every q(z | x)."""
    mean, log_variance = model.posterior(pictures)
    noise = normal((config.samples, *mean.shape), generator, mean)
    latents = mean + (0.5 * log_variance).exp() * noise
    # The constants of the two Normals over latents cancel.
    log_prior = -0.5 * latents.square().sum(-1)
    log_posterior = -0.5 * (noise.square() + log_variance).sum(-1)
    log_likelihood = model.log_likelihood(pictures, latents, config.variance)
    return log_prior + log_likelihood - log_posterior


def weights_of(log_density: np.ndarray, power: float) -> np.ndarray:
    """Return p^power normalised to sum 1, from log p (M,); float64, no overflow.

    Release: exp(log w - mean), which overflows when a picture is far rarer than the average.
    """
    if len(log_density) == 0:
        raise InvalidInput("skewed weights need at least one picture; collect some episodes first.")
    bad = int((~np.isfinite(log_density)).sum())
    if bad:
        raise Diverged(
            f"log p(x) is not finite for {bad} of {len(log_density)} pictures: the VAE diverged; "
            f"try a smaller learning rate for it."
        )
    scores = power * log_density.astype(np.float64)
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def skewed_weights(
    model: LatentModel, images: np.ndarray, config: SkewConfig | None, generator: torch.Generator
) -> np.ndarray:
    """Return the probability (M,) of drawing each picture: p(x)^power, or uniform for None."""
    if config is None or config.power == 0:
        return weights_of(np.zeros(len(images)), 0.0)
    log_density = log_importance(model, images, config, generator)
    weights = weights_of(log_density, config.power)
    if config.spread is None or effective_count(weights) >= config.spread * len(weights):
        return weights
    return weights_of(log_density, power_for(log_density, config.power, config.spread))


def power_for(log_density: np.ndarray, power: float, spread: float) -> float:
    """Return the power between 0 and `power` that keeps a share `spread` effective."""
    strong, weak = power, 0.0
    for _ in range(50):  # the effective count falls as the power departs from 0
        middle = (strong + weak) / 2
        enough = effective_count(weights_of(log_density, middle)) >= spread * len(log_density)
        strong, weak = (strong, middle) if enough else (middle, weak)
    return weak


def effective_count(weights: np.ndarray) -> float:
    """Return how many equally likely pictures vary as much as these weights: 1 / sum of squares.

    Far below the number of pictures it says that goals come from a few outliers only.
    """
    return float(1 / np.square(weights).sum())
