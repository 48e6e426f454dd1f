"""Matching by appearance and the reward of Eq. 7, against small cases worked by hand."""

import numpy as np
import pytest

from smorl.goals.base import GoalConfig
from smorl.goals.matching import for_each, match, match_goals, take_object, take_objects
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals, pick_object
from smorl.types import ObjectSet
from tests.conftest import make_goal, make_set

BOX = UniformPrior(np.float32([-1, -1]), np.float32([1, 1]))
SPACE = MatchedGoals(
    GoalConfig(match_threshold=0.5, no_match_reward=-2.0, solved_threshold=0.1), BOX
)


def test_nearest_present_object_wins():
    objects = make_set([[[1, 0], [0, 1]]], [[[0, 0], [3, 4]]])
    found = match(objects, np.float32([[0.1, 0.9]]), 0.5)
    assert found.index.tolist() == [1]
    assert found.distance[0] == pytest.approx(np.sqrt(0.02))
    assert found.matched.tolist() == [True]


def test_absent_slots_never_match_even_when_nearest():
    # The padded slot is the zero vector and would win the argmin; Release: it did.
    objects = make_set([[[1, 0], [0, 0]]], [[[1, 1], [0, 0]]], [[True, False]])
    found = match(objects, np.float32([[0.1, 0.0]]), 2.0)
    assert found.index.tolist() == [0]
    assert found.matched.all()


def test_empty_set_matches_nothing():
    objects = make_set([[[0, 0], [0, 0]]], [[[0, 0], [0, 0]]], [[False, False]])
    found = match(objects, np.float32([[0.0, 0.0]]), 0.5)
    assert not found.matched.any()
    assert np.isinf(found.distance).all()
    assert SPACE.reward(objects, make_goal([[0, 0]], [[0, 0]])).tolist() == [-2.0]
    assert not SPACE.solved(objects, make_goal([[0, 0]], [[0, 0]])).any()


def test_duplicates_go_to_the_lower_slot():
    objects = make_set([[[1, 0], [1, 0]]], [[[0, 0], [3, 4]]])
    assert match(objects, np.float32([[1, 0]]), 0.5).index.tolist() == [0]


def test_reward_is_minus_the_distance_of_the_matched_object():
    objects = make_set([[[1, 0], [0, 1]]] * 2, [[[0, 0], [3, 4]]] * 2)
    goal = make_goal([[0, 1], [0.5, 0.5]], [[0, 0], [0, 0]])
    rewards = SPACE.reward(objects, goal)
    # Second row: both objects are sqrt(0.5) away in appearance, beyond the threshold.
    np.testing.assert_allclose(rewards, [-5.0, -2.0])


def test_threshold_is_strict_and_solved_uses_its_own():
    objects = make_set([[[1.0, 0]]], [[[0.05, 0]]])
    assert SPACE.reward(objects, make_goal([[0.5, 0]], [[0, 0]])) == [-2.0]
    near, far = make_goal([[1, 0]], [[0, 0]]), make_goal([[1, 0]], [[0.2, 0]])
    assert SPACE.solved(objects, near).all()
    assert not SPACE.solved(objects, far).any()


def test_a_vector_is_a_set_of_one():
    position = np.float32([[[1, 2, 3, 4]]])
    nothing = np.zeros((1, 1, 0), np.float32)
    objects = make_set(nothing, position)
    goal = make_goal(np.zeros((1, 0)), [[0, 0, 0, 0]])
    np.testing.assert_allclose(SPACE.reward(objects, goal), [-np.sqrt(30)], rtol=1e-6)


def test_rewards_broadcast_over_leading_dimensions():
    rng = np.random.default_rng(0)
    objects = make_set(rng.normal(size=(4, 3, 5, 2)), rng.normal(size=(4, 3, 5, 2)))
    goal = make_goal(rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3, 2)))
    whole = SPACE.reward(objects, goal)
    for i in range(4):
        np.testing.assert_array_equal(whole[i], SPACE.reward(objects[i], goal[i]))


def test_proposed_goals_are_present_objects_elsewhere():
    rng = np.random.default_rng(0)
    present = np.tile([[True, False, True]], (500, 1))
    what = np.tile(np.eye(3, dtype=np.float32), (500, 1, 1)) * present[..., None]
    objects = make_set(what, np.zeros((500, 3, 2)), present)
    goal = SPACE.propose(objects, rng)
    chosen = goal.what.argmax(1)
    assert set(chosen) == {0, 2}
    assert 200 < (chosen == 0).sum() < 300
    assert np.abs(goal.position).max() <= 1
    assert goal.position.std(0).min() > 0.5  # uniform over [-1, 1] has 0.577


def test_picking_from_an_empty_frame_gives_a_goal_that_matches_nothing():
    objects = make_set([[[0, 0]]], [[[0, 0]]], [[False]])
    goal = pick_object(objects, np.random.default_rng(0).random(objects.present.shape))
    assert SPACE.reward(objects, goal).tolist() == [-2.0]


def test_goals_are_matched_to_slots_and_never_to_absent_ones():
    objects = make_set([[[0.0], [1.0], [2.0]]], np.zeros((1, 3, 2)), [[True, True, False]])
    goals = make_goal([[[1.1], [2.0], [0.2]]], np.zeros((1, 3, 2)))
    assert match_goals(objects, goals, 0.5).tolist() == [[1, -1, 0]]


def test_each_object_finds_its_like_as_if_it_were_alone():
    rng, shape = np.random.default_rng(3), (5, 2, 4)

    def some() -> ObjectSet:
        what, place = (rng.normal(size=(*shape, size)) for size in (3, 2))
        return make_set(what, place, rng.random(shape) < 0.7)

    now, later = some(), some()
    found = match(for_each(later, 4), now.what, 1.0)
    place = take_objects(later.position, found.index, 2)
    for slot in range(4):
        alone = match(later, now.what[:, :, slot], 1.0)
        np.testing.assert_array_equal(found.index[:, :, slot], alone.index)
        np.testing.assert_array_equal(found.distance[:, :, slot], alone.distance)
        np.testing.assert_array_equal(found.matched[:, :, slot], alone.matched)
        expected = np.take_along_axis(later.position, alone.index[..., None, None], 2)[:, :, 0]
        np.testing.assert_array_equal(place[:, :, slot], expected)
        np.testing.assert_array_equal(take_object(later.position, alone.index), expected)
