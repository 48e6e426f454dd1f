"""The page draws the simulator's own model."""

import numpy as np
import pytest

from smorl.envs.tabletop.scene import PUCK_RADIUS, build_scene
from smorl.envs.tabletop.world import World

shapes = pytest.importorskip("smorl.page.shapes")


def test_everything_that_is_drawn_is_there_and_nothing_invisible():
    model = build_scene(3)
    drawn = shapes.solids(model)
    bodies = {model.body(solid.body).name for solid in drawn}
    assert {"object0", "object1", "object2", "leftclaw", "rightclaw", "right_l6"} <= bodies
    assert "mocap" not in bodies
    for solid in drawn:
        assert np.isfinite(solid.vertices).all()
        assert solid.faces.max() < len(solid.vertices)


def test_a_puck_has_its_size():
    model = build_scene(1)
    (puck,) = [s for s in shapes.solids(model) if model.body(s.body).name == "object0"]
    low, high = puck.vertices.min(0), puck.vertices.max(0)
    assert high - low == pytest.approx((2 * PUCK_RADIUS, 2 * PUCK_RADIUS, 0.03), abs=1e-6)


def test_poses_are_where_the_simulator_has_hand_and_pucks():
    world = World(1, num_objects=2)
    world.reset(np.array([0]), [np.random.default_rng(1)], {})
    world.step(np.array([[0.5, 0.7]]))
    model = build_scene(2)
    poses = shapes.Kinematics(model).poses(world.simulation.qpos[0])
    for puck in range(2):
        place = poses.position[model.body(f"object{puck}").id]
        assert place == pytest.approx(world.simulation.objects[0, puck], abs=1e-9)
    hand = poses.position[model.body("leftclaw").id]
    assert hand == pytest.approx(world.simulation.hand[0], abs=1e-6)
    assert np.linalg.norm(poses.wxyz, axis=1) == pytest.approx(np.ones(model.nbody))
