"""Samples and divergences of the latents: Normal and relaxed Bernoulli."""

from dataclasses import dataclass
from math import log, pi

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from smorl.devices import normal, uniform

EPS = 1e-6


@dataclass(frozen=True)
class Sampler:
    """Draws latents from a generator, or takes their means when there is none (tracking)."""

    generator: torch.Generator | None
    temperature: float = 1.0

    def normal(self, mean: Tensor, std: Tensor) -> Tensor:
        """Reparameterised sample of Normal(mean, std)."""
        if self.generator is None:
            return mean
        return mean + std * normal(mean.shape, self.generator, mean)

    def presence(self, logit: Tensor) -> Tensor:
        """Relaxed Bernoulli sample in (0, 1); without noise, the probability."""
        if self.generator is None:
            return torch.sigmoid(logit)
        drawn = uniform(logit.shape, self.generator, logit).clamp(EPS, 1 - EPS)
        return torch.sigmoid((torch.logit(drawn) + logit) / self.temperature)


@dataclass(frozen=True)
class Normal:
    """Diagonal Normal; `of` splits a network's output into mean and softplus deviation."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, output: Tensor, shift: float = 0.0) -> "Normal":
        mean, raw = output.chunk(2, -1)
        return cls(mean, softplus(raw + shift) + 1e-4)

    def kl(self, prior: "Normal") -> Tensor:
        """KL(self || prior), summed over the last dimension."""
        ratio = (self.std / prior.std) ** 2
        offset = ((self.mean - prior.mean) / prior.std) ** 2
        return 0.5 * (ratio + offset - 1 - torch.log(ratio)).sum(-1)

    def kl_standard(self) -> Tensor:
        """KL(self || Normal(0, 1)), summed over the last dimension."""
        return 0.5 * (self.std**2 + self.mean**2 - 1 - 2 * torch.log(self.std)).sum(-1)


def bernoulli_kl(logit: Tensor, prior_logit: Tensor) -> Tensor:
    """KL between Bernoulli distributions given by logits, elementwise."""
    p = torch.sigmoid(logit)
    on = logsigmoid(logit) - logsigmoid(prior_logit)
    off = logsigmoid(-logit) - logsigmoid(-prior_logit)
    return p * on + (1 - p) * off


def log_normal(value: Tensor, mean: Tensor, sigma: float) -> Tensor:
    """Log density of Normal(mean, sigma), summed over all but the first dimension."""
    residual = (value - mean).flatten(1)
    constant = residual.shape[1] * log(sigma * (2 * pi) ** 0.5)
    return residual.square().sum(-1) * (-0.5 / sigma**2) - constant
