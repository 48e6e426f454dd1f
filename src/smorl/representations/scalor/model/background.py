"""What is behind the objects: one latent number, and a picture made from it."""

import numpy as np
import torch
from torch import Tensor, nn

from smorl.representations.scalor.model.distributions import Normal, Sampler
from smorl.representations.scalor.model.networks import conv, grow
from smorl.representations.scalor.model.settings import ScalorConfig

LATENTS = 1  # Paper: the background latent has one dimension.


class BackgroundPrior(nn.Module):
    """Normal(0, 1) on the first frame, then a GRU on the previous latent (Release)."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.cell = nn.GRUCell(LATENTS, hidden)
        self.out = nn.Linear(hidden, 2 * LATENTS)
        self.hidden = hidden

    def forward(self, latent: Tensor, state: Tensor) -> tuple[Normal, Tensor]:
        state = self.cell(latent, state)
        step = Normal.of(self.out(state))
        return Normal(latent + step.mean, step.std), state


class Background(nn.Module):
    """Posterior, prior and decoder of the background.

    "static" is a given picture, the per-pixel median of the data, where nothing that moves is
    left; the latent may only tint it as a whole (a change of light), so it cannot swallow objects.
    "decoded" is the release's network, which can.
    """

    def __init__(self, config: ScalorConfig, picture: np.ndarray | None) -> None:
        super().__init__()
        self.static = config.background == "static"
        self.prior = BackgroundPrior()
        size = config.image_size
        if self.static:
            start = np.full((size, size, 3), 0.5) if picture is None else picture
            base = torch.as_tensor(np.asarray(start, np.float32)).permute(2, 0, 1).contiguous()
            self.register_buffer("base", base)
            self.base: Tensor
            self.encoder = nn.Linear(config.channels, 2 * LATENTS)
            self.tint = nn.Linear(LATENTS, 3, bias=False)
            nn.init.zeros_(self.tint.weight)
        else:
            self.encoder = nn.Sequential(
                conv(4, 16, 4, 2, 4),
                conv(16, 32, 4, 2),
                conv(32, 64, 4, 2),
                conv(64, 64, 4, 2),
                nn.Conv2d(64, 2 * LATENTS, size // 16),
                nn.Flatten(),
            )
            first = size // 16
            self.decoder = nn.Sequential(
                conv(LATENTS, 256, 1, 1, 16),
                grow(256, 128, first, 16),
                conv(128, 128, 3, 1, 16),
                grow(128, 64, 4, 8),
                conv(64, 64, 3),
                grow(64, 16, 4, 4),
                conv(16, 16, 3, 1, 4),
                conv(16, 16, 3, 1, 4),
                nn.Conv2d(16, 3, 3, padding=1),
                nn.Sigmoid(),
            )

    def infer(
        self, image: Tensor, encoding: Tensor, alpha: Tensor, sampler: Sampler
    ) -> tuple[Normal, Tensor]:
        """Posterior of the latent given the picture and what the objects cover; a sample."""
        if self.static:
            out = self.encoder(encoding.mean((2, 3)))
        else:
            out = self.encoder(torch.cat([image, 1 - alpha], 1))
        posterior = Normal.of(out)
        return posterior, sampler.normal(posterior.mean, posterior.std)

    def decode(self, latent: Tensor) -> Tensor:
        """Return the picture (B, 3, S, S)."""
        if not self.static:
            return self.decoder(latent[:, :, None, None])
        return self.base + self.tint(latent)[..., None, None]
