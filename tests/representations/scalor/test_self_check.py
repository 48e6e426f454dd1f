"""The self-check of a perception, on made-up tracks whose faults are known."""

import numpy as np
import pytest

from smorl.representations.scalor.training.fit import Encodings
from smorl.representations.scalor.training.self_check import GOAL_EVERY, judge, measure
from smorl.types import ObjectSet

EPISODES, FRAMES = 3, 12


def tracked() -> Encodings:
    """A red and a blue thing at rest and a body that moves, one-hot looks, all found."""
    shape = (EPISODES, FRAMES, 3)
    position = np.zeros((*shape, 2))
    position[..., 0, :], position[..., 1, :] = (-0.5, 0.3), (0.5, 0.3)
    position[..., 2, 0] = np.linspace(-0.9, 0.9, FRAMES)
    what = np.tile(np.eye(3), (EPISODES, FRAMES, 1, 1))
    ids = np.broadcast_to(np.arange(3), shape).copy()
    extent = np.full((*shape, 2), 0.1)
    return Encodings(what, position, extent, ids, ids.copy(), np.ones(shape, bool))


def goals_of(seen: Encodings) -> ObjectSet:
    what, position = (a[:, ::GOAL_EVERY].copy() for a in (seen.what, seen.position))
    shape = what.shape[:-1]
    none = np.zeros((*shape, 0))
    return ObjectSet(what, position, none, none, np.ones(shape, bool))


def test_a_good_perception_is_healthy():
    seen = tracked()
    found = measure(seen, goals_of(seen), 0.7)
    assert (found.things, found.found, found.goal, found.mixed, found.tracks) == (2, 1, 1, 0, 1)
    assert (found.wrong, found.lost, found.placed) == (0, 0, 1)
    assert judge(found) == []
    assert found.score == 1


def lose(seen: Encodings) -> None:
    seen.present[:, 6:, 0] = False
    seen.ids[:, 6:, 0] = seen.names[:, 6:, 0] = -1


def swap_looks(seen: Encodings) -> None:
    """The red thing is taken for the blue one in half of the frames."""
    seen.what[:, 1::2, :2] = seen.what[:, 1::2, 1::-1]


def change_looks(seen: Encodings) -> None:
    seen.what[:, 1::2, 0] = (0.0, 0.0, 2.0)


def tremble(seen: Encodings) -> None:
    seen.position[:, ::2, 0, 0] += 0.02


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lose, "matched in only"),
        (change_looks, "matched in only"),
        (swap_looks, "something else is matched"),
        (tremble, "tremble by"),
    ],
)
def test_what_is_wrong_is_said(spoil, words):
    good, seen = tracked(), tracked()
    spoil(seen)
    found = measure(seen, goals_of(good), 0.7)
    assert any(words in finding.sentence for finding in judge(found)), judge(found)
    assert all(finding.fatal for finding in judge(found))


def test_goal_pictures_must_show_things_alike_and_in_place():
    seen = tracked()
    for name, value in (("what", 5.0), ("position", 0.5)):
        goals = goals_of(seen)
        getattr(goals, name)[:, 0] += value
        found = measure(seen, goals, 0.7)
        assert found.goal == pytest.approx(0.5), name
        assert any("goal picture" in finding.sentence for finding in judge(found))


def test_the_score_counts_what_is_matched_wrongly_and_what_is_out_of_place():
    seen = tracked()
    goals = goals_of(seen)
    goals.position[..., 0] += 0.05  # a quarter of the boxes' width
    assert measure(seen, goals, 0.7).placed == pytest.approx(0.75)
    assert measure(seen, goals, 0.7).score == pytest.approx(0.75)
    swap_looks(seen)
    found = measure(seen, goals_of(tracked()), 0.7)
    # Frames 1, 3, ... 11 of 1 to 11 are swapped; those that are compared with goals are not.
    assert (found.found, found.placed) == (1, 1)
    assert found.wrong == pytest.approx(6 / 11)
    assert found.score == pytest.approx(5 / 11)


def test_where_a_track_is_lost_matches_count_as_far_as_looks_differ():
    seen = tracked()
    seen.ids[:, 6:, 0] = seen.names[:, 6:, 0] = 7  # found again, as a new one
    found = measure(seen, goals_of(seen), 0.7)
    assert (found.wrong, found.lost) == (0, pytest.approx(0.5 * 6 / 11))
    assert found.score == 1
    assert measure(seen, goals_of(seen), 2.0).score == pytest.approx(1 - 0.5 * 6 / 11)


def test_a_threshold_that_mixes_objects_up_is_noticed():
    seen = tracked()
    assert any("look the same" in f.sentence for f in judge(measure(seen, goals_of(seen), 2.0)))


def test_things_that_the_model_alone_would_see_are_missed():
    seen = tracked()
    seen.ids[:, :, 0] = seen.names[:, :, 0] = -1  # the rules lose the red one; the blue is perfect
    found = measure(seen, goals_of(seen), 0.7, expected=2)
    assert (found.found, found.shown, found.score) == (1, 0.5, 0.5)
    assert any("First frames show only 50 %" in f.sentence for f in judge(found))
    assert measure(tracked(), goals_of(seen), 0.7, expected=1.5).shown == 1


def test_finding_nothing_is_said():
    seen = tracked()
    seen.ids[:] = -1
    assert "rests" in judge(measure(seen, goals_of(seen), 0.7))[0].sentence
