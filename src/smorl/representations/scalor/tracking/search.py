"""Look for objects that the model has lost: by their colour, near where they were.

SCALOR is trained on random motion, in which objects are seldom half hidden. An agent that pulls a
puck towards its own body has it half behind the hand all the time, and the model loses it there.
The rest of it still shows in the picture, next to where it was last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smorl.devices import to_array, to_tensor
from smorl.representations.scalor.kernels import colours, shapes
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.flat import Cutter, plain
from smorl.representations.scalor.tracking.masks import FOOT, extent_of

_REACH = 0.3  # image coordinates, how far from its last place an object is looked for
_FAR = 0.8  # and how far if it is not there
_LIKE = 0.2  # difference of colour, 0 to 1, up to which a pixel may belong to an object
_LEAST = 0.36  # points of its colour, in a square of reach 1, that make an object show; 4 nearby
_BESIDE, _ALIKE = 0.1, 0.3  # distance and difference of colour of two looks of one thing
_MOST = 0.5  # share of an object's middle that shows its colour if it is still there
_MIDDLE, _HIDING = 6, 4  # points per side of a middle that are looked at, for colour and for cover
_SMALLER = 2.0  # times smaller than another one is an object that may be drawn as part of it
_COVERED = 0.3  # share of an object's place that must be covered to hide it


@dataclass(frozen=True)
class Drawn:
    """How slots (B, N) are drawn: mean colour (B, N, 3) and masks (B, N, G, 1, G)."""

    colour: Tensor
    masks: Tensor

    @classmethod
    def of(cls, model: Scalor, what: Tensor) -> Drawn:
        """Draw appearances (B, N, W)."""
        painted, masks = model.decoder(what)
        flat = plain(painted.flatten(0, 1), masks.flatten(0, 1)[:, :, 0])
        colour = to_tensor(shapes.mean_colours(*flat), what.device)
        return cls(colour.view(*what.shape[:2], 3), masks)

    def __getitem__(self, index) -> Drawn:
        return Drawn(self.colour[index], self.masks[index])


@dataclass(frozen=True)
class Found:
    """Slots (B, N, .) where they may be now, whether each shows (B, N) and may be there (B, N)."""

    slots: Slots
    shows: Tensor
    possible: Tensor


def search(lost: Slots, drawn: Drawn, images: Tensor, covered: Tensor) -> Found:
    """Move lost objects to where pictures (B, 3, S, S) show their colour, or could hide them.

    An object goes to where its shape explains the pixels of its colour best. Without any it stays
    if its place is hidden, else it goes to the nearest place that is; if there is none, it is not
    there. `covered` (B, 1, S, S) says where something stands before the background.
    """
    shows, possible = torch.zeros_like(lost.alive), torch.zeros_like(lost.alive)
    slots = lost.alive.nonzero(as_tuple=True)
    if not len(slots[0]):
        return Found(lost, shows, possible)
    place, extent = extent_of(drawn.masks[slots], lost.where[slots])
    view = _View(images, covered.clamp(0, 1), slots[0], drawn.colour[slots], extent)
    seen, way, cover = view.around(place, _REACH)
    beside = colours.nearest_cover(to_array(cover), _REACH)
    near, beside = (to_tensor(a, cover.device) for a in beside)
    if not bool(seen.all()):
        # Gone from there: look at most of the picture, and then more closely.
        rest = (~seen).nonzero()[:, 0]
        far, there, _ = view[rest].around(place[rest], _FAR)
        rest, there = rest[far], there[far]
        seen[rest], more, _ = view[rest].around(place[rest] + there, _REACH)
        way[rest] = there + more
    middle = Cutter(slots[0])(view.covered, torch.cat([extent / 2, place], -1), _HIDING)
    hidden = middle.mean((1, 2, 3)) > _COVERED
    way = torch.where(seen[:, None], way, torch.where(hidden[:, None], 0.0, beside))
    where = lost.where.clone()
    where[slots] += torch.cat([torch.zeros_like(way), way], -1)
    shows[slots], possible[slots] = seen, seen | hidden | near
    return Found(replace(lost, where=where), shows, possible)


def stay(lost: Slots) -> Found:
    """Take lost objects to be where they were last seen, without a look at the picture."""
    return Found(lost, torch.zeros_like(lost.alive), lost.alive)


def keeps_colour(before: Drawn, now: Drawn, where: Tensor, pairs: Tensor, images: Tensor) -> Tensor:
    """Of `pairs` (B, N, M) of slots before and now: does the place now show the colour before?

    `where` (B, M, 4) are the boxes now. An object that is touched may be encoded quite differently,
    but it does not change its colour.
    """
    result = torch.zeros_like(pairs)
    row, one, two = pairs.nonzero(as_tuple=True)
    if len(row):
        place, extent = extent_of(now.masks[row, two], where[row, two])
        views = Cutter(row)(images, torch.cat([extent / 2, place], -1), _MIDDLE)
        share = colours.shares(*plain(views, before.colour[row, one]), _LIKE)
        result[row, one, two] = to_tensor(share > _MOST, row.device)
    return result


def same_thing(
    live: Slots, drawn_live: Drawn, lost: Slots, drawn_lost: Drawn, shows: Tensor
) -> tuple[Tensor, Tensor]:
    """Which lost objects that show (B, M) are a second look of a live one, or of another lost one?

    They stand in one place and have one colour. Returns (B, M, N) and (B, M, M).
    """
    batch, count = shows.shape
    with_live = shows.new_zeros(batch, count, live.alive.shape[1])
    with_lost = shows.new_zeros(batch, count, count)
    rows = shows.any(1).nonzero()[:, 0]
    if len(rows):
        mine, there = (
            drawn_lost.colour[rows],
            extent_of(drawn_lost.masks[rows], lost.where[rows])[0],
        )
        other, place = (
            drawn_live.colour[rows],
            extent_of(drawn_live.masks[rows], live.where[rows])[0],
        )
        looks = ((with_live, other, place, live.alive), (with_lost, mine, there, shows))
        for result, colour, at, known in looks:
            near = torch.cdist(there, at) < _BESIDE
            alike = (mine[:, :, None] - colour[:, None]).abs().amax(-1) < _ALIKE
            result[rows] = near & alike & shows[rows, :, None] & known[rows, None]
        with_lost &= ~torch.eye(count, dtype=torch.bool, device=shows.device)
    return with_live, with_lost


def own_masks(
    model: Scalor, rows: Tensor, what: Tensor, where: Tensor, masks: Tensor, images: Tensor
) -> Tensor:
    """Take from masks (M, G, 1, G) what is a smaller object's: where pictures show its colour.

    Objects are a flat list, `rows` (M,) of pictures (B, 3, S, S). A model may draw a touched puck
    twice, as itself and as the end of the arm; where the arm stands would then be where the puck
    is. A puck behind the hand shows no colour there.
    """
    row, shape, box = plain(rows, masks[:, :, 0], where)
    place, extent = shapes.extents(shape, box, FOOT)
    pairs = colours.overlaps(row, box, place, extent, _SMALLER)
    if not len(pairs):
        return masks
    large, small = to_tensor(pairs, rows.device).unbind(1)
    colour = Drawn.of(model, what[small][None]).colour[0]
    views = to_array(Cutter(rows[large])(images, where[large], masks.shape[-1]))
    own = colours.carve(views, shape, box, place, extent, pairs, to_array(colour), _LIKE)
    return to_tensor(own, masks.device)[:, :, None]


@dataclass(frozen=True)
class _View:
    """Pictures (B, ., S, S) and what to look for in them: rows (M,), colours, half extents."""

    images: Tensor
    covered: Tensor
    rows: Tensor
    colour: Tensor
    extent: Tensor

    def __getitem__(self, index: Tensor) -> _View:
        some = self.rows[index], self.colour[index], self.extent[index]
        return _View(self.images, self.covered, *some)

    def around(self, place: Tensor, reach: float) -> tuple[Tensor, Tensor, Tensor]:
        """Whether each object shows in a square around `place` (M, 2), and how far off it is.

        What is covered in the squares is returned, too.
        """
        box, cut = torch.cat([torch.full_like(place, reach), place], -1), Cutter(self.rows)
        views, covers = (
            cut(self.images, box, colours.POINTS),
            cut(self.covered, box, colours.POINTS),
        )
        looks = plain(views, covers, self.colour, self.extent)
        found = colours.seek(*looks, reach, _LIKE, _LEAST)
        shows, away = (to_tensor(a, place.device) for a in found)
        return shows, away, covers
