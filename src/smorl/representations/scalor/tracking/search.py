"""Look for objects that the model has lost: by their colour, near where they were.

SCALOR is trained on random motion, in which objects are seldom half hidden. An agent that pulls a
puck towards its own body has it half behind the hand all the time, and the model loses it there.
The rest of it still shows in the picture, next to where it was last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from smorl.representations.scalor.model.geometry import crop
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.masks import MASK_FLOOR, extent_of

_REACH = 0.3  # image coordinates, how far from its last place an object is looked for
_FAR = 0.8  # and how far if it is not there
_POINTS = 20  # per side of the square that is searched
_LIKE = 0.2  # difference of colour, 0 to 1, up to which a pixel may belong to an object
_LEAST = 0.36  # points of its colour, in a square of reach 1, that make an object show; 4 nearby
_HALF = 6  # points on either side of an object's middle that its shape may reach
_SOFT = 1.0  # points by which a place may explain less and still count
_BESIDE, _ALIKE = 0.1, 0.3  # distance and difference of colour of two looks of one thing
_MOST = 0.5  # share of an object's middle that shows its colour if it is still there
_SMALLER = 2.0  # times smaller than another one is an object that may be drawn as part of it
_DRAWN, _FRINGE = 0.3, 1.4  # share of it that is then drawn, and how many radii its edge reaches
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
    shows, possible = torch.zeros_like(lost.alive), torch.zeros_like(lost.alive)
    rows = lost.alive.any(1).nonzero()[:, 0]
    if not len(rows):
        return Found(lost, shows, possible)
    some, images, covered = lost.rows(rows), images[rows], covered[rows].clamp(0, 1)
    colour, place, extent = _look(model, some)
    view = _View(images, covered, colour, extent)
    seen, at = view.around(place, _REACH)
    if not bool((seen | ~some.alive).all()):
        # Gone from there: look at most of the picture, and then more closely.
        far, there = view.around(place, _FAR)
        close, more = view.around(place + there, _REACH)
        at = torch.where(seen[..., None], at, there + more)
        seen = seen | (far & close)
    hidden = crop(covered, torch.cat([extent / 2, place], -1), 4).mean((2, 3, 4)) > _COVERED
    near, beside = view.nearest_cover(place)
    move = torch.where(seen[..., None], at, torch.where(hidden[..., None], 0.0, beside))
    where = lost.where.clone()
    where[rows] = torch.cat([some.where[..., :2], some.where[..., 2:] + move], -1)
    shows[rows], possible[rows] = seen, seen | hidden | near
    return Found(replace(lost, where=where), shows & lost.alive, possible & lost.alive)


def stay(lost: Slots) -> Found:
    """Take lost objects to be where they were last seen, without a look at the picture."""
    return Found(lost, torch.zeros_like(lost.alive), lost.alive)


def keeps_colour(model: Scalor, before: Slots, now: Slots, pairs: Tensor, images: Tensor) -> Tensor:
    """Of `pairs` (B, N, M) of slots before and now: does the place now show the colour before?

    An object that is touched may be encoded quite differently, but it does not change its colour.
    """
    result = torch.zeros_like(pairs)
    rows = pairs.flatten(1).any(1).nonzero()[:, 0]
    if not len(rows):
        return result
    colour = _look(model, before.rows(rows))[0]
    _, place, extent = _look(model, now.rows(rows))
    middle, images = torch.cat([extent / 2, place], -1), images[rows]
    for slot in range(pairs.shape[1]):
        like = _like(images, middle, colour[:, slot, None], 6)
        result[rows, slot] = like.float().mean((2, 3)) > _MOST
    return result & pairs


def same_thing(model: Scalor, live: Slots, lost: Slots, shows: Tensor) -> tuple[Tensor, Tensor]:
    """Which lost objects that show (B, M) are a second look of a live one, or of another lost one?

    They stand in one place and have one colour. Returns (B, M, N) and (B, M, M).
    """
    batch, count = shows.shape
    with_live = torch.zeros(batch, count, live.alive.shape[1], dtype=torch.bool)
    with_lost = torch.zeros(batch, count, count, dtype=torch.bool)
    rows = shows.any(1).nonzero()[:, 0]
    if len(rows):
        mine, there, _ = lost_looks = _look(model, lost.rows(rows))
        looks = (_look(model, live.rows(rows)), lost_looks)
        results, valid = (with_live, with_lost), (live.alive, shows)
        for result, (other, place, _), known in zip(results, looks, valid, strict=True):
            near = torch.cdist(there, place) < _BESIDE
            alike = (mine[:, :, None] - other[:, None]).abs().amax(-1) < _ALIKE
            result[rows] = near & alike & shows[rows, :, None] & known[rows, None]
        with_lost &= ~torch.eye(count, dtype=torch.bool)
    return with_live, with_lost


def own_masks(model: Scalor, objects: Slots, masks: Tensor, images: Tensor) -> Tensor:
    """Take from masks (B, N, G, 1, G) what is a smaller object's: where pictures show its colour.

    A model may draw a touched puck twice, as itself and as the end of the arm; where the arm
    stands would then be where the puck is. A puck behind the hand shows no colour there.
    """
    place, extent = extent_of(masks, objects.where)
    area = extent.prod(-1)
    gap = (objects.where[:, :, None, 2:] - place[:, None]).abs()
    meets = (gap < objects.where[:, :, None, :2] + extent[:, None]).all(-1)
    pairs = objects.alive[..., None] & objects.alive[:, None] & meets
    pairs &= _SMALLER * area[:, None] < area[..., None]
    rows = pairs.flatten(1).any(1).nonzero()[:, 0]
    if not len(rows):
        return masks
    some, pairs, points = objects.rows(rows), pairs[rows], masks.shape[2]
    colour = _look(model, some)[0]
    place, extent = place[rows], extent[rows].clamp_min(1e-6)
    drawn = masks[rows, :, :, 0] > MASK_FLOOR
    box = some.where[..., :2].prod(-1, keepdim=True)
    disc = 0.25 * torch.pi * points**2 * extent.prod(-1)[:, None] / box  # R N N, in points
    taken = torch.zeros(len(rows), masks.shape[1], points, points, dtype=torch.bool)
    line = (2 * torch.arange(points) + 1) / points - 1
    grid = some.where[..., 2:, None] + some.where[..., :2, None] * line  # R N 2 G
    view = crop(images[rows], some.where, points)
    for slot in range(masks.shape[1]):
        off = (grid - place[:, slot, None, :, None]) / extent[:, slot, None, :, None]
        away = (off[:, :, 1, :, None] ** 2 + off[:, :, 0, None] ** 2).sqrt()
        like = _alike(view, colour[:, slot, None])
        twice = (drawn & like & (away < 1)).sum((2, 3)) > _DRAWN * disc[..., slot]
        # One point more on every side: an edge is a mixture of two colours.
        edge = F.max_pool2d(like.float(), 3, stride=1, padding=1) > 0
        taken |= (away < _FRINGE) & edge & (pairs[..., slot] & twice)[..., None, None]
    own = masks.clone()
    own[rows] = own[rows] * ~taken[:, :, :, None]
    return own


def _look(model: Scalor, slots: Slots) -> tuple[Tensor, Tensor, Tensor]:
    """Mean colour (R, N, 3), place and half extent (R, N, 2) of objects."""
    colours, masks = model.decoder(slots.what)
    weight = masks.clamp_min(1e-6)
    colour = (colours * weight).sum((2, 4)) / weight.sum((2, 4))
    return colour, *extent_of(masks, slots.where)


def _like(images: Tensor, boxes: Tensor, colour: Tensor, points: int) -> Tensor:
    """Which points (R, N, P, P) of boxes (R, N, 4) in pictures have a colour (R, N or 1, 3)."""
    return _alike(crop(images, boxes, points), colour)


def _alike(view: Tensor, colour: Tensor) -> Tensor:
    """Which points (R, N, P, P) of crops (R, N, P, 3, P) have a colour (R, N or 1, 3)."""
    return (view - colour[:, :, None, :, None]).abs().amax(3) < _LIKE


def _offsets(reach: float) -> tuple[Tensor, Tensor]:
    """Offsets (P, P) of a square's points from its middle, down and across."""
    line = ((2 * torch.arange(_POINTS) + 1) / _POINTS - 1) * reach
    down, across = torch.meshgrid(line, line, indexing="ij")
    return down, across


@dataclass(frozen=True)
class _View:
    """Pictures (R, ., S, S), and the colours (R, N, 3) and half extents (R, N, 2) to look for."""

    images: Tensor
    covered: Tensor
    colour: Tensor
    extent: Tensor

    def around(self, place: Tensor, reach: float) -> tuple[Tensor, Tensor]:
        """Whether each object shows in a square around `place` (R, N, 2), and how far off it is."""
        box = torch.cat([torch.full_like(place, reach), place], -1)
        hides = crop(self.covered, box, _POINTS)[:, :, :, 0] > 0.5
        like = _like(self.images, box, self.colour, _POINTS) & hides
        least = max(1.0, _LEAST / reach**2)
        return like.sum((2, 3)) >= least, _fit(like, ~hides, self.extent, reach)

    def nearest_cover(self, place: Tensor) -> tuple[Tensor, Tensor]:
        """Whether anything is covered around `place`, and how far off the nearest such point is."""
        box = torch.cat([torch.full_like(place, _REACH), place], -1)
        on = crop(self.covered, box, _POINTS)[:, :, :, 0] > 0.5
        down, across = _offsets(_REACH)
        least, index = torch.where(on, down**2 + across**2, torch.inf).flatten(2).min(-1)
        offset = torch.stack([across.flatten()[index], down.flatten()[index]], -1)
        found = least.isfinite()
        return found, torch.where(found[..., None], offset, 0.0)


def _fit(like: Tensor, clear: Tensor, extent: Tensor, reach: float) -> Tensor:
    """Offset (R, N, 2) at which an ellipse of half axes `extent` (R, N, 2) explains a square best.

    It should contain the points that are `like` the object (R, N, P, P) and none that are `clear`
    and so show the background; what covers it may hide the rest. Among equals the mean is taken.
    """
    down, across = _offsets(reach)
    axes = extent.clamp_min(2 * reach / _POINTS)[..., None, None]
    middle = slice(_POINTS // 2 - _HALF, _POINTS // 2 + _HALF)
    x, y = across[middle, middle] / axes[:, :, 0], down[middle, middle] / axes[:, :, 1]
    inside = (x**2 + y**2 <= 1).float()
    count = like.shape[0] * like.shape[1]
    value = (like.float() - clear.float()).reshape(1, count, _POINTS, _POINTS)
    value = F.pad(value, (_HALF, _HALF - 1, _HALF, _HALF - 1))
    score = F.conv2d(value, inside.reshape(count, 1, 2 * _HALF, 2 * _HALF), groups=count)
    weight = (score.reshape(*like.shape[:2], -1) / _SOFT).softmax(-1)
    # The middle of an even kernel lies half a spacing before the point that it belongs to.
    shift = reach / _POINTS
    return torch.stack([weight @ across.flatten(), weight @ down.flatten()], -1) - shift
