"""The encoder of RIG and Skew-Fit: a picture as one object without appearance."""

import numpy as np
import torch

from smorl.devices import device_of, to_array, to_tensor
from smorl.representations.base import Memoryless
from smorl.representations.vae.model import BetaVae
from smorl.types import ObjectLayout, ObjectSet

_CHUNK = 512  # pictures encoded at once, which bounds the memory; Release: 512


class VaeEncoder(Memoryless):
    """Pictures uint8 (B, S, S, 3) -> a set of one; `position` is the mean of q(z | x).

    Positions are latent numbers, of standard deviation about 1 over the data (smorl.types says why
    a vector is a set of one). The model is used as it is at the moment: when Skew-Fit trains it
    further, positions encoded before are out of date and `encode` makes them anew.
    """

    def __init__(self, model: BetaVae) -> None:
        self.model = model
        self.layout = ObjectLayout(slots=1, what=0, position=model.config.latent)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        return ObjectSet.of_vectors(self.encode(observation))

    @torch.no_grad()
    def encode(self, images: np.ndarray) -> np.ndarray:
        """Return latent means (M, D) of any number of pictures."""
        found = np.empty((len(images), self.layout.position), np.float32)
        for start in range(0, len(images), _CHUNK):
            rows = slice(start, start + _CHUNK)
            found[rows] = to_array(self.model.posterior(self.model.prepare(images[rows]))[0])
        return found

    @torch.no_grad()
    def draw(self, latents: np.ndarray) -> np.ndarray:
        """Return what latents (M, D) look like, uint8 (M, S, S, 3); for people and videos."""
        size = self.model.config.image_size
        found = np.empty((len(latents), size, size, 3), np.uint8)
        for start in range(0, len(latents), _CHUNK):
            rows = slice(start, start + _CHUNK)
            chunk = to_tensor(np.asarray(latents[rows], np.float32), device_of(self.model))
            pictures = self.model.decode(chunk).clamp(0, 1).permute(0, 2, 3, 1)
            found[rows] = to_array((pictures * 255).round().to(torch.uint8))
        return found
