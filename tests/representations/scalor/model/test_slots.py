"""Slots from frame to frame: survivors in order, new objects after them, identities unique."""

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from smorl.representations.scalor.model.slots import Slots, merge
from tests.representations.scalor.small import SMALL, noise

COUNT = SMALL.slots


def tracked(alive, ids) -> Slots:
    """One row of slots whose first what number is their id."""
    slots = Slots.empty(SMALL, 1)
    what = slots.what.clone()
    what[0, :, 0] = torch.tensor([float(i) for i in ids])
    return replace(slots, what=what, alive=torch.tensor([alive]), ids=torch.tensor([ids]))


def found(presence) -> Slots:
    """One row of new objects; the first what number is 100 + presence."""
    shown = torch.tensor(presence)[None, :, None]
    what = torch.zeros(1, len(presence), SMALL.what)
    what[..., :1] = 100 + shown
    where = torch.full((1, len(presence), 4), 0.3)
    return Slots.born(SMALL, what, where, torch.zeros_like(shown), shown)


def test_nothing_is_alive_at_first():
    slots = Slots.empty(SMALL, 2)
    assert not slots.alive.any()
    assert (slots.ids == -1).all()
    assert (slots.where[..., :2] > 0).all()  # so that dividing by the box's size is harmless


def test_only_sure_proposals_are_born():
    born = found([0.69, 0.71, 0.0])
    assert born.alive.tolist() == [[False, True, False]]
    for name in ("bias", "state", "prior", "absence"):
        assert not getattr(born, name).any()


def test_survivors_keep_their_order_and_new_objects_follow_surest_first():
    slots, new, next_id = merge(
        tracked([False, True, False], [0, 4, 2]), found([0.8, 0.1, 0.9]), torch.tensor([7])
    )
    assert slots.alive.tolist() == [[True, True, True]]
    torch.testing.assert_close(slots.what[0, :, 0], torch.tensor([4.0, 100.9, 100.8]))
    assert slots.ids.tolist() == [[4, 8, 7]]
    assert new.tolist() == [[False, True, True]]
    assert next_id.tolist() == [9]


def test_dead_slots_have_no_identity():
    slots, new, next_id = merge(
        tracked([False, True, False], [3, 4, 5]), found([0.0]), torch.tensor([6])
    )
    assert slots.ids.tolist() == [[4, -1, -1]]
    assert not new.any()
    assert next_id.tolist() == [6]


def test_nothing_carried_is_differentiated():
    what = torch.ones(1, COUNT, SMALL.what, requires_grad=True)
    slots = replace(tracked([True] * COUNT, [0, 1, 2]), what=what * 2)
    assert slots.what.requires_grad
    merged, _, _ = merge(slots, found([0.9]), torch.tensor([3]))
    assert not any(getattr(merged, name).requires_grad for name in vars(merged))


@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=8),
    st.integers(0, 2**31),
)
def test_identities_are_unique_and_stable_over_many_frames(deaths, seed):
    """Random births and deaths: an id never comes twice and stays with its object."""
    slots, next_id = Slots.empty(SMALL, 1), torch.zeros(1, dtype=torch.int64)
    seen: dict[int, float] = {}
    for t, dies in enumerate(deaths):
        alive = slots.alive & ~torch.tensor([dies[:COUNT]])
        order = [i for i in slots.ids[0].tolist() if i in slots.ids[alive].tolist()]
        slots = replace(slots, alive=alive)
        presence = noise(1, 4, seed=seed + t)
        # As many are accepted as there is room for.
        room = COUNT - int(alive.sum())
        presence = presence * (presence.argsort(1).argsort(1) >= 4 - room)
        born = found(presence[0].tolist())
        slots, new, next_id = merge(slots, born, next_id)
        ids = slots.ids[0].tolist()
        living = [i for i in ids if i >= 0]
        assert slots.alive[0].tolist() == [i >= 0 for i in ids]
        assert len(set(living)) == len(living) <= COUNT
        assert living[: len(order)] == order
        assert all(i not in seen for i in slots.ids[new].tolist())
        for i, look in zip(ids, slots.what[0, :, 0].tolist(), strict=True):
            if i >= 0:
                assert seen.setdefault(i, look) == look
        assert next_id.item() == len(seen)
