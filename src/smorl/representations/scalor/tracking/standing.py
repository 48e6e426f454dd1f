"""Which of a frame's objects count, where they stand and how large they are."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from smorl.devices import to_tensor
from smorl.representations.scalor.kernels.shapes import doubles
from smorl.representations.scalor.model.scalor import Scalor, State
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.flat import columns, plain
from smorl.representations.scalor.tracking.masks import extent_of, visible_pixels
from smorl.representations.scalor.tracking.search import own_masks
from smorl.representations.scalor.tracking.settings import TrackerConfig

_LEAST_PIXELS = 8  # an object that covers fewer is not there
_WHOLE = 2.0  # image coordinates: as much as a picture holds
_ALIKE = 0.7  # share of the matching distance within which two objects of a frame look the same


def drop_ghosts(model: Scalor, state: State) -> State:
    """Drop objects that show next to nothing in the picture: an empty box is no object."""
    slots = state.slots
    _, index = columns(slots.alive)
    look, where = (value.flatten(0, 1)[index] for value in (slots.what, slots.where))
    pixels = visible_pixels(model.decoder.masks(look), where, model.config.image_size)
    shown = torch.zeros_like(slots.alive)
    shown.view(-1)[index] = pixels >= _LEAST_PIXELS
    ids = torch.where(shown, slots.ids, -1)
    return replace(state, slots=replace(slots, alive=shown, ids=ids), new=state.new & shown)


def places_of(
    model: Scalor,
    config: TrackerConfig,
    same: float,
    objects: Slots,
    what: Tensor,
    age: Tensor,
    images: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return which objects (B, N) count, and their place and half extent (B, N, 2).

    `what` (B, N, W) are normalised appearances, below `same` apart if they are of one object.
    """
    rows, index = columns(objects.alive)
    look, where = (value.flatten(0, 1)[index] for value in (objects.what, objects.where))
    masks = model.decoder.masks(look)
    if config.unique:
        names, old = what.flatten(0, 1)[index], age.flatten()[index]
        views = plain(rows, names, masks[:, :, 0], where, old)
        single = ~to_tensor(doubles(*views, _ALIKE * same), rows.device)
        rows, index, look, where, masks = (
            part[single] for part in (rows, index, look, where, masks)
        )
    if config.own_masks:
        masks = own_masks(model, rows, look, where, masks, images)
    present, found = torch.zeros_like(objects.alive), look.new_zeros(*objects.alive.shape, 4)
    present.view(-1)[index] = True
    found.view(-1, 4)[index] = torch.cat(extent_of(masks, where, config.foot or _WHOLE), 1)
    return present, found[..., :2], found[..., 2:]
