"""The terms of the evidence lower bound, in nats, analytic where they can be."""

import math

import torch
from torch import Tensor

from smorl.devices import normal


def log_normal(value: Tensor, mean: Tensor, variance: float) -> Tensor:
    """Log density of Normal(mean, variance) per element, summed over all but the first dimension.

    Release: the normalising constant is left out of the loss. It is kept here, because the same
    function gives the density that Skew-Fit compares.
    """
    squares = (value - mean).square().flatten(1)
    constant = 0.5 * squares.shape[1] * math.log(2 * math.pi * variance)
    return -squares.sum(1) / (2 * variance) - constant


def kl_standard(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL of Normal(mean, exp(log_variance)) from Normal(0, 1), summed over the last dimension."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1)


def sample(mean: Tensor, log_variance: Tensor, generator: torch.Generator) -> Tensor:
    """Reparameterised sample of Normal(mean, exp(log_variance))."""
    return mean + (0.5 * log_variance).exp() * normal(mean.shape, generator, mean)


def beta_elbo(log_likelihood: Tensor, kl: Tensor, beta: float) -> dict[str, Tensor]:
    """Return the loss and its terms, means over the batch, from terms per picture (B,).

    `elbo` is the lower bound of log p(x) itself, whatever beta is.
    """
    reconstruction, divergence = -log_likelihood.mean(), kl.mean()
    return {
        "loss": reconstruction + beta * divergence,
        "reconstruction": reconstruction,
        "kl": divergence,
        "elbo": -reconstruction - divergence,
    }
