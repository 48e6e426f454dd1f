"""The penalty for moving what should stay, worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.goals.base import GoalConfig
from smorl.goals.own_body import StillnessModel, displacement, disturbance
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from tests.conftest import make_goal, make_set

EYE = np.eye(3, dtype=np.float32)


def paths(seed=0, count=50, steps=10):
    """Object 0 moves on every step, 1 on every fifth, 2 never; slots are shuffled per frame."""
    rng = np.random.default_rng(seed)
    position = np.zeros((count, steps + 1, 3, 2), np.float32)
    position[:, 1:, 0] = np.cumsum(rng.uniform(0.02, 0.1, (count, steps, 2)), 1)
    jumps = np.tile((np.arange(steps) % 5 == 0)[:, None] * 0.1, (count, 1, 2))
    position[:, 1:, 1] = np.cumsum(jumps, 1)
    order = rng.permuted(np.tile(np.arange(3), (count, steps + 1, 1)), axis=-1)
    place = np.take_along_axis(position, order[..., None], 2)
    return make_set(EYE[order], place)


def test_rest_is_learned_from_random_motion_whatever_the_slots():
    rest = StillnessModel.fit(EYE, paths(), still=0.01, threshold=0.5)
    np.testing.assert_allclose(rest.rest, [0.0, 0.8, 1.0])
    np.testing.assert_allclose(rest.of(EYE[None] + 0.1), [[0.0, 0.8, 1.0]])


def test_what_random_actions_never_show_is_not_the_own_body():
    """A third object that a run first meets where it is tested, with an appearance that its
    perception knows."""
    known = np.concatenate([EYE, [[2, 2, 2]]]).astype(np.float32)
    rest = StillnessModel.fit(known, paths(), still=0.01, threshold=0.5)
    np.testing.assert_allclose(rest.rest, [0.0, 0.8, 1.0, 1.0])


def test_displacement_follows_appearance_not_slots():
    now = make_set([EYE], [[[0, 0], [1, 0], [2, 0]]])
    following = make_set([EYE[[2, 0, 1]]], [[[2, 3], [0, 0], [1, 1]]], [[True, True, False]])
    distance, seen = displacement(now, following, 0.5)
    assert seen.tolist() == [[True, False, True]]
    assert distance[0, [0, 2]].tolist() == [0, 3]


def test_only_resting_objects_other_than_the_goals_count():
    rest = StillnessModel(EYE, np.float32([0.4, 1.0, 0.75]))  # the arm rests less often than not
    now = make_set([EYE] * 3, [[[0, 0], [1, 0], [2, 0]]] * 3)
    following = make_set([EYE] * 3, [[[5, 0], [1, 1], [2, 2]]] * 3)
    goal = make_goal(EYE, np.zeros((3, 2)))  # of the arm, of object 1, of object 2
    cost = disturbance(now, following, goal, rest, 0.5)
    np.testing.assert_allclose(cost, [1 * 1 + 0.5 * 2, 0.5 * 2, 1 * 1])


def test_reward_of_a_transition():
    box = UniformPrior(np.float32([0, 0]), np.float32([1, 1]))
    rest = StillnessModel(EYE, np.float32([0.0, 1.0, 1.0]))
    now = make_set([EYE], [[[0, 0], [1, 0], [2, 0]]])
    following = make_set([EYE], [[[0, 0], [1, 0], [2, 2]]])
    goal = make_goal([EYE[1]], [[1, 1]])
    plain = MatchedGoals(GoalConfig(), box, rest)
    assert plain.transition_reward(now, following, goal)[0] == pytest.approx(-1.0)
    careful = MatchedGoals(GoalConfig(disturbance_penalty=3.0), box, rest)
    assert careful.transition_reward(now, following, goal)[0] == pytest.approx(-7.0)


@pytest.mark.parametrize("practise", [0.0, 3.0])
def test_resting_objects_are_practised_more_often(practise):
    """Object 0 never rests, object 1 always, object 2 does but is absent."""
    count = 8000
    rest = StillnessModel(EYE, np.float32([0.0, 1.0, 1.0]))
    space = MatchedGoals(
        GoalConfig(object_goal_bias=practise), UniformPrior(np.zeros(2), np.ones(2)), rest
    )
    objects = make_set([EYE] * count, np.zeros((count, 3, 2)))
    objects = replace(objects, present=np.tile([True, True, False], (count, 1)))
    picked = space.pick(objects, np.random.default_rng(0)).what.mean(0)
    share = (1 + practise) / (2 + practise)
    np.testing.assert_allclose(picked, [1 - share, share, 0], atol=0.02)


@pytest.mark.parametrize(("centres", "rest"), [((0, 2), (0,)), ((2,), (2,)), ((2, 2), (3,))])
def test_shapes_that_no_fit_has_are_refused(centres, rest):
    with pytest.raises(ValueError, match="shape"):
        StillnessModel(np.zeros(centres), np.zeros(rest))
