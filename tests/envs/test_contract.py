"""What every registered id promises, as a single env and as rows of the vector env."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from smorl.envs.registration import env_ids
from smorl.errors import InvalidInput, NotReset

IDS = [env.id for env in env_ids()]
STATE_IDS = [env.id for env in env_ids() if env.observation == "state"]
SOME = ["smorl/Push2-v0", "smorl/Rearrange1-v0", "smorl/Rearrange4-v0", "smorl/VisualRearrange3-v0"]


def make_vector(env_id, num_envs, threads=1, **kwargs):
    return gymnasium.make_vec(
        env_id,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        threads=threads,
        **kwargs,
    )


def equal(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_the_promised_ids_are_registered():
    expected = {f"Push{n}" for n in (1, 2, 3)} | {f"Rearrange{n}" for n in range(1, 7)}
    expected = {f"smorl/{v}{name}-v0" for name in expected for v in ("", "Visual")}
    assert {name for name in gymnasium.registry if name.startswith("smorl/")} == expected


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checks(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array", render_size=32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("env_id", IDS)
def test_spaces_contain_what_happens_and_reward_follows_from_goals(env_id):
    env = gymnasium.make(env_id)
    assert env.spec is not None
    assert env.spec.max_episode_steps == next(e.episode_steps for e in env_ids() if e.id == env_id)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        assert env.observation_space.contains(observation)
        observation, reward, terminated, _, info = env.step(rng.uniform(-1, 1, 2))
        goals = observation["achieved_goal"], observation["desired_goal"]
        assert reward == env.unwrapped.compute_reward(*goals, info)  # pyright: ignore
        assert not terminated
        if observation["observation"].dtype == np.uint8:
            image = observation["observation"]
            # Ordinary orientation: the robot stands at the far, upper end of the picture.
            red = (image[..., 0] > 60) & (image[..., 1] < 40) & (image[..., 2] < 40)
            assert red[:16].sum() > red[48:].sum()


@pytest.mark.parametrize("env_id", SOME)
def test_same_seed_same_rollout_whatever_happened_before(env_id):
    def rollout(env):
        actions = np.random.default_rng(1).uniform(-1, 1, (12, 2))
        first = env.reset(seed=11)
        return [first, *(env.step(action) for action in actions)]

    used, fresh = gymnasium.make(env_id).unwrapped, gymnasium.make(env_id).unwrapped
    used.reset(seed=99)
    for action in np.random.default_rng(2).uniform(-1, 1, (15, 2)):
        used.step(action)
    for ours, theirs in zip(rollout(used), rollout(fresh), strict=True):
        equal(ours[0], theirs[0])
        equal(ours[-1], theirs[-1])


@pytest.mark.parametrize("env_id", SOME)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_equal_single_envs_bit_for_bit(env_id, threads):
    rows, steps, limit = 3, 9, 4
    vector = make_vector(env_id, rows, threads, max_episode_steps=limit)
    singles = [gymnasium.make(env_id, max_episode_steps=limit) for _ in range(rows)]
    observation, infos = vector.reset(seed=20)
    alone = [env.reset(seed=20 + row) for row, env in enumerate(singles)]
    rng = np.random.default_rng(0)
    for _ in range(steps):
        for row, (single, info) in enumerate(alone):
            equal(single, {name: value[row] for name, value in observation.items()})
            for name in info:
                np.testing.assert_array_equal(info[name], infos[name][row], err_msg=name)
        actions = rng.uniform(-1.2, 1.2, (rows, 2)).astype(np.float32)
        observation, rewards, terminated, truncated, infos = vector.step(actions)
        assert not terminated.any()
        alone = []
        for row, env in enumerate(singles):
            single, reward, _, ended, info = env.step(actions[row])
            assert reward == rewards[row]
            assert ended == truncated[row]
            if ended:
                equal(single, infos["final_obs"][row])
                assert infos["_final_obs"][row]
                for name in info:
                    np.testing.assert_array_equal(info[name], infos["final_info"][name][row])
                single, info = env.reset()
            alone.append((single, info))


def test_vector_follows_gymnasiums_conventions():
    vector = make_vector("smorl/Rearrange2-v0", 4, max_episode_steps=2)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert vector.observation_space["observation"].shape == (4, 6)
    sync = gymnasium.make_vec(
        "smorl/Rearrange2-v0",
        num_envs=4,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        max_episode_steps=2,
    )
    observation, infos = vector.reset(seed=3)
    expected, expected_infos = sync.reset(seed=3)
    for _ in range(3):
        equal(observation, expected)
        for name, value in infos.items():
            if name in ("final_info", "final_obs") or name.startswith("_"):
                continue
            np.testing.assert_array_equal(value, expected_infos[name])
        for name in ("final_obs", "_final_obs", "final_info", "_final_info"):
            assert (name in infos) == (name in expected_infos)
        if "final_info" in infos:
            equal(infos["final_info"], expected_infos["final_info"])
            np.testing.assert_array_equal(infos["_final_obs"], expected_infos["_final_obs"])
        actions = np.full((4, 2), 0.4, np.float32)
        observation, *_, infos = vector.step(actions)
        expected, *_, expected_infos = sync.step(actions)


def test_reset_of_some_rows_leaves_the_others():
    vector = make_vector("smorl/Rearrange2-v0", 3)
    vector.reset(seed=0)
    before, *_ = vector.step(np.full((3, 2), 0.5))
    mask = np.array([False, True, False])
    after, _ = vector.reset(seed=[None, 8, None], options={"reset_mask": mask})
    for name in before:
        np.testing.assert_array_equal(before[name][~mask], after[name][~mask])
    lone, _ = gymnasium.make("smorl/Rearrange2-v0").reset(seed=8)
    equal(lone, {name: value[1] for name, value in after.items()})
    assert vector.unwrapped.elapsed_steps.tolist() == [1, 0, 1]


def test_options_for_all_rows_or_each():
    vector = make_vector("smorl/Rearrange2-v0", 2)
    place = np.array([(-0.1, 0.6), (0.1, 0.6)])
    _, infos = vector.reset(seed=0, options={"objects": place})
    np.testing.assert_array_equal(infos["objects"], [place, place])
    each = np.stack([place, place + np.array((0, 0.05))])
    _, infos = vector.reset(options={"objects": each, "goal_objects": place})
    np.testing.assert_array_equal(infos["objects"], each)
    np.testing.assert_array_equal(infos["goal_objects"], [place, place])


def test_vector_bad_input():
    vector = make_vector("smorl/Rearrange2-v0", 2)
    with pytest.raises(NotReset):
        vector.step(np.zeros((2, 2)))
    vector.reset(seed=0)
    bad = [np.zeros(2), np.zeros((3, 2)), np.full((2, 2), np.nan)]
    for actions in bad:
        with pytest.raises(InvalidInput):
            vector.step(actions)
    for seed, options in [([1], None), (0, {"reset_mask": [True]}), (0, {"reset_mak": None})]:
        with pytest.raises(InvalidInput):
            vector.reset(seed=seed, options=options)
    vector.step(np.zeros((2, 2)))
    for kwargs in ({"num_envs": 0}, {"num_envs": 2, "threads": -1}):
        with pytest.raises(InvalidInput):
            make_vector("smorl/Rearrange2-v0", **kwargs)


def test_diverged_rows_reset_themselves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vector = make_vector("smorl/Rearrange2-v0", 3)
    vector.reset(seed=0)
    vector.unwrapped.world.simulation._qvel[1, 0] = np.inf
    observation, rewards, _, truncated, infos = vector.step(np.zeros((3, 2)))
    assert truncated.tolist() == [False, True, False]
    assert infos["final_info"]["diverged"].tolist() == [False, True, False]
    assert not infos["diverged"].any()
    assert np.isfinite(rewards).all()
    assert np.isfinite(observation["observation"]).all()
    assert np.isfinite(infos["final_obs"][1]["observation"]).all()
    assert not vector.step(np.zeros((3, 2)))[3].any()


def test_state_restores_exactly():
    first = make_vector("smorl/Rearrange2-v0", 2, max_episode_steps=6)
    other = make_vector("smorl/Rearrange2-v0", 2, max_episode_steps=6)
    actions = np.random.default_rng(0).uniform(-1, 1, (8, 2, 2))
    first.reset(seed=1)
    for action in actions[:3]:
        first.step(action)
    other.reset(seed=77)
    other.unwrapped.set_state(*first.unwrapped.get_state())
    for action in actions:
        ours, theirs = first.step(action), other.step(action)
        equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[3], theirs[3])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.floats(width=32, allow_nan=False)] * 2), min_size=1, max_size=6))
def test_any_finite_action_keeps_observations_sane(actions):
    env = FUZZED
    env.reset(seed=0)
    for action in actions:
        if not np.isfinite(action).all():
            with pytest.raises(InvalidInput):
                env.step(action)
            continue
        observation, reward, *_, info = env.step(np.array(action))
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward)
        assert not info["diverged"]


FUZZED = gymnasium.make("smorl/Rearrange3-v0").unwrapped


@pytest.mark.parametrize("env_id", STATE_IDS)
def test_long_random_rollouts_stay_sane(env_id):
    vector = make_vector(env_id, 4)
    rng = np.random.default_rng(0)
    vector.reset(seed=0)
    for _ in range(20):
        observation, rewards, _, _, infos = vector.step(rng.choice((-1.0, 0.0, 1.0), (4, 2)))
        assert vector.observation_space.contains(observation)
        assert np.isfinite(rewards).all()
        assert not infos["diverged"].any()


def test_passive_distance_through_the_env():
    vector = make_vector("smorl/Rearrange2-v0", 256)
    _, infos = vector.reset(seed=0)
    *_, infos = vector.step(np.zeros((256, 2)))
    error = 4 * infos["object_distance"].std() / 256**0.5
    assert infos["object_distance"].mean() == pytest.approx(0.178, abs=error)


@pytest.mark.slow
def test_memory_stays_flat():
    import resource

    vector = make_vector("smorl/Rearrange2-v0", 64, threads=0)
    rng = np.random.default_rng(0)
    vector.reset(seed=0)
    used = []
    for step in range(600):
        vector.step(rng.uniform(-1, 1, (64, 2)))
        if step in (200, 599):
            used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    # 25,000 env steps later; a leak of 100 bytes per env step would show as 2.5 MB.
    assert used[1] - used[0] < 2000
