"""Reward by tracker ID beside reward by appearance: equal until an ID jumps to another object."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.goals.base import GoalConfig
from smorl.goals.matching import match, match_id, take_goal
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals, TrackedGoals, pick_object
from tests.conftest import make_goal, make_set

PUCK, ARM = [1.0, 0.0], [0.0, 1.0]
HERE, ASIDE, GOAL = [0.0, 0.0], [0.5, 0.0], [0.0, 0.3]
BOX = UniformPrior(np.float32([-1, -1]), np.float32([1, 1]))
MATCHING = MatchedGoals(GoalConfig(match_threshold=0.5, no_match_reward=-2.0), BOX)
TRACKING = TrackedGoals(MATCHING.config, BOX)
THE_GOAL = replace(make_goal([PUCK], [GOAL]), id=np.array([7]))  # the puck's ID is 7, the arm's 8


def frame(*objects):
    """One set from (what, position, id)."""
    what, position, ids = zip(*objects, strict=True)
    return replace(make_set([what], [position]), ids=np.array([ids]))


def rewards(objects):
    """By appearance and by ID."""
    return tuple(float(space.reward(objects, THE_GOAL)[0]) for space in (MATCHING, TRACKING))


@pytest.mark.parametrize(
    "objects",
    [
        frame((PUCK, HERE, 7), (ARM, ASIDE, 8)),
        frame((ARM, ASIDE, 8), (PUCK, HERE, 7)),  # slots mean nothing
        frame((PUCK, GOAL, 7), (ARM, GOAL, 8)),  # the arm is over the puck, both keep their IDs
        frame((PUCK, HERE, 7)),  # the arm is lost
        frame((ARM, GOAL, 8)),  # the puck is lost
    ],
)
def test_both_rewards_agree_while_ids_stay_with_their_objects(objects):
    by_look, by_id = rewards(objects)
    assert by_look == by_id


def test_they_differ_exactly_when_the_arm_takes_the_pucks_id():
    """The exploit: parked on the puck the arm got its ID, and now carries it to the goal."""
    before = frame((PUCK, HERE, 7), (ARM, HERE, 8))
    assert rewards(before) == pytest.approx((-0.3, -0.3))
    # The puck, which never moved, was found again under a new ID.
    after = frame((ARM, GOAL, 7), (PUCK, HERE, 9))
    assert rewards(after) == pytest.approx((-0.3, 0.0))
    # While the arm hides the puck matching finds nothing; the ID is there and pays.
    hiding = frame((ARM, GOAL, 7))
    assert rewards(hiding) == pytest.approx((-2.0, 0.0))


def test_a_puck_that_was_lost_and_found_earns_nothing_by_its_old_id():
    assert rewards(frame((PUCK, GOAL, 9), (ARM, ASIDE, 8))) == (0.0, -2.0)


def test_nobody_has_the_id_minus_one_and_absent_objects_have_none():
    objects = replace(make_set([[PUCK, ARM]], [[HERE, HERE]]), ids=np.array([[-1, 3]]))
    assert not match_id(objects, np.array([-1])).matched.any()
    assert match_id(objects, np.array([3])).index.tolist() == [1]
    gone = replace(objects, present=np.array([[True, False]]))
    assert not match_id(gone, np.array([3])).matched.any()
    assert not match_id(make_set([[PUCK]], [[HERE]]), np.array([0])).matched.any()


def test_evaluation_matches_by_appearance_whatever_the_reward():
    stolen = frame((ARM, GOAL, 7), (PUCK, HERE, 9))
    solved = frame((ARM, ASIDE, 7), (PUCK, GOAL, 9))
    for space in (MATCHING, TRACKING):
        assert not space.solved(stolen, THE_GOAL).any()
        assert space.solved(solved, THE_GOAL).all()


def test_goals_keep_the_id_of_the_object_they_are_made_from():
    rng = np.random.default_rng(0)
    present = np.array([[True, True, False]] * 50 + [[False] * 3])
    what = np.tile(np.eye(3, dtype=np.float32), (51, 1, 1))
    ids = np.tile([4, 9, -1], (51, 1))
    objects = replace(make_set(what, np.zeros((51, 3, 2)), present), ids=ids)
    for goal in (
        pick_object(objects, rng.random(objects.present.shape)),
        TRACKING.propose(objects, rng),
    ):
        assert set(goal.id[:50]) == {4, 9}
        np.testing.assert_array_equal(goal.id[:50] == 9, goal.what[:50, 1] == 1)
        assert goal.id[50] == -1
    np.testing.assert_array_equal(take_goal(objects, np.full(51, 1)).id, 9)


def test_what_is_achieved_is_found_like_the_reward():
    stolen = frame((ARM, GOAL, 7), (PUCK, HERE, 9))
    found, exists = MATCHING.achieved(stolen, THE_GOAL)
    assert exists.all()
    assert (found.id[0], found.position[0].tolist()) == (9, HERE)
    found, exists = TRACKING.achieved(stolen, THE_GOAL)
    assert exists.all()
    assert found.id[0] == 7
    np.testing.assert_allclose(found.position[0], GOAL)


def test_ids_are_found_over_leading_dimensions():
    rng = np.random.default_rng(0)
    ids = np.argsort(rng.random((4, 3, 5)), -1)
    objects = replace(make_set(np.zeros((4, 3, 5, 2)), np.zeros((4, 3, 5, 2))), ids=ids)
    wanted = rng.integers(0, 7, (4, 1))  # 5 and 6 are not there
    found = match_id(objects, wanted)
    assert found.matched.shape == (4, 3)
    np.testing.assert_array_equal(found.matched, np.broadcast_to(wanted < 5, (4, 3)))
    hit = np.take_along_axis(ids, found.index[..., None], -1)[..., 0] == wanted
    np.testing.assert_array_equal(hit, found.matched)
    assert match(objects, np.zeros((4, 3, 2)), 1.0).matched.all()
