"""The self-check of a perception, on made-up tracks whose faults are known."""

import numpy as np
import pytest

from smorl.representations.scalor.training.fit import Encodings
from smorl.representations.scalor.training.self_check import judge, measure
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
    return Encodings(what, position, ids, np.ones(shape, bool))


def goals_of(seen: Encodings) -> ObjectSet:
    none = np.zeros((EPISODES, 3, 0))
    last = seen.what[:, -1].copy(), seen.position[:, -1].copy()
    return ObjectSet(*last, none, none, np.ones((EPISODES, 3), bool))


def test_a_good_perception_is_healthy():
    seen = tracked()
    found = measure(seen, goals_of(seen), 0.7)
    assert (found.things, found.found, found.goal, found.mixed, found.tracks) == (2, 1, 1, 0, 1)
    assert judge(found) == []
    assert found.score == 1


def lose(seen: Encodings) -> None:
    seen.present[:, 6:, 0] = False
    seen.ids[:, 6:, 0] = -1


def change_looks(seen: Encodings) -> None:
    seen.what[:, 1::2, 0] = (0.0, 0.0, 2.0)


def tremble(seen: Encodings) -> None:
    seen.position[:, ::2, 0, 0] += 0.02


@pytest.mark.parametrize(
    ("spoil", "words"),
    [(lose, "matched in only"), (change_looks, "matched in only"), (tremble, "tremble by")],
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


def test_a_threshold_that_mixes_objects_up_is_noticed():
    seen = tracked()
    assert any("look the same" in f.sentence for f in judge(measure(seen, goals_of(seen), 2.0)))


def test_finding_nothing_is_said():
    seen = tracked()
    seen.ids[:] = -1
    assert "rests" in judge(measure(seen, goals_of(seen), 0.7))[0].sentence
