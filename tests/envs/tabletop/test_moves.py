"""Pucks and goals can be moved in the middle of an episode."""

import numpy as np
import pytest

from smorl.envs.factory import make_envs
from smorl.envs.tabletop.scene import REFERENCE_PHYSICS
from smorl.envs.tabletop.world import World
from smorl.errors import InvalidInput


def world(**settings):
    made = World(2, num_objects=2, **settings)
    made.reset(np.arange(2), [np.random.default_rng(i) for i in range(2)], {})
    return made


@pytest.mark.parametrize("physics", [None, REFERENCE_PHYSICS])
def test_a_moved_puck_rests_where_it_was_put(physics):
    moved, left = (world(**({} if physics is None else {"physics": physics})) for _ in range(2))
    moved.move_object(1, 0, (-0.18, 0.7))
    for each in (moved, left):
        each.step(np.zeros((2, 2)))
    assert moved.simulation.objects[1, 0, :2] == pytest.approx((-0.18, 0.7), abs=1e-4)
    # Nothing else has changed: the other puck, the arm, the other table.
    np.testing.assert_allclose(moved.simulation.objects[1, 1], left.simulation.objects[1, 1])
    np.testing.assert_allclose(moved.simulation.hand, left.simulation.hand)
    np.testing.assert_array_equal(moved.simulation.qpos[0], left.simulation.qpos[0])


def test_a_moved_goal_shows_in_the_goal_image_of_its_table_only():
    made = world(observation="image")
    before = made.observe()
    made.move_goal(0, 1, (0.15, 0.68))
    after = made.observe()
    assert made.goal_objects[0, 1] == pytest.approx((0.15, 0.68))
    assert (before["desired_goal"][0] != after["desired_goal"][0]).any()
    assert (before["desired_goal"][1] == after["desired_goal"][1]).all()
    assert (before["observation"] == after["observation"]).all()


@pytest.mark.parametrize("place", [(0.5, 0.5), (np.nan, 0.5), (0.0,), "here"])
def test_places_off_the_table_are_refused(place):
    made = world()
    for move in (made.move_object, made.move_goal):
        with pytest.raises(InvalidInput):
            move(0, 0, place)


def test_a_meddler_moves_pucks_and_goals_of_a_running_environment():
    envs = make_envs("smorl/VisualRearrange2-v0", 1, 1)
    envs.reset(seed=0)
    meddler, truth = envs.meddler, envs.truth
    before, pucks = meddler.observe(), truth.objects
    meddler.move_object(0, 0, (-0.18, 0.7))
    meddler.move_goal(0, 1, (0.15, 0.68))
    after = meddler.observe()
    assert truth.objects[0, 0] == pytest.approx((-0.18, 0.7))
    assert truth.objects[0, 1] == pytest.approx(pucks[0, 1])
    assert truth.goal_objects[0, 1] == pytest.approx((0.15, 0.68))
    for name in ("observation", "desired_goal"):
        assert (before[name] != after[name]).any()
    meddler.random_goals(0, np.random.default_rng(3))
    assert truth.objects[0, 0] == pytest.approx((-0.18, 0.7))
    assert np.abs(truth.goal_objects[0, 1] - (0.15, 0.68)).max() > 0.001
