"""A VAE and pictures small enough for tests."""

import numpy as np

from smorl.representations.vae.settings import VaeConfig

SMALL = VaeConfig(
    image_size=16, latent=3, channels=4, hidden=16, decoder_hidden=16, decoder_channels=(4, 8)
)


def dots(count: int, seed: int = 0, size: int = 16) -> np.ndarray:
    """Pictures of one bright square somewhere on grey: uint8 (count, size, size, 3)."""
    rng = np.random.default_rng(seed)
    images = np.full((count, size, size, 3), 60, np.uint8)
    for image, (row, column) in zip(images, rng.integers(0, size - 5, (count, 2)), strict=True):
        image[row : row + 6, column : column + 6] = (230, 180, 40)
    return images
