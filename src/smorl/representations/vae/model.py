"""The beta-VAE of RIG and Skew-Fit: a picture as a Normal over a few latent numbers."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from smorl.devices import device_of, to_tensor
from smorl.errors import InvalidInput
from smorl.representations.vae.loss import beta_elbo, kl_standard, log_normal, sample
from smorl.representations.vae.settings import VaeConfig

_LINEAR_BOUND = 1e-3  # Release: of the uniform start of linear layers


class BetaVae(nn.Module):
    """q(z | x) and p(x | z). `seed` decides the start; no global random state is used or changed.

    Pictures are float (B, 3, S, S) in [0, 1], as `prepare` makes them from uint8 (B, S, S, 3).
    """

    def __init__(self, config: VaeConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._build(config)
            if config.init == "release":
                self.apply(_start_as_released)
        # The same function in two thirds of the time on a CPU.
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]

    def _build(self, config: VaeConfig) -> None:
        c, small, quarter = config.channels, config.image_size // 8, config.image_size // 4
        first, second = config.decoder_channels
        self.encoder = nn.Sequential(
            nn.Conv2d(3, c, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(c, c, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(c, c, 4, 2, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(c * small**2, config.hidden),
        )
        self.mean = nn.Linear(config.hidden, config.latent)
        self.spread = nn.Linear(config.hidden, config.latent)
        self.decoder = nn.Sequential(
            nn.Linear(config.latent, config.decoder_hidden),
            nn.ReLU(),
            nn.Linear(config.decoder_hidden, first * quarter**2),
            nn.ReLU(),
            nn.Unflatten(1, (first, quarter, quarter)),
            nn.ConvTranspose2d(first, second, 3, 2, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(second, 3, 3, 2, 1, 1),
        )

    def prepare(self, images: np.ndarray) -> Tensor:
        """Return uint8 pictures (B, S, S, 3) as the floats the networks see."""
        size = self.config.image_size
        if images.dtype != np.uint8 or images.shape[1:] != (size, size, 3):
            raise InvalidInput(
                f"this VAE sees uint8 pictures of shape (B, {size}, {size}, 3), got "
                f"{images.dtype} {images.shape}; render them at {size} pixels."
            )
        # Moving the axis keeps channels last in memory, which is how the convolutions want it.
        return to_tensor(images, device_of(self)).permute(0, 3, 1, 2).float().div_(255)

    def posterior(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance (B, D) of q(z | x); the variance has a floor."""
        hidden = self.encoder(pictures)
        # Release: the raw output counts by its absolute value, from the smallest variance up.
        return self.mean(hidden), math.log(self.config.min_variance) + self.spread(hidden).abs()

    def decode(self, latents: Tensor) -> Tensor:
        """Return the mean picture (B, 3, S, S) of p(x | z) for latents (B, D)."""
        pictures = self.decoder(latents)
        return pictures.clamp(0, 1) if self.config.output == "clamp" else pictures

    def log_likelihood(
        self, pictures: Tensor, latents: Tensor, variance: float | None = None
    ) -> Tensor:
        """Return log p(x | z), (K, B), for K latents of every picture, (K, B, D).

        `variance` replaces the model's own, for comparison with the release.
        """
        draws = latents.shape[0]
        decoded = self.decode(latents.flatten(0, 1)).unflatten(0, latents.shape[:2])
        target = pictures.expand(draws, *pictures.shape)
        used = self.config.variance if variance is None else variance
        found = log_normal(target.flatten(0, 1), decoded.flatten(0, 1), used)
        return found.unflatten(0, latents.shape[:2])

    def loss(self, pictures: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        """Return `loss` and its terms with one latent sample per picture, in nats per picture."""
        mean, log_variance = self.posterior(pictures)
        latents = sample(mean, log_variance, generator)
        log_likelihood = self.log_likelihood(pictures, latents[None])[0]
        return beta_elbo(log_likelihood, kl_standard(mean, log_variance), self.config.beta)


def _start_as_released(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.orthogonal_(module.weight)
        nn.init.zeros_(module.bias)  # pyright: ignore[reportArgumentType]
    elif isinstance(module, nn.Linear):
        nn.init.uniform_(module.weight, -_LINEAR_BOUND, _LINEAR_BOUND)
        nn.init.uniform_(module.bias, -_LINEAR_BOUND, _LINEAR_BOUND)
