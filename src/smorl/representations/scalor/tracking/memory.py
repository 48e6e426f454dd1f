"""Occlusion memory: an object that the model loses is remembered, and looked for, for a while.

Presence and visibility are two things. SCALOR drops an object as soon as it is no longer seen, or
gives its slot to another; here it is kept, with its look and an age.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smorl.devices import to_tensor
from smorl.representations.scalor.kernels import births
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.flat import plain
from smorl.representations.scalor.tracking.looks import TURNED
from smorl.representations.scalor.tracking.search import (
    Drawn,
    keeps_colour,
    same_thing,
    search,
    stay,
)

_SURE = 0.5  # share of the matching distance within which looks alone tell that two are the same


@dataclass(frozen=True)
class Memory:
    """Hidden objects: slots (B, N, .) and frames since each was seen (B, N)."""

    slots: Slots
    age: Tensor

    @classmethod
    def empty(cls, like: Slots) -> Memory:
        slots = replace(like, alive=torch.zeros_like(like.alive), ids=torch.full_like(like.ids, -1))
        return cls(slots, torch.zeros_like(like.ids))

    def append_to(self, live: Slots, new: Tensor) -> tuple[Slots, Tensor, Tensor]:
        """Return live objects followed by remembered ones, with ages and whether just found."""
        count = live.alive.shape[1]
        key = torch.cat([2.0 * live.alive, 1.0 * self.slots.alive], 1)
        chosen = torch.sort(key, dim=1, descending=True, stable=True).indices[:, :count]
        slots = _pick(live, self.slots, chosen)
        age = torch.cat([torch.zeros_like(self.age), self.age], 1).gather(1, chosen)
        found = torch.cat([new, torch.zeros_like(new)], 1).gather(1, chosen)
        return slots, torch.where(slots.alive, age, 0), found


def stirring(before: Slots, slots: Slots, memory: Memory, what_basis: Tensor) -> Tensor:
    """The rows (R,) in which `remember` has something to do: elsewhere all go on as they were."""
    known = plain(before.alive, before.ids, before.what)
    live = plain(slots.alive, slots.ids, slots.what, memory.slots.alive, what_basis)
    found = births.stirring(*known, *live, TURNED)
    return to_tensor(found, slots.alive.device).nonzero()[:, 0]


def remember(
    model: Scalor,
    before: Slots,
    slots: Slots,
    next_id: Tensor,
    memory: Memory,
    images: Tensor,
    covered: Tensor,
    what_basis: Tensor,
    limit: int,
    same: float,
    look: bool = True,
) -> tuple[Slots, Tensor, Memory]:
    """Update the memory after a frame; return slots with restored IDs, the next ID, the memory.

    `before` are the objects of the frame before, with the looks they are known by. An object that
    looks like a remembered one (normalised what distance below `same`) is that one, and gets its
    ID back. A lost object is remembered while it may be somewhere near its last place
    (see `search`), for at most `limit` frames out of sight, unless a live object looks the same.
    If nobody is to `look` for it, it stays where it was last seen.
    `covered` (B, 1, S, S) says where something stands before the background.
    """
    count = slots.alive.shape[1]
    drawn = Drawn.of(model, torch.cat([slots.what, memory.slots.what, before.what], 1))
    live, others = drawn[:, :count], drawn[:, count:]  # as they are now, and as they are known
    alike = _Alike(live, images if look else None, what_basis, same)
    slots, kept = _come_back(slots, memory.slots, others[:, :count], alike)
    slots, next_id, lost = _go_missing(before, others[:, count:], slots, next_id, alike)
    age = torch.cat([memory.age + 1, torch.ones_like(memory.age)], 1)
    key = torch.cat([1.0 * kept.alive, 2.0 * lost.alive], 1)
    chosen = torch.sort(key, dim=1, descending=True, stable=True).indices[:, :count]
    held, age = _pick(kept, lost, chosen), age.gather(1, chosen)
    known = others[torch.arange(len(chosen), device=chosen.device)[:, None], chosen]
    found = search(held, known, images, covered) if look else stay(held)
    age = torch.where(found.shows, age.clamp_max(1), age)
    alive = held.alive & (age <= limit) & found.possible
    held = replace(found.slots, alive=alive)
    same_as = same_thing(slots, live, held, known, found.shows & alive)
    slots, alive = _merge_views(slots, held, *same_as)
    held = replace(held, alive=alive, ids=torch.where(alive, held.ids, -1))
    return slots, next_id, Memory(held, torch.where(alive, age, 0))


@dataclass(frozen=True)
class _Alike:
    """Which objects look the same: by their appearance and, given `images`, by their colour there.

    Appearances of a puck and of a piece of the arm can be nearer than the matching threshold; a
    piece of the arm does not have the puck's colour, though.
    """

    drawn: Drawn  # the live objects
    images: Tensor | None
    what_basis: Tensor
    same: float

    def gap(self, one: Slots, two: Slots) -> Tensor:
        """How different each pair looks, (B, N, M)."""
        return torch.cdist(one.what @ self.what_basis, two.what @ self.what_basis)

    def seen(self, known: Drawn, live: Slots, gap: Tensor, asked: Tensor) -> Tensor:
        """Of the pairs `asked` about (B, N, M): is the live object the known one?"""
        pairs = asked & live.alive[:, None] & (gap < self.same)
        if self.images is None:
            return pairs
        doubtful = pairs & (gap > _SURE * self.same)
        kept = keeps_colour(known, self.drawn, live.where, doubtful, self.images)
        return pairs & (~doubtful | kept)

    def turned(self, known: Drawn, live: Slots, gap: Tensor, asked: Tensor) -> Tensor:
        """Of the pairs `asked` about (B, N, M): has the known object become another one?"""
        pairs = asked & (gap > TURNED)
        if self.images is None:
            return pairs
        return pairs & ~keeps_colour(known, self.drawn, live.where, pairs, self.images)


def _come_back(live: Slots, remembered: Slots, drawn: Drawn, alike: _Alike) -> tuple[Slots, Slots]:
    """Return live objects, some under remembered IDs, and what is still to be remembered."""
    gap = alike.gap(remembered, live)
    seen = alike.seen(drawn, live, gap, remembered.alive[..., None].expand_as(gap))
    wanted = torch.where(seen, gap, torch.inf)
    # Each remembered object goes to its nearest candidate if that one prefers it too.
    mutual = (wanted == wanted.amin(1, keepdim=True)) & (wanted == wanted.amin(2, keepdim=True))
    back = mutual & seen
    ids = torch.where(back, remembered.ids[..., None], -1).amax(1)
    # What looks like a live object is that object, or a second view of it: not hidden behind it.
    kept = replace(remembered, alive=remembered.alive & ~seen.any(2))
    return replace(live, ids=torch.where(back.any(1), ids, live.ids)), kept


def _go_missing(
    before: Slots, drawn: Drawn, slots: Slots, next_id: Tensor, alike: _Alike
) -> tuple[Slots, Tensor, Slots]:
    """Return slots, with new IDs for what took one over, the next ID, and objects that are lost.

    A slot whose place still shows the old colour was not taken over.
    """
    gap = alike.gap(before, slots)
    named = (before.ids[..., None] == slots.ids[:, None]) & slots.alive[:, None]
    steady = (named & (gap <= TURNED)).any(2)
    asked = (before.alive & ~steady)[..., None].expand_as(gap)
    double = alike.seen(drawn, slots, gap, asked).any(2)
    turned = alike.turned(drawn, slots, gap, named & (before.alive & ~double)[..., None])
    lost = replace(before, alive=before.alive & ~(named & ~turned).any(2) & ~double)
    thief = turned.any(1)
    fresh = torch.cumsum(thief, 1) - 1 + next_id[:, None]
    slots = replace(slots, ids=torch.where(thief, fresh, slots.ids))
    return slots, next_id + thief.sum(1), lost


def _merge_views(
    live: Slots, held: Slots, with_live: Tensor, with_held: Tensor
) -> tuple[Slots, Tensor]:
    """Return live objects under their oldest IDs, and which of the remembered ones (B, M) remain.

    with_live (B, M, N) and with_held (B, M, M) say which remembered objects are the same thing as a
    live or as another remembered one. The older ID wins, and with it the look.
    """
    older = held.ids[:, None] < held.ids[..., None]  # (B, i, j): j is older than i
    gone = (with_held & older).any(2)
    with_live = with_live & ~gone[..., None]
    with_live = with_live & (with_live.cumsum(2) == 1)  # no two live objects share an ID
    oldest = torch.where(with_live, held.ids[..., None], live.ids[:, None]).amin(1)
    ids = torch.where(with_live.any(1), torch.minimum(oldest, live.ids), live.ids)
    return replace(live, ids=ids), held.alive & ~gone & ~with_live.any(2)


def _pick(one: Slots, two: Slots, chosen: Tensor) -> Slots:
    """Pick slots of both together, by their places `chosen` (B, N) in the second dimension."""
    batch, count = chosen.shape
    both = one.alive.shape[1] + two.alive.shape[1]
    rows = torch.arange(batch, device=chosen.device)[:, None]
    index = (chosen + both * rows).flatten()

    def take(a: Tensor, b: Tensor) -> Tensor:
        found = torch.cat([a, b], 1).flatten(0, 1).index_select(0, index)
        return found.view(batch, count, *a.shape[2:])

    return Slots(**{name: take(getattr(one, name), getattr(two, name)) for name in vars(one)})
