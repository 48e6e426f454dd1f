"""The point-mass world itself: what it does and that it can be solved."""

import gymnasium as gym
import numpy as np
import pytest

from smorl.envs.factory import make_envs
from tests.learning import point_mass
from tests.learning.point_mass import HIGH, LOW, REACH, STEP, PointMass


@pytest.fixture
def envs():
    envs = PointMass(2)
    envs.reset(seed=[0, 1])
    return envs


def test_make_envs_finds_the_registered_world():
    point_mass.register()
    envs = make_envs(point_mass.ENV_ID, 3, threads=1)
    observation, info = envs.reset(seed=[1, 2, 3])
    assert observation["observation"].shape == (3, 8)
    assert envs.observation_space.contains(observation)
    assert info["object_distances"].shape == (3, 3)
    np.testing.assert_allclose(info["object_distances"].mean(1), info["object_distance"])
    assert isinstance(envs.single_observation_space, gym.spaces.Dict)


def test_a_row_depends_on_its_own_seed_alone():
    a, _ = PointMass(2).reset(seed=[5, 6])
    b, _ = PointMass(3).reset(seed=[4, 5, 6])
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name][1:])
        assert not np.array_equal(value[0], value[1])


def test_slow_hands_carry_the_nearest_disc_and_fast_hands_leave_it(envs):
    envs.places[:] = [[0, 0], [0.01, 0], [0.02, 0], [0.2, 0]]
    slow, fast = 0.5, 1.0
    envs.step(np.array([[slow, 0], [fast, 0]], np.float32))
    hand, near, farther, far = envs.places.transpose(1, 0, 2)
    np.testing.assert_allclose(hand, [[0.5 * STEP, 0], [STEP, 0]], rtol=1e-6)
    np.testing.assert_allclose(near, [[0.01 + 0.5 * STEP, 0], [0.01, 0]], rtol=1e-6)
    np.testing.assert_allclose(farther, [[0.02, 0], [0.02, 0]])
    np.testing.assert_allclose(far, [[0.2, 0], [0.2, 0]])


def test_a_disc_out_of_reach_stays(envs):
    envs.places[:] = [[0, 0], [REACH + 1e-6, 0], [REACH, REACH], [0, -REACH - 1e-6]]
    before = envs.places[:, 1:].copy()
    envs.step(np.full((2, 2), 0.3, np.float32))
    np.testing.assert_array_equal(envs.places[:, 1:], before)


def test_nothing_leaves_the_box(envs):
    rng = np.random.default_rng(0)
    for _ in range(100):
        envs.step(rng.uniform(-2, 2, (2, 2)))
        assert envs.places.min() >= LOW
        assert envs.places.max() <= HIGH


def test_a_script_solves_it():
    """Fetch each disc, carry it to its goal, go to the next: the world allows what is asked."""
    envs = PointMass(50)
    _, info = envs.reset(seed=list(range(50)))
    passive = info["object_distance"].mean()
    for disc in (1, 2, 3) * 2:
        for _ in range(12):
            hand, place, goal = envs.places[:, 0], envs.places[:, disc], envs.goals[:, disc]
            held = np.linalg.norm(place - hand, axis=-1, keepdims=True) < 0.2 * REACH
            wanted = np.where(held, goal - place, place - hand)
            limit = np.where(held, 0.5, 1.0) * STEP
            length = np.maximum(np.linalg.norm(wanted, axis=-1, keepdims=True), 1e-9)
            _, _, _, _, info = envs.step(wanted * np.minimum(1, limit / length) / STEP)
    assert info["object_distance"].mean() < 0.2 * passive
