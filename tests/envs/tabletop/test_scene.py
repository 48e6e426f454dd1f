"""The compiled scene: what exists, what collides, what is seen."""

import mujoco
import numpy as np
import pytest

from smorl.envs.tabletop.sawyer import LINKS, START_ANGLES
from smorl.envs.tabletop.scene import (
    FAST_PHYSICS,
    REFERENCE_PHYSICS,
    build_scene,
    puck_qpos_columns,
)
from smorl.errors import InvalidInput


@pytest.mark.parametrize("physics", [FAST_PHYSICS, REFERENCE_PHYSICS])
def test_one_env_step_lasts_a_tenth_of_a_second(physics):
    assert sum(step * count for step, count in physics.phases) == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_layout(n):
    model = build_scene(n)
    assert model.nq == 7 + 3 * n
    columns = puck_qpos_columns(model, n)
    assert columns.tolist() == [7 + 3 * i for i in range(n)]
    data = mujoco.MjData(model)
    data.qpos[columns[-1] : columns[-1] + 3] = (0.1, 0.6, 0.3)
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.geom(f"puck{n - 1}").xpos, (0.1, 0.6, 0.3))


@pytest.mark.parametrize("n", [0, 7, -1])
def test_unsupported_number_of_pucks(n):
    with pytest.raises(InvalidInput, match=f"{n}.*1 to 6"):
        build_scene(n)


def test_arm_has_the_masses_and_reach_of_the_reference():
    model = build_scene(1)
    for link in LINKS:
        assert model.body(link.name).mass[0] == pytest.approx(link.mass)
        np.testing.assert_allclose(model.body(link.name).inertia, link.inertia)
    data = mujoco.MjData(model)
    data.qpos[:7] = START_ANGLES
    mujoco.mj_kinematics(model, data)
    # Forward kinematics of the true Sawyer at the start angles, before settling.
    np.testing.assert_allclose(data.body("leftclaw").xpos, (-0.01997, 0.50004, 0.04870), atol=1e-4)


def test_drawing_changes_looks_only():
    drawn, plain = build_scene(2), build_scene(2, drawing=False)
    assert drawn.ngeom > plain.ngeom
    for field in ("body_mass", "body_inertia", "dof_invweight0", "jnt_range", "qpos0"):
        np.testing.assert_array_equal(getattr(drawn, field), getattr(plain, field))


def collide(model, first, second):
    a, b = model.geom(first), model.geom(second)
    return bool((a.contype & b.conaffinity)[0] or (b.contype & a.conaffinity)[0])


@pytest.mark.parametrize("physics", [FAST_PHYSICS, REFERENCE_PHYSICS])
def test_what_collides(physics):
    model = build_scene(2, physics)
    for pair in [
        ("puck0", "puck1"), ("puck0", "leftclaw"), ("puck0", "rightclaw"), ("puck1", "claw"),
        ("puck0", "wall_far"), ("leftclaw", "table"), ("claw", "wall_near"),
    ]:  # fmt: skip
        assert collide(model, *pair), pair
    assert not collide(model, "leftclaw", "rightclaw")


def test_visible_and_invisible_shapes_follow_the_renderer_contract():
    model = build_scene(3)
    visible = model.geom_rgba[:, 3] > 0
    np.testing.assert_array_equal(visible, model.geom_group != 3)
    for i in range(3):
        assert model.geom(f"puck{i}").group[0] == 2
        np.testing.assert_allclose(model.geom(f"puck{i}").size[:2], (0.04, 0.015))
    for wall in ("wall_left", "wall_right", "wall_near", "wall_far"):
        assert model.geom(wall).rgba[3] == 0
    red = (np.abs(model.geom_rgba - (0.5, 0.1, 0.1, 1.0)) < 1e-6).all(axis=1)
    links = {model.body(body).name for body in model.geom_bodyid[red]}
    assert links == {link.name for link in LINKS}
