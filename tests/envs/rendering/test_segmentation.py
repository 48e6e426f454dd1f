"""Segmentation from the simulator agrees with the pictures and with plain geometry."""

import numpy as np
import pytest

from smorl.envs.tabletop.world import World


def make_world(objects, colours=None) -> World:
    objects = np.asarray(objects, float)
    world = World(
        len(objects), "rearrange", objects.shape[1], "image", goal_images=False, colours=colours
    )
    rngs = [np.random.default_rng(i) for i in range(world.num)]
    world.reset(np.arange(world.num), rngs, {"objects": objects})
    return world


def test_free_pucks_are_seen_whole_and_as_often_as_their_colour():
    # Nothing else is magenta: the arm is dark red and black, the table grey.
    world = make_world([[(-0.12, 0.6), (0.12, 0.6)]], colours=[(1, 0, 1), (0, 1, 0)])
    found = world.segment()
    assert np.array_equal(found.visible, found.alone)
    assert (found.shares == 1).all()
    picture = world.render(64, 64)[0].astype(int)
    magenta = (picture[..., [0, 2]].min(-1) > 60) & (picture[..., 1] < 60)
    assert magenta.sum() == found.visible[0, 0]


def test_a_puck_before_another_hides_part_of_it():
    # The camera looks along -y, so the puck with the larger y stands in front.
    touching = [(0.0, 0.52), (0.0, 0.6005)]
    apart = [(0.0, 0.52), (0.15, 0.6005)]
    found = make_world([touching, apart]).segment()
    assert found.visible[0, 0] < found.alone[0, 0]
    assert found.visible[0, 1] == found.alone[0, 1]
    assert np.array_equal(found.visible[1], found.alone[1])
    assert found.alone[0, 0] == found.alone[1, 0]


def test_the_arm_hides_pucks_and_is_found_where_it_is_drawn():
    world = make_world([[(-0.15, 0.6)]])
    bare = world.render(64, 64)[0]
    arm = world.segment().arm[0]
    world.simulation.qpos[:, :7] += 0.3  # swings the arm elsewhere
    moved = world.segment().arm[0]
    changed = (bare != world.render(64, 64)[0]).any(-1)
    assert arm.any()
    assert not changed[~(arm | moved)].any()
    for _ in range(30):
        world.step(np.array([[-1.0, 1.0]]))
    # Put the puck right under the hand: physics would not, the picture does not mind.
    world.simulation.qpos[:, -3:-1] = world.simulation.hand[:, :2] - (0, 0.05)
    found = world.segment()
    assert found.visible[0, 0] < 0.9 * found.alone[0, 0]


def test_out_of_the_picture_nothing_is_seen():
    world = make_world([[(0.0, 0.6)]])
    world.simulation.qpos[:, -3] = 5.0
    found = world.segment()
    assert found.visible[0, 0] == found.alone[0, 0] == 0
    assert found.shares[0, 0] == pytest.approx(0)
