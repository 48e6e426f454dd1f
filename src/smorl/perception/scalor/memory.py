"""Occlusion memory: an object hidden behind another keeps its last known place for a while.

Presence and visibility are two things. SCALOR drops an object as soon as it is no longer seen;
here it is kept, with an age, as long as what covers its place is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smorl.perception.scalor.geometry import crop
from smorl.perception.scalor.model import State
from smorl.perception.scalor.slots import Slots

_COVERED = 0.3  # share of a lost object's place above which something hides it


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


def remember(
    before: Slots,
    state: State,
    memory: Memory,
    covered: Tensor,
    what_basis: Tensor,
    limit: int,
    same: float,
) -> tuple[State, Memory]:
    """Update the memory after a frame; return the state with restored IDs, and the memory.

    A newly found object that looks like a remembered one (normalised what distance below
    `same`) is that one, and gets its ID back. A lost object is remembered while its last place is
    covered, for at most `limit` frames, unless a live object looks the same. `covered`
    (B, 1, S, S) says where something stands before the background.
    """
    slots = state.slots
    gap = (slots.what[:, :, None] - memory.slots.what[:, None]) @ what_basis
    near = gap.norm(dim=-1)  # (B, live, remembered)
    possible = (slots.alive & state.new)[..., None] & memory.slots.alive[:, None]
    near = torch.where(possible, near, torch.inf)
    # Each remembered object goes to its nearest candidate if that one prefers it too.
    mutual = (near == near.amin(1, keepdim=True)) & (near == near.amin(2, keepdim=True))
    back = mutual & (near < same)
    returned, restored = back.any(1), back.any(2)
    ids = torch.where(back, memory.slots.ids[:, None], -1).amax(2)
    slots = replace(slots, ids=torch.where(restored, ids, slots.ids))
    kept = replace(memory.slots, alive=memory.slots.alive & ~returned)
    still = (before.ids[..., None] == slots.ids[:, None]) & slots.alive[:, None]
    # One that looks like a live object was a second view of it, not something hidden behind it.
    gap = (before.what[:, :, None] - slots.what[:, None]) @ what_basis
    double = ((gap.norm(dim=-1) < same) & slots.alive[:, None]).any(2)
    lost = replace(before, alive=before.alive & ~still.any(2) & ~double)
    age = torch.cat([memory.age + 1, torch.ones_like(memory.age)], 1)
    key = torch.cat([1.0 * kept.alive, 2.0 * lost.alive], 1)
    count = slots.alive.shape[1]
    chosen = torch.sort(key, dim=1, descending=True, stable=True).indices[:, :count]
    held, age = _pick(kept, lost, chosen), age.gather(1, chosen)
    alive = held.alive & (age <= limit) & _covered(held, covered)
    held = replace(held, alive=alive, ids=torch.where(alive, held.ids, -1))
    return replace(state, slots=slots), Memory(held, torch.where(alive, age, 0))


def _covered(slots: Slots, alpha: Tensor) -> Tensor:
    """Whether much of the middle of each object's box is covered by something (B, N)."""
    middle = torch.cat([slots.where[..., :2] * 0.5, slots.where[..., 2:]], -1)
    return crop(alpha.clamp(0, 1), middle, 4).mean((2, 3, 4)) > _COVERED


def _pick(one: Slots, two: Slots, chosen: Tensor) -> Slots:
    def take(a: Tensor, b: Tensor) -> Tensor:
        both = torch.cat([a, b], 1)
        index = chosen if both.dim() == 2 else chosen[..., None].expand(-1, -1, both.shape[-1])
        return both.gather(1, index)

    return Slots(**{name: take(getattr(one, name), getattr(two, name)) for name in vars(one)})
