"""Look for objects that the model has lost: by their colour, near where they were.

SCALOR is trained on random motion, in which objects are seldom half hidden. An agent that pulls a
puck towards its own body has it half behind the hand all the time, and the model loses it there.
The rest of it still shows in the picture, next to where it was last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smorl.representations.scalor.kernels import colours, shapes
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.flat import columns, plain
from smorl.representations.scalor.tracking.masks import FOOT

_REACH = 0.3  # image coordinates, how far from its last place an object is looked for
_FAR = 0.8  # and how far if it is not there
_LIKE = 0.2  # difference of colour, 0 to 1, up to which a pixel may belong to an object
_LEAST = 0.36  # points of its colour, in a square of reach 1, that make an object show; 4 nearby
_BESIDE, _ALIKE = 0.1, 0.3  # distance and difference of colour of two looks of one thing
_MOST = 0.5  # share of an object's middle that shows its colour if it is still there
_MIDDLE = 6  # points per side of that middle that are looked at
_SMALLER = 2.0  # times smaller than another one is an object that may be drawn as part of it
_COVERED = 0.3  # share of an object's place that must be covered to hide it


@dataclass(frozen=True)
class Found:
    """Slots (B, N, .) where they may be now, whether each shows (B, N) and may be there (B, N)."""

    slots: Slots
    shows: Tensor
    possible: Tensor


def search(model: Scalor, lost: Slots, images: Tensor, covered: Tensor) -> Found:
    """Move lost objects to where pictures (B, 3, S, S) show their colour, or could hide them.

    An object goes to where its shape explains the pixels of its colour best. Without any it stays
    if its place is hidden, else it goes to the nearest place that is; if there is none, it is not
    there. `covered` (B, 1, S, S) says where something stands before the background.
    """
    rows, index = columns(lost.alive)
    shows, possible = torch.zeros_like(lost.alive), torch.zeros_like(lost.alive)
    if not len(rows):
        return Found(lost, shows, possible)
    box = lost.where.flatten(0, 1)[index]
    colour, place, extent = _look(model, lost.what.flatten(0, 1)[index], box)
    seen, may, way = colours.look_for(
        *plain(images, covered.clamp(0, 1), rows, place, extent, colour),
        *(_REACH, _FAR, _LIKE, _LEAST, _COVERED),
    )
    shows.view(-1)[index], possible.view(-1)[index] = torch.from_numpy(seen), torch.from_numpy(may)
    where = lost.where.flatten(0, 1).clone()
    where[index, 2:] += torch.from_numpy(way)
    return Found(replace(lost, where=where.view_as(lost.where)), shows, possible)


def stay(lost: Slots) -> Found:
    """Take lost objects to be where they were last seen, without a look at the picture."""
    return Found(lost, torch.zeros_like(lost.alive), lost.alive)


def keeps_colour(model: Scalor, before: Slots, now: Slots, pairs: Tensor, images: Tensor) -> Tensor:
    """Of `pairs` (B, N, M) of slots before and now: does the place now show the colour before?

    An object that is touched may be encoded quite differently, but it does not change its colour.
    """
    row, one, two = pairs.nonzero(as_tuple=True)
    if not len(row):
        return pairs
    what = torch.cat([before.what[row, one], now.what[row, two]])
    colour, place, extent = _look(
        model, what, torch.cat([before.where[row, one], now.where[row, two]])
    )
    middle = torch.cat([extent[len(row) :] / 2, place[len(row) :]], -1)
    share = colours.shares(*plain(images, row, middle, colour[: len(row)]), _MIDDLE, _LIKE)
    result = torch.zeros_like(pairs)
    result[row, one, two] = torch.from_numpy(share > _MOST)
    return result


def same_thing(model: Scalor, live: Slots, lost: Slots, shows: Tensor) -> tuple[Tensor, Tensor]:
    """Which lost objects that show (B, M) are a second look of a live one, or of another lost one?

    They stand in one place and have one colour. Returns (B, M, N) and (B, M, M).
    """
    batch, count = shows.shape
    both = torch.cat([live.alive & shows.any(1, keepdim=True), shows], 1)
    same = torch.zeros(batch, count, both.shape[1], dtype=torch.bool)
    rows, index = columns(both)
    if len(rows):
        what, where = (torch.cat(pair, 1).flatten(0, 1)[index] for pair in (
            (live.what, lost.what), (live.where, lost.where)
        ))  # fmt: skip
        colour, place, _ = _look(model, what, where)
        near = (place[:, None] - place).norm(dim=-1) < _BESIDE
        alike = (colour[:, None] - colour).abs().amax(-1) < _ALIKE
        slot = index % both.shape[1]
        mine = (slot >= live.alive.shape[1])[:, None] & ~torch.eye(len(rows), dtype=torch.bool)
        one, two = (near & alike & mine & (rows[:, None] == rows)).nonzero(as_tuple=True)
        same[rows[one], slot[one] - live.alive.shape[1], slot[two]] = True
    return same.split([live.alive.shape[1], count], 2)  # pyright: ignore[reportReturnType]


def own_masks(
    model: Scalor, rows: Tensor, what: Tensor, where: Tensor, masks: Tensor, images: Tensor
) -> Tensor:
    """Take from masks (M, G, 1, G) what is a smaller object's: where pictures show its colour.

    Objects are a flat list, `rows` (M,) of pictures (B, 3, S, S). A model may draw a touched puck
    twice, as itself and as the end of the arm; where the arm stands would then be where the puck
    is. A puck behind the hand shows no colour there.
    """
    row, shape, box, pictures = plain(rows, masks[:, :, 0], where, images)
    place, extent = shapes.extents(shape, box, FOOT)
    pairs = colours.overlaps(row, box, place, extent, _SMALLER)
    if not len(pairs):
        return masks
    small = torch.from_numpy(pairs[:, 1])
    colour = _look(model, what[small], where[small])[0].numpy()
    own = colours.carve(pictures, row, shape, box, place, extent, pairs, colour, _LIKE)
    return torch.from_numpy(own)[:, :, None]


def _look(model: Scalor, what: Tensor, where: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean colour (M, 3), place and half extent (M, 2) of objects, a flat list."""
    painted, masks = model.decoder(what)
    paint, shape, box = plain(painted, masks[:, :, 0], where)
    found = shapes.mean_colours(paint, shape), *shapes.extents(shape, box, FOOT)
    return tuple(map(torch.from_numpy, found))  # pyright: ignore[reportReturnType]
