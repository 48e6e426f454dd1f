"""What the tracker reports, put right where the whole picture knows better (`tracking/finder.py`).

The model draws a puck and the arm before it in one slot, and when they part it may be the arm that
is known as the puck. A network that has seen many pictures of the puck is not taken in. It says
where each known thing is; a slot of its name that is elsewhere is what it looks like, and a thing
that no slot holds gets one. What is out of sight stays where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import nearest_centre
from smorl.representations.scalor.tracking.finder import Finder

FIRST_ID = 10**6  # of known things; the tracker counts its discoveries from 0
_SEEN, _SURE = 0.2, 0.5  # chance from which a thing is there; one that was not seen so far
_THERE = 0.125  # image coordinates within which a slot and a sighting are of the same thing
_REACH = (
    0.25  # how far the tracker may have followed a thing that the picture does not show clearly
)
NEVER = -1


@dataclass(frozen=True)
class View:
    """A report: what (B, N, W), place and extent (B, N, 2), depth (B, N, D), age in frames since
    it was seen, ids and present (B, N). Arrays are not written to."""

    what: np.ndarray
    place: np.ndarray
    extent: np.ndarray
    depth: np.ndarray
    age: np.ndarray
    ids: np.ndarray
    present: np.ndarray


@dataclass(frozen=True)
class Whereabouts:
    """Of K things in B rows: the last place (B, K, 2), and how many frames ago it was seen there
    (B, K), `NEVER` if not."""

    place: np.ndarray
    age: np.ndarray

    @classmethod
    def unknown(cls, rows: int, things: int) -> Whereabouts:
        """Nothing was seen yet."""
        return cls(np.zeros((rows, things, 2), np.float32), np.full((rows, things), NEVER))

    def forget(self, rows: np.ndarray) -> Whereabouts:
        """Return what is known without the rows in the mask (B,)."""
        return replace(self, age=np.where(rows[:, None], NEVER, self.age))


@dataclass(frozen=True)
class Known:
    """The network, which appearances are the own body's, and how things look.

    kinds (C,) says which thing each cluster of appearances is, -1 if none; looks (K + 1, W),
    extents (K + 1, 2) and depths (K + 1, D) are of a usual sighting, the last of the body.
    """

    finder: Finder
    rest: StillnessModel
    kinds: np.ndarray
    looks: np.ndarray
    extents: np.ndarray
    depths: np.ndarray

    def __post_init__(self) -> None:
        """Refuse shapes that no fit has; a file may say anything."""
        things, kinds = self.finder.things, self.kinds
        good = kinds.shape == self.rest.rest.shape and kinds.dtype.kind == "i"
        good = good and bool((kinds >= -1).all() and (kinds < things).all())
        usual = [self.looks.shape, self.extents.shape, (len(self.depths), self.depths.ndim)]
        rows = things + 1
        if not good or usual != [(rows, self.rest.centres.shape[1]), (rows, 2), (rows, 2)]:
            raise ValueError(f"{things} things of kinds {kinds.tolist()}, {usual}")

    def to(self, device: torch.device) -> Known:
        """Have the network on a device."""
        return replace(self, finder=self.finder.to(device))

    @property
    def things(self) -> int:
        """How many kinds of things it knows."""
        return self.finder.things

    def put_right(
        self,
        view: View,
        raw: np.ndarray,
        chance: np.ndarray,
        place: np.ndarray,
        past: Whereabouts,
        same: float,
        limit: int,
    ) -> tuple[View, Whereabouts]:
        """Return the view as the picture has it, given how surely (B, K) and where (B, K, 2) things
        are seen; `raw` (B, N, W) are appearances of this very frame.

        Appearances below `same` apart are of one object; what was not seen for more than `limit`
        frames is forgotten.
        """
        sheet = _Sheet(view, raw, self, same)
        after = Whereabouts(past.place.copy(), past.age.copy())
        for k in range(self.things):
            known = past.age[:, k] >= 0
            seen = chance[:, k] >= np.where(known, _SEEN, _SURE)
            there = np.where(seen[:, None], place[:, k], past.place[:, k])
            followed = ~seen & sheet.followed(k, there, np.where(known, _REACH, np.inf))
            own = sheet.nearest(k, there)[0]
            rows = np.arange(len(own))
            age = np.where(followed, sheet.age[rows, own], np.where(seen, 0, past.age[:, k] + 1))
            there = np.where(followed[:, None], sheet.place[rows, own], there)
            holds = (seen | known | followed) & (age <= limit)
            sheet.hold(k, there, age, holds)
            after.place[:, k], after.age[:, k] = there, np.where(holds, age, NEVER)
        return sheet.view(), after

    def put_hand(self, view: View, hand: np.ndarray) -> View:
        """Return the view with the part of the body nearest to the hand (B, 2) there.

        Where no part of the body is seen it gets a slot, if one is free.
        """
        what, extent, depth, age, ids, present = (
            array.copy()
            for array in (view.what, view.extent, view.depth, view.age, view.ids, view.present)
        )
        body = present & (self.rest.of(what) < 0.5)
        new = ~body.any(1) & ~present.all(1)
        rows, free = np.flatnonzero(new), present.argmin(1)[new]
        what[rows, free], extent[rows, free] = self.looks[-1], self.extents[-1]
        depth[rows, free] = self.depths[-1]
        age[rows, free], ids[rows, free], present[rows, free] = 0, FIRST_ID + self.things, True
        body[rows, free] = True
        away = np.where(body, np.linalg.norm(view.place - hand[:, None], axis=-1), np.inf)
        away[rows, free] = 0
        mine = body & (np.arange(body.shape[1]) == away.argmin(1)[:, None])
        place = np.where(mine[..., None], hand[:, None], view.place)
        return View(what, place, extent, depth, age, ids, present)


class _Sheet:
    """A view on which corrections are made."""

    def __init__(self, view: View, raw: np.ndarray, known: Known, same: float) -> None:
        self.what, self.place, self.extent = view.what.copy(), view.place.copy(), view.extent.copy()
        self.depth, self.age, self.ids = view.depth.copy(), view.age.copy(), view.ids.copy()
        self.present = view.present.copy()
        self.raw, self.known = raw, known
        cluster = nearest_centre(view.what, known.rest.centres)
        gap = np.linalg.norm(view.what - known.rest.centres[cluster], axis=-1)
        self.body = view.present & (known.rest.rest[cluster] < 0.5)
        # Which thing a slot is by its name; -1: the body, a stranger, nothing.
        self.kind = np.where(view.present & (gap < same), known.kinds[cluster], -1)
        self.kept = np.zeros_like(view.present)  # slots that hold a thing for good

    def view(self) -> View:
        """Return what the sheet says now."""
        return View(
            self.what, self.place, self.extent, self.depth, self.age, self.ids, self.present
        )

    def nearest(self, k: int, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slot (B,) that is thing k by its name nearest to `there` (B, 2), how near."""
        away = np.linalg.norm(self.place - there[:, None], axis=-1)
        away = np.where(self.kind == k, away, np.inf)
        return away.argmin(1), away.min(1)

    def followed(self, k: int, there: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """In which rows does a slot of thing k stand within `reach` (B,) of its last place?"""
        away = self.nearest(k, there)[1]
        return np.isfinite(away) & (away < reach)

    def hold(self, k: int, there: np.ndarray, age: np.ndarray, holds: np.ndarray) -> None:
        """See to it that in the rows `holds` one slot, and no other, is thing k, and is `there`."""
        slot, away = self.nearest(k, there)
        rows = np.arange(len(slot))
        mine = holds & (away < _THERE)
        named = np.zeros_like(self.present)
        named[rows[mine], slot[mine]] = True
        self._unmask((self.kind == k) & ~named & holds[:, None])
        near = np.linalg.norm(self.place - there[:, None], axis=-1)
        stranger = self.present & ~self.body & ~self.kept & (self.kind < 0)
        near = np.where(stranger, near, np.inf)
        takes = holds & ~mine & (near.min(1) < _THERE / 2)
        free = ~self.present
        fills = holds & ~mine & ~takes & free.any(1)
        slot = np.where(mine, slot, np.where(takes, near.argmin(1), free.argmax(1)))
        new = takes | fills
        self.what[rows[new], slot[new]] = self.known.looks[k]
        self.extent[rows[fills], slot[fills]] = self.known.extents[k]
        self.depth[rows[fills], slot[fills]] = self.known.depths[k]
        done = mine | new
        at = rows[done], slot[done]
        # Two measurements are better than one.
        there = np.where((mine & (age == 0))[:, None], (there + self.place[rows, slot]) / 2, there)
        self.place[at], self.age[at], self.ids[at] = there[done], age[done], FIRST_ID + k
        self.present[at], self.kept[at], self.kind[at] = True, True, k

    def _unmask(self, slots: np.ndarray) -> None:
        """Slots (B, N) that go by the name of a thing that is elsewhere are what they look like:
        the body, or nothing."""
        self.what[slots] = self.raw[slots]
        body = slots & (self.known.rest.of(self.raw) < 0.5)
        self.body |= body
        self.present &= ~slots | body
        self.kind[slots] = -1
