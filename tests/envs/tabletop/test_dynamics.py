"""The motion: settling, control, pushing, walls, divergence. Metres."""

import numpy as np
import pytest

from smorl.bench.physics import compare, describe, rollout
from smorl.envs.tabletop.scene import FAST_PHYSICS, REFERENCE_PHYSICS
from smorl.envs.tabletop.simulation import Simulation

AWAY = np.array([[[-0.15, 0.68], [0.15, 0.68]]])


def table(objects=AWAY, physics=FAST_PHYSICS, rows=1):
    objects = np.asarray(objects, dtype=float)
    simulation = Simulation(objects.shape[1], rows, 1, physics)
    simulation.reset(np.arange(rows), np.broadcast_to(objects, (rows, *objects.shape[1:])))
    return simulation


@pytest.mark.parametrize("physics", [FAST_PHYSICS, REFERENCE_PHYSICS])
def test_hand_settles_where_the_reference_does(physics):
    rest = Simulation(1, 1, 1, physics).initial_hand
    np.testing.assert_allclose(rest, (0.000, 0.414, 0.049), atol=0.005)


@pytest.mark.parametrize("physics", [FAST_PHYSICS, REFERENCE_PHYSICS])
def test_full_action_from_rest(physics):
    simulation = table(physics=physics)
    start = simulation.hand[0].copy()
    simulation.step(np.array([[0.0, 1.0]]))
    moved = simulation.hand[0] - start
    assert moved[1] == pytest.approx(0.082, abs=0.01)
    assert abs(moved[0]) < 0.005
    after = simulation.hand[0].copy()
    simulation.step(np.zeros((1, 2)))
    assert np.linalg.norm((simulation.hand[0] - after)[:2]) < 0.002


def test_untouched_pucks_drop_and_stay():
    simulation = table()
    for _ in range(5):
        simulation.step(np.zeros((1, 2)))
    np.testing.assert_allclose(simulation.objects[0, :, :2], AWAY[0], atol=1e-4)
    np.testing.assert_allclose(simulation.objects[0, :, 2], 0.0155, atol=0.002)


@pytest.mark.parametrize("physics", [FAST_PHYSICS, REFERENCE_PHYSICS])
def test_pushing_forward_moves_the_puck_ahead_of_the_hand(physics):
    simulation = table([[[0.0, 0.52]]], physics)
    for _ in range(2):
        simulation.step(np.array([[0.0, 1.0]]))
    puck, hand = simulation.objects[0, 0], simulation.hand[0]
    assert puck[1] > 0.56
    assert abs(puck[0]) < 0.03
    # The puck's near rim is in front of the finger.
    assert puck[1] - 0.04 > hand[1] - 0.005


def test_pushed_pucks_push_others():
    simulation = table([[[0.0, 0.52], [0.0, 0.605]]])
    for _ in range(3):
        simulation.step(np.array([[0.0, 1.0]]))
    assert simulation.objects[0, 1, 1] > 0.63


def test_pucks_stay_between_the_walls_and_on_the_table():
    rng = np.random.default_rng(0)
    starts = np.array([[[-0.15, 0.5], [0.15, 0.5], [-0.15, 0.65], [0.15, 0.65]]])
    simulation = table(starts, rows=16)
    pucks, hands = [], []
    for _ in range(40):
        # Full speed into the corners, the hardest treatment the action space allows.
        assert not simulation.step(rng.choice((-1.0, 1.0), (16, 2))).any()
        pucks.append(simulation.objects)
        hands.append(simulation.hand.copy())
    x, y, z = np.moveaxis(np.array(pucks), -1, 0)
    assert np.abs(x).max() <= 0.24
    assert y.min() >= 0.37
    assert y.max() <= 0.75
    # Walls are soft contacts: squeezed between gripper and wall, a puck may dip into one.
    assert (np.abs(x) > 0.21).mean() < 0.01
    assert ((y < 0.39) | (y > 0.72)).mean() < 0.02
    assert np.median(z) < 0.02
    assert (z > 0.03).mean() < 0.08
    hand_x, hand_y, hand_z = np.moveaxis(np.array(hands), -1, 0)
    assert np.abs(hand_x).max() < 0.26
    assert hand_y.min() > 0.39
    assert hand_y.max() < 0.76
    # Only the fingers touch pucks (0.03 high): the palm stays above them.
    assert hand_z.min() > 0.045


def test_random_actions_reach_the_table_as_the_reference_does():
    motion = describe(rollout(FAST_PHYSICS, rows=32, steps=20, num_objects=2))
    # Reference: 20 random actions move about one puck in three of Rearrange-2 by over 1 cm.
    assert 0.2 < motion["moved_1cm_share"] < 0.6
    assert motion["diverged"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
def test_cheap_physics_moves_as_the_reference_does(n):
    report = compare(rows=128, steps=60, num_objects=n)
    ours, reference = report["default"], report["reference"]
    assert report["hand_error_step_1"] < 0.0005
    assert report["hand_error_last_step"] < 0.005
    assert report["puck_error_step_5"] < 0.01
    assert ours["moved_1cm_share"] == pytest.approx(reference["moved_1cm_share"], abs=0.06)
    assert ours["moved_mean"] == pytest.approx(reference["moved_mean"], rel=0.15)
    assert ours["hand_x_sd"] == pytest.approx(reference["hand_x_sd"], rel=0.02)
    assert ours["lifted_share"] < 0.03
    assert ours["cpu_ms_per_step"] < 0.7 * reference["cpu_ms_per_step"]


def test_goal_configuration_puts_the_hand_at_its_goal_without_touching_the_tables():
    simulation = table()
    before = simulation.get_state()
    goals = np.array([[[0.1, 0.6], [-0.1, 0.6]]] * 2)
    hands = np.stack([simulation.initial_hand[:2], (0.1, 0.5)])
    qpos = simulation.goal_qpos(hands, goals)
    np.testing.assert_array_equal(simulation.get_state(), before)
    np.testing.assert_array_equal(qpos[:, [7, 8, 10, 11]], [[0.1, 0.6, -0.1, 0.6]] * 2)
    assert (qpos[0, :7] != qpos[1, :7]).all()
    import mujoco

    data = mujoco.MjData(simulation.model)
    for row in range(2):
        data.qpos[:] = qpos[row]
        mujoco.mj_kinematics(simulation.model, data)
        np.testing.assert_allclose(data.body("leftclaw").xpos[:2], hands[row], atol=0.02)


@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e300, 1e8])
def test_diverged_rows_fall_back_and_spare_the_others(poison, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a log file there
    simulation, healthy = table(rows=3), table(rows=3)
    action = np.full((3, 2), 0.5)
    for each in (simulation, healthy):
        assert not each.step(action).any()
    sane = simulation.get_state()[1]
    simulation._qvel[1, 3] = poison
    assert simulation.step(action).tolist() == [False, True, False]
    healthy.step(action)
    np.testing.assert_array_equal(simulation.get_state()[1], sane)
    np.testing.assert_array_equal(simulation.get_state()[[0, 2]], healthy.get_state()[[0, 2]])
    # The row works on.
    simulation.reset(np.array([1]), AWAY)
    assert not simulation.step(action).any()
