"""Pictures in, as the model takes them; pictures out, of what it made of a frame."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smorl.devices import to_array, to_tensor
from smorl.errors import InvalidInput
from smorl.representations.base import Drawing
from smorl.representations.scalor.model.geometry import paste_each
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.online import Sketch, paint


def as_images(observation: np.ndarray, size: int, device: torch.device) -> Tensor:
    """Return pictures (B, 3, S, S) in [0, 1] of what an environment shows, uint8 (B, S, S, 3)."""
    if observation.dtype != np.uint8 or observation.shape[1:] != (size, size, 3):
        raise InvalidInput(
            f"the tracker needs uint8 pictures (batch, {size}, {size}, 3), got "
            f"{observation.dtype} {observation.shape}; use a Visual environment."
        )
    pictures = to_tensor(observation, device).permute(0, 3, 1, 2)
    return pictures.contiguous() / 255  # whatever follows is faster on whole channels


def drawing_of(model: Scalor, frame: Sketch, objects: Slots, seen: np.ndarray) -> Drawing:
    """Return the reconstruction of a frame and a mask per object, of those `seen` (B, N) in it."""
    masks = model.decoder.masks(objects.what)
    pasted = paste_each(masks, objects.where, model.config.image_size)[:, :, 0]
    pasted = pasted * to_tensor(seen, pasted.device)[..., None, None]
    parts = (*paint(model, frame), frame.background)
    pictures = [to_array(p.permute(0, 2, 3, 1).clamp(0, 1)) for p in parts]
    return Drawing(*pictures, masks=to_array(pasted.clamp(0, 1)))
