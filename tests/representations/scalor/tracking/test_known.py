"""Reports put right: a thing is where the picture says, and no other slot goes by its name."""

import numpy as np
import pytest
import torch

from smorl.goals.own_body import StillnessModel
from smorl.representations.scalor.tracking.finder import Finder
from smorl.representations.scalor.tracking.known import (
    FIRST_ID,
    NEVER,
    Known,
    View,
    Whereabouts,
)

ARM, RED, BLUE = [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]
NOTHING = [0.0, 0, 0]
LOOKS = np.array([RED, BLUE, ARM], np.float32)
REST = StillnessModel(LOOKS, np.array([0.9, 0.9, 0.1], np.float32))
LIMIT, SAME = 5, 0.5


def knowing() -> Known:
    torch.manual_seed(0)
    sizes = np.array([[0.1, 0.1], [0.1, 0.1], [0.3, 0.4]], np.float32)
    depths = np.array([[0.1], [0.2], [0.3]], np.float32)
    return Known(Finder(32, 2), REST, np.array([0, 1, -1]), LOOKS, sizes, depths)


def report(*objects, slots: int = 4) -> View:
    """A view of one row: (look, place) or None for each slot, the rest empty."""
    what, place = np.zeros((1, slots, 3), np.float32), np.zeros((1, slots, 2), np.float32)
    present = np.zeros((1, slots), bool)
    for i, thing in enumerate(objects):
        if thing is not None:
            what[0, i], place[0, i], present[0, i] = thing[0], thing[1], True
    ids = np.where(present, np.arange(slots), -1)
    few = np.full((1, slots, 2), 0.1, np.float32)
    return View(what, place, few, few[..., :1], np.zeros((1, slots), int), ids, present)


def correct(view, red=None, blue=None, past=None, raw=None, chance=0.9):
    seen = np.array([[0.0 if p is None else chance for p in (red, blue)]], np.float32)
    place = np.array([[(0, 0) if p is None else p for p in (red, blue)]], np.float32)
    past = Whereabouts.unknown(1, 2) if past is None else past
    raw = view.what if raw is None else np.array([raw], np.float32)
    return knowing().put_right(view, raw, seen, place, past, SAME, LIMIT)


def told(view: View) -> dict:
    """What is reported: looks by place, rounded."""
    rows = zip(view.what[0], view.place[0], view.present[0], strict=True)
    return {tuple(round(float(x), 2) for x in p): w.tolist() for w, p, here in rows if here}


def test_what_agrees_is_measured_twice():
    view, past = correct(report((ARM, (0.9, 0.9)), (RED, (0.1, 0.0))), red=(0.2, 0.0))
    assert told(view) == {(0.9, 0.9): ARM, (0.15, 0.0): RED}
    assert view.ids[0, 1] == FIRST_ID
    assert view.ids[0, 0] == 0, "what nobody looks for keeps its ID"
    assert past.age.tolist() == [[0, NEVER]]


def test_a_stolen_slot_is_what_it_looks_like_and_the_thing_gets_another():
    view, _ = correct(report((RED, (0.9, 0.9))), red=(-0.5, 0.0), raw=[ARM, *[NOTHING] * 3])
    assert told(view) == {(0.9, 0.9): ARM, (-0.5, 0.0): RED}


def test_a_second_view_of_a_thing_goes():
    view, _ = correct(report((RED, (0.0, 0.0)), (RED, (0.8, 0.8))), red=(0.0, 0.0))
    assert told(view) == {(0.0, 0.0): RED}


def test_something_strange_where_a_thing_is_seen_is_that_thing():
    view, _ = correct(report(([0.4, 0.8, 0.8], (0.0, 0.0))), red=(0.02, 0.0))
    assert told(view) == {(0.02, 0.0): RED}
    assert view.present.sum() == 1


def test_a_thing_that_no_slot_holds_gets_one_if_one_is_free():
    view, _ = correct(report((ARM, (0.9, 0.9))), blue=(0.3, 0.3))
    assert told(view)[0.3, 0.3] == BLUE
    assert view.depth[0, 1, 0] == pytest.approx(0.2)
    full = report(*[(ARM, (0.9, 0.1 * i)) for i in range(4)])
    assert told(correct(full, blue=(0.3, 0.3))[0]) == told(full)


def test_what_is_hidden_stays_until_it_is_forgotten():
    _, past = correct(report((RED, (0.0, 0.0))), red=(0.0, 0.0))
    for age in range(1, LIMIT + 1):
        view, past = correct(report((ARM, (0.9, 0.9))), past=past)
        assert told(view) == {(0.9, 0.9): ARM, (0.0, 0.0): RED}
        assert view.age[0, 1] == age
        assert view.ids[0, 1] == FIRST_ID, "one ID all the time"
    view, past = correct(report((ARM, (0.9, 0.9))), past=past)
    assert told(view) == {(0.9, 0.9): ARM}
    assert past.age[0, 0] == NEVER


def test_the_tracker_is_believed_about_what_is_hardly_seen_if_it_is_near():
    _, past = correct(report((RED, (0.0, 0.0))), red=(0.0, 0.0))
    near, _ = correct(report((RED, (0.1, 0.1))), past=past)
    assert told(near) == {(0.1, 0.1): RED}
    far, _ = correct(report((RED, (0.9, 0.9))), past=past, raw=[ARM, *[NOTHING] * 3])
    assert told(far) == {(0.9, 0.9): ARM, (0.0, 0.0): RED}


def test_a_thing_never_seen_must_be_seen_clearly():
    assert not told(correct(report(), red=(0.0, 0.0), chance=0.3)[0])
    assert told(correct(report(), red=(0.0, 0.0), chance=0.6)[0])
    _, past = correct(report(), red=(0.0, 0.0), chance=0.6)
    assert correct(report(), red=(0.1, 0.0), chance=0.3, past=past)[1].age[0, 0] == 0


def test_strangers_are_left_alone():
    odd = [0.0, 3.0, 3.0]
    view = report((odd, (0.5, 0.5)), (ARM, (0.9, 0.9)))
    assert told(correct(view, red=(-0.5, 0.0))[0]) == told(view) | {(-0.5, 0.0): RED}


def test_rows_are_corrected_on_their_own_and_nothing_is_written_to():
    one = report((RED, (0.9, 0.9)), (ARM, (0.0, 0.5)))
    both = View(*(np.concatenate([part, part]) for part in vars(one).values()))
    before = [part.copy() for part in vars(both).values()]
    chance = np.array([[0.9, 0.0], [0.0, 0.9]], np.float32)
    place = np.zeros((2, 2, 2), np.float32)
    past = Whereabouts.unknown(2, 2)
    view, _ = knowing().put_right(both, both.what, chance, place, past, SAME, LIMIT)
    alone, _ = knowing().put_right(
        one, one.what, chance[:1], place[:1], Whereabouts.unknown(1, 2), SAME, LIMIT
    )
    for part, single in zip(vars(view).values(), vars(alone).values(), strict=True):
        assert np.array_equal(part[:1], single)
    for part, old in zip(vars(both).values(), before, strict=True):
        assert np.array_equal(part, old)


def test_forgetting_rows():
    _, past = correct(report(), red=(0.0, 0.0))
    assert past.forget(np.array([True])).age.tolist() == [[NEVER, NEVER]]
    assert past.forget(np.array([False])).age[0, 0] == 0


HAND = np.array([[0.5, 0.5]], np.float32)


def test_only_the_nearest_part_of_the_body_is_put_where_the_hand_is():
    view = report((ARM, (-0.9, -0.9)), (ARM, (0.4, 0.4)), (RED, (0.6, 0.6)))
    found = knowing().put_hand(view, HAND)
    assert (found.place != view.place).any(-1)[0].tolist() == [False, True, False, False]
    assert found.place[0, 1].tolist() == [0.5, 0.5]


def test_an_unseen_hand_gets_a_slot_if_one_is_free():
    found = knowing().put_hand(report((RED, (0.6, 0.6))), HAND)
    assert told(found) == {(0.6, 0.6): RED, (0.5, 0.5): ARM}
    full = report(*[(RED, (0.1 * i, 0.0)) for i in range(4)])
    assert told(knowing().put_hand(full, HAND)) == told(full)
