"""The simulator's own model as meshes."""

import numpy as np
import pytest

from smorl.envs.tabletop.scene import PUCK_RADIUS
from smorl.envs.tabletop.world import World

solids = pytest.importorskip("smorl.envs.tabletop.solids")


def test_everything_that_is_drawn_is_there_and_nothing_invisible():
    drawn = solids.TableSolids(3).solids
    names = {solid.name.rsplit("-", 1)[0] for solid in drawn}
    assert {"object0", "object1", "object2", "leftclaw", "rightclaw", "right_l6"} <= names
    assert "mocap" not in names
    assert sorted(s.puck for s in drawn if s.puck is not None) == [0, 1, 2]
    for solid in drawn:
        assert np.isfinite(solid.vertices).all()
        assert solid.faces.max() < len(solid.vertices)


def test_a_puck_has_its_size():
    (puck,) = [s for s in solids.TableSolids(1).solids if s.puck == 0]
    low, high = puck.vertices.min(0), puck.vertices.max(0)
    assert high - low == pytest.approx((2 * PUCK_RADIUS, 2 * PUCK_RADIUS, 0.03), abs=1e-6)


def test_poses_are_where_the_simulator_has_hand_and_pucks():
    world = World(1, num_objects=2)
    world.reset(np.array([0]), [np.random.default_rng(1)], {})
    world.step(np.array([[0.5, 0.7]]))
    table = solids.TableSolids(2)
    poses = table.poses(world.simulation.qpos[0])
    bodies = {solid.name.rsplit("-", 1)[0]: solid.body for solid in table.solids}
    for puck in range(2):
        place = poses.position[bodies[f"object{puck}"]]
        assert place == pytest.approx(world.simulation.objects[0, puck], abs=1e-9)
    hand = poses.position[bodies["leftclaw"]]
    assert hand == pytest.approx(world.simulation.hand[0], abs=1e-6)
    assert np.linalg.norm(poses.wxyz, axis=1) == pytest.approx(np.ones(len(poses.wxyz)))
