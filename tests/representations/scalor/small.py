"""Small models with fixed random weights, and made-up pictures, for the tests of SCALOR."""

from dataclasses import replace

import numpy as np
import torch

from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.settings import ScalorConfig

# Its random weights find things and keep them: presence and masks start high.
SMALL = ScalorConfig(
    image_size=32,
    cells=2,
    glimpse=8,
    what=3,
    slots=3,
    proposals=4,
    channels=16,
    hidden=16,
    tracker=8,
    presence_bias=0.5,
    mask_bias=1.0,
    sigma=0.1,
    paint=0.0,
    explained=0.1,
    coexist=1.0,
    forget=0.0,
)


def make_model(seed: int = 0, background: np.ndarray | None = None, **changes) -> Scalor:
    """A model with random weights; `changes` alter `SMALL`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Scalor(replace(SMALL, **changes), 2, background=background)


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    """Uniform noise in [0, 1]."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def videos(batch: int, length: int, seed: int = 0, size: int = 32) -> tuple:
    """Pictures of noise, (B, T, 3, S, S), and actions in [-1, 1], (B, T, 2)."""
    images = noise(batch, length, 3, size, size, seed=seed)
    return images, 2 * noise(batch, length, 2, seed=seed + 1) - 1


def generator(seed: int = 0) -> torch.Generator:
    """A source of noise."""
    return torch.Generator().manual_seed(seed)


def centred(model: Scalor) -> Scalor:
    """Let every cell propose a box of the usual size in its middle."""
    with torch.no_grad():
        model.discovery.head.weight[:8] = 0
        model.discovery.head.bias[:8] = 0
    return model
