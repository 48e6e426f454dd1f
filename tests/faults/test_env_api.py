"""The environments refuse what they cannot use, whatever it is, with errors of their own."""

import gymnasium
import numpy as np
import pytest

import smorl  # noqa: F401  registers the environments
from smorl.errors import InvalidInput
from tests.faults import env_api


@pytest.fixture(scope="module")
def env():
    return gymnasium.make("smorl/Push1-v0").unwrapped


@pytest.fixture(scope="module")
def vector():
    envs = gymnasium.make_vec("smorl/Push1-v0", 2, vectorization_mode="vector_entry_point")
    envs.reset(seed=0)
    return envs


@pytest.mark.parametrize("seed", ["x", -1, 1.5, [1], True])
def test_a_seed_that_is_none(env, vector, seed):
    with pytest.raises(InvalidInput):
        env.reset(seed=seed)
    with pytest.raises(InvalidInput):
        vector.reset(seed=seed)


@pytest.mark.parametrize("options", [5, "x", [1], {"objects": 10**400}, {"nothing": 1}])
def test_options_that_are_none(env, vector, options):
    with pytest.raises(InvalidInput):
        env.reset(options=options)
    with pytest.raises(InvalidInput):
        vector.reset(options=options)


@pytest.mark.parametrize("action", [[1 + 1j, 0], ["1", "0"], [None, 0]])
def test_actions_that_are_no_real_numbers(env, action):
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match="not an array of numbers"):
        env.step(action)


def test_huge_actions(env):
    env.reset(seed=0)
    with pytest.raises(InvalidInput):
        env.step([10**400, 0])
    observation = env.step([1e308, -1e308])[0]
    assert np.isfinite(observation["observation"]).all()


@pytest.mark.parametrize(
    "setting", [{"physics": "x"}, {"camera": []}, {"task": []}, {"num_objects": np.ones(2)}]
)
def test_settings_of_a_wrong_kind(setting):
    with pytest.raises(InvalidInput):
        gymnasium.make("smorl/Push1-v0", **setting)


@pytest.mark.parametrize(
    "goals",
    [
        (np.zeros(4), np.zeros(6)),
        (np.zeros((3, 4)), np.zeros((2, 4))),
        ("x", np.zeros(4)),
        (np.zeros(4), None),
        (3.0, 3.0),
        (np.zeros((4, 4, 3), np.uint8), np.zeros(4)),
    ],
)
def test_goals_that_cannot_be_compared(env, goals):
    with pytest.raises(InvalidInput):
        env.compute_reward(*goals, {})


def test_states_that_were_not_got(vector):
    arrays, generators = vector.get_state()
    without = {name: array for name, array in arrays.items() if name != "goal_hand"}
    nan = {**arrays, "simulation": np.full_like(arrays["simulation"], np.nan)}
    for state in ((without, generators), (nan, generators), (arrays, [{}, {}]), (5, generators),
                  (arrays, None)):  # fmt: skip
        with pytest.raises(InvalidInput):
            vector.set_state(*state)
    vector.set_state(arrays, generators)
    after = vector.get_state()
    assert all(np.array_equal(after[0][name], arrays[name]) for name in arrays)


def test_a_hundred_calls_with_anything_at_all():
    tally = env_api.run(100)
    assert not tally.failures
    assert tally.refused > 40


@pytest.mark.parametrize("seed", [np.array(0), np.array(0.0), np.zeros((1, 1), int)])
def test_seeds_of_another_shape_are_refused(seed):
    envs = gymnasium.make_vec(
        "smorl/Rearrange1-v0", num_envs=1, vectorization_mode="vector_entry_point"
    )
    with pytest.raises(InvalidInput, match="one per row"):
        envs.reset(seed=seed)  # pyright: ignore[reportArgumentType]


def test_a_ragged_reset_mask_is_refused():
    envs = gymnasium.make_vec(
        "smorl/Rearrange1-v0", num_envs=2, vectorization_mode="vector_entry_point"
    )
    with pytest.raises(InvalidInput, match="reset_mask"):
        envs.reset(seed=0, options={"reset_mask": [[False, 3], []]})
