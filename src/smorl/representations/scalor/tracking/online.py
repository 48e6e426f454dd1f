"""One frame of SCALOR as tracking needs it: the objects, without painting and judging a picture.

`track` infers the same state as `Scalor.step` without noise (tested), at about half the cost: no
ELBO, and masks alone are decoded and pasted. What was seen can still be painted later.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smorl.representations.scalor.model.compose import blend, coverage, layers
from smorl.representations.scalor.model.distributions import Sampler
from smorl.representations.scalor.model.scalor import Scalor, State

_MEANS = Sampler(None)  # every latent takes its mean
_STRANGE = 0.15  # difference of colour, 0 to 1, beyond which a pixel does not show the background
_TRAINED = 10**9  # an iteration by which everything annealed has settled


@dataclass(frozen=True)
class Sketch:
    """What is kept of a frame: tracked and proposed objects (B, N, .), pictures (B, ., S, S)."""

    what: Tensor
    where: Tensor
    depth: Tensor
    presence: Tensor
    background: Tensor
    alpha: Tensor


@torch.no_grad()
def track(
    model: Scalor,
    state: State,
    image: Tensor,
    encoded: tuple[Tensor, Tensor],
    action: Tensor,
    *,
    first: bool,
) -> tuple[State, Sketch]:
    """Infer the objects of one frame (B, 3, S, S) from the state and the action that led there.

    `encoded` is `Scalor.encode` of it; `first` says that no row tracks anything yet.
    """
    pictures, encoding = encoded
    encoding, memory = model.lstm(encoding, action, state.memory)
    size, annealed = model.config.image_size, model.schedule(_TRAINED)
    slots, alpha, groups = state.slots, None, []
    if not first:
        slots, _, masks, _ = model.propagation(
            slots, image, pictures, encoding, action, _MEANS, paint=False
        )
        alpha = coverage(masks, slots.presence, slots.where, size)
        groups.append(slots)
    free = model.config.slots - slots.alive.sum(1)
    found = model.discovery(image, encoding, alpha, free, _MEANS, annealed, paint=False)
    groups.append(found)
    more = coverage(found.masks, found.presence, found.where, size)
    alpha = (more if alpha is None else alpha + more).clamp(0, 1)
    _, latent = model.background.infer(image, encoding, alpha, _MEANS)
    background_memory = state.background_memory
    if not first:
        _, background_memory = model.background.prior(state.background, background_memory)

    def both(name: str) -> Tensor:
        return torch.cat([getattr(group, name) for group in groups], 1)

    sketch = Sketch(
        what=both("what"),
        where=both("where"),
        depth=both("depth"),
        presence=both("presence"),
        background=model.background.decode(latent),
        alpha=alpha,
    )
    return model.after(state, slots, found, memory, latent, background_memory), sketch


@torch.no_grad()
def paint(model: Scalor, sketch: Sketch) -> tuple[Tensor, Tensor]:
    """Return picture and foreground (B, 3, S, S) of a sketch, as `Scalor.step` paints them."""
    colours, masks = model.decoder(sketch.what)
    size = model.config.image_size
    shown = layers(colours, masks, sketch.presence, sketch.depth, sketch.where, size)
    return blend(shown, sketch.background)[:2]


def unlike_background(images: Tensor, frame: Sketch) -> Tensor:
    """Where (B, 1, S, S) something stands before the background, explained by an object or not.

    An object that is half hidden is easily lost, but the table does not show in its place.
    """
    strange = (images - frame.background).abs().amax(1, keepdim=True) > _STRANGE
    return torch.maximum(frame.alpha, strange.float())
