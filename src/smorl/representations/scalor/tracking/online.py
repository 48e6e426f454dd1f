"""One frame of SCALOR as tracking needs it: the objects, without painting and judging a picture.

`track` infers the same objects as `Scalor.step` without noise (tested), at a fraction of the cost:
no ELBO, masks alone are decoded, and only slots that hold something and proposals that may be
something are looked at. What was seen can still be painted later.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smorl.devices import to_array, to_tensor
from smorl.representations.scalor.kernels import births, boxes
from smorl.representations.scalor.model.compose import blend, layers
from smorl.representations.scalor.model.discovery import FLOORS
from smorl.representations.scalor.model.distributions import Sampler
from smorl.representations.scalor.model.scalor import Scalor, State
from smorl.representations.scalor.model.slots import PRIOR_STATE, Slots
from smorl.representations.scalor.tracking.flat import Cutter, columns, cover, flat, plain

_MEANS = Sampler(None)  # every latent takes its mean
_STRANGE = 0.15  # difference of colour, 0 to 1, beyond which a pixel does not show the background
_FAINT = 1e-3  # presence up to which a proposal is nothing: it is not born, and covers as little


@dataclass(frozen=True)
class Sketch:
    """What is kept of a frame: tracked and proposed objects (B, N, .), pictures (B, ., S, S)."""

    what: Tensor
    where: Tensor
    depth: Tensor
    presence: Tensor
    background: Tensor
    alpha: Tensor


@dataclass(frozen=True)
class _Found:
    """Proposals of a frame, a flat list: picture of each (D,), latents (D, .), masks (D, G, G)."""

    rows: Tensor
    what: Tensor
    where: Tensor
    depth: Tensor
    presence: Tensor  # zero where rejected
    masks: Tensor


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
    alpha = image.new_zeros(len(image), 1, *image.shape[2:])
    rows, index = columns(state.slots.alive)
    seen = image, pictures, encoding, action
    slots, alpha = _follow(model, flat(state.slots, index), rows, *seen, alpha)
    free = model.config.slots - state.slots.alive.sum(1)
    if len(rows):
        free.index_add_(0, rows, (~slots.alive).long())
    found = _discover(model, image, encoding, alpha, free, first)
    alpha = cover(alpha, found.rows, found.masks, found.presence, found.where).clamp_(0, 1)
    _, latent = model.background.infer(image, encoding, alpha, _MEANS)
    background_memory = state.background_memory
    if not first:
        _, background_memory = model.background.prior(state.background, background_memory)
    what, where, depth, presence = _sketch(model, rows, slots, found, len(image), first)
    background = model.background.decode(latent)
    sketch = Sketch(what, where, depth, presence, background, alpha)
    slots, new, next_id = _arrange(model, rows, slots, found, state.next_id)
    started = torch.ones_like(state.started)
    return State(slots, new, next_id, memory, latent, background_memory, started), sketch


def _follow(
    model: Scalor,
    slots: Slots,
    rows: Tensor,
    image: Tensor,
    pictures: Tensor,
    encoding: Tensor,
    action: Tensor,
    alpha: Tensor,
) -> tuple[Slots, Tensor]:
    """Follow a flat list of objects into a picture; return what they cover, too."""
    if not len(rows):
        return slots, alpha
    config, part, moved = model.config, model.propagation, action[rows]
    found = part.infer(slots, image, pictures, encoding, moved, _MEANS, Cutter(rows))
    presence = torch.sigmoid(found.logit)
    absence = slots.absence + 1 - presence
    alive = absence[..., 0] < config.dies
    masks = model.decoder.masks(found.what)[:, :, 0]
    if config.coexist < 1:
        half = config.image_size // 2
        places = plain(rows, masks, found.where, found.depth, alive)
        alive = alive & ~to_tensor(boxes.behind(*places, half, config.coexist), alive.device)
    presence = presence * alive[..., None]
    prior = torch.cat(part.prior.advance(slots, moved), -1)
    alpha = cover(alpha, rows, masks, presence, found.where)
    latents = found.what, found.where, found.depth, presence, found.bias, found.state
    return Slots(*latents, prior, absence, alive, slots.ids), alpha


def _discover(
    model: Scalor, image: Tensor, encoding: Tensor, alpha: Tensor, free: Tensor, first: bool
) -> _Found:
    """Propose objects, of which at most `free` (B,) are accepted; `alpha` is what is explained."""
    config, part = model.config, model.discovery
    out, logit = part.cells(encoding, alpha)
    count = config.cells**2 if first else config.proposals
    presence, cells = torch.sigmoid(logit[..., 0]).topk(count, 1)
    # Only what is born becomes an object, and only surer proposals can take a place from it.
    rows, index = columns(presence > min(_FAINT, config.born))
    cells = cells.flatten()[index]
    kept = out[rows, cells]
    where = part.place(kept[:, :4], part.centres[cells])
    encoder, decoder = part.glimpses
    what = encoder(Cutter(rows)(image, where, config.glimpse))[:, : config.what]
    masks = decoder.masks(what)[:, :, 0]
    presence = presence.flatten()[index][:, None]
    limits = (2.0 if first else config.explained), config.overlap  # nothing is explained at first
    order = torch.arange(len(rows), device=rows.device)
    places = plain(rows, order, masks, where, alpha, free)
    accepted = to_tensor(boxes.judge(*places, FLOORS, *limits)[0], rows.device)
    return _Found(rows, what, where, kept[:, 9:10], presence * accepted[:, None], masks)


def _arrange(
    model: Scalor, rows: Tensor, slots: Slots, found: _Found, next_id: Tensor
) -> tuple[Slots, Tensor, Tensor]:
    """Return tracked objects that are left and new ones as slots (B, N, .), as `slots.merge`."""
    config = model.config
    born = found.presence[:, 0] > config.born
    before = plain(rows, slots.alive, slots.ids, found.rows, born)
    arranged = births.arrange(*before, config.slots, to_array(next_id))
    source, ids, new, following = (to_tensor(a, rows.device) for a in arranged)
    empty = Slots.empty(config, 1, rows.device)
    chosen, shape = source.flatten(), source.shape
    fresh = found.what.new_zeros(len(found.rows), 4 + config.tracker + 2 * PRIOR_STATE + 1)
    bias, state, prior, absence = fresh.split([4, config.tracker, 2 * PRIOR_STATE, 1], 1)
    later = found.what, found.where, found.depth, found.presence, bias, state, prior, absence
    names = ("what", "where", "depth", "presence", "bias", "state", "prior", "absence")
    values = [
        torch.cat([getattr(slots, name), more, getattr(empty, name)[0, :1]])
        .index_select(0, chosen)
        .view(*shape, -1)
        for name, more in zip(names, later, strict=True)
    ]
    merged = Slots(*values, ids >= 0, ids)  # pyright: ignore[reportCallIssue]
    return merged, new, following


def _sketch(
    model: Scalor, rows: Tensor, slots: Slots, found: _Found, batch: int, first: bool
) -> tuple[Tensor, ...]:
    """Return what, where, depth and presence (B, ., .) of all that was seen, absent where empty."""
    config = model.config
    proposals = config.cells**2 if first else config.proposals
    parts = []
    for at, group, most in ((rows, slots, config.slots), (found.rows, found, proposals)):
        latents = torch.cat([group.what, group.where, group.depth, group.presence], 1)
        dense = latents.new_zeros(batch, most, latents.shape[1])
        dense[..., config.what : config.what + 2] = config.size
        # Rows ascend: where a row's first object is tells how many of its picture come before.
        place = torch.arange(len(at), device=at.device) - torch.searchsorted(at, at)
        dense[at, place] = latents
        parts.append(dense)
    return torch.cat(parts, 1).split([config.what, 4, 1, 1], -1)


@torch.no_grad()
def paint(model: Scalor, sketch: Sketch) -> tuple[Tensor, Tensor]:
    """Return picture and foreground (B, 3, S, S) of a sketch, as `Scalor.step` paints them."""
    colours, masks = model.decoder(sketch.what)
    size = model.config.image_size
    shown = layers(colours, masks, sketch.presence, sketch.depth, sketch.where, size)
    return blend(shown, sketch.background)[:2]


def unlike_background(images: Tensor, frame: Sketch, rows: Tensor) -> Tensor:
    """Where in some pictures (R, 1, S, S) something stands before the background.

    It may be explained by an object or not: an object that is half hidden is easily lost, but the
    table does not show in its place.
    """
    away = (images[rows] - frame.background[rows]).abs_().amax(1, keepdim=True)
    return torch.maximum(frame.alpha[rows], (away > _STRANGE).float())
