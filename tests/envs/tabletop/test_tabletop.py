"""The single env: options, bad input, reward, colours, pictures."""

import gymnasium
import numpy as np
import pytest

from smorl.envs.rendering.cameras import CAMERAS
from smorl.envs.tabletop.world import goal_reward
from smorl.errors import InvalidInput, NotReset, SmorlError

STATE, VISUAL = "smorl/Rearrange2-v0", "smorl/VisualRearrange2-v0"


@pytest.fixture(scope="module")
def env():
    return gymnasium.make(STATE).unwrapped


@pytest.fixture(scope="module")
def visual():
    return gymnasium.make(VISUAL, render_mode="rgb_array", render_size=96).unwrapped


def test_options_place_things_exactly(env):
    objects, goals = [(-0.1, 0.6), (0.12, 0.5)], [(0.15, 0.7), (0.0, 0.5)]
    options = {"objects": objects, "goal_objects": goals, "goal_hand": (0.1, 0.45)}
    observation, info = env.reset(seed=0, options=options)
    np.testing.assert_allclose(observation["achieved_goal"][2:], np.ravel(objects), rtol=1e-6)
    np.testing.assert_allclose(
        observation["desired_goal"], [0.1, 0.45, *np.ravel(goals)], rtol=1e-6
    )
    np.testing.assert_array_equal(info["objects"], objects)
    np.testing.assert_array_equal(info["goal_objects"], goals)


def test_an_option_does_not_shift_what_is_drawn_for_the_rest(env):
    free, _ = env.reset(seed=5)
    fixed, _ = env.reset(seed=5, options={"objects": [(-0.1, 0.6), (0.12, 0.5)]})
    np.testing.assert_array_equal(free["desired_goal"], fixed["desired_goal"])


def test_info_agrees_with_the_observation(env):
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step([0.3, 0.9])
    state, goal = observation["achieved_goal"], observation["desired_goal"]
    np.testing.assert_allclose(state[:2], info["hand"], rtol=1e-6)
    np.testing.assert_allclose(state[2:], info["objects"].ravel(), rtol=1e-6)
    distances = np.linalg.norm((state - goal).reshape(3, 2), axis=1)
    np.testing.assert_allclose(distances[0], info["hand_distance"], atol=1e-6)
    np.testing.assert_allclose(distances[1:], info["object_distances"], atol=1e-6)
    assert info["object_distance"] == pytest.approx(distances[1:].mean(), abs=1e-6)
    assert reward == pytest.approx(-np.linalg.norm(state - goal), abs=1e-6)
    assert (terminated, truncated, info["diverged"]) == (False, False, False)


@pytest.mark.parametrize(
    ("offsets", "expected"), [((0.045, 0.045), True), ((0.0, 0.055), False), ((0.055, 0.0), False)]
)
def test_success_is_every_puck_within_5_cm_wherever_the_hand_is(env, offsets, expected):
    """It means the same in the info, in an evaluation and in tables (docs/benchmark.md)."""
    goals = np.array([(-0.1, 0.5), (0.1, 0.5)])
    objects = goals + np.array([(0, offset) for offset in offsets])
    placed = {"objects": objects, "goal_objects": goals, "goal_hand": (0.15, 0.65)}
    _, info = env.reset(seed=0, options=placed)
    assert info["success"] is expected
    assert bool((info["object_distances"] < 0.05).all()) is expected
    assert info["hand_distance"] > 0.05


BAD_ACTIONS = [[0.1], [0.1, 0.2, 0.3], [[0.1, 0.2]], [np.nan, 0], [0, np.inf], "up", None, 0.5]


@pytest.mark.parametrize("action", BAD_ACTIONS)
def test_bad_actions_are_refused_and_change_nothing(env, action):
    env.reset(seed=2)
    before = env.world.get_state()["simulation"]
    with pytest.raises(InvalidInput, match=r"action"):
        env.step(action)
    np.testing.assert_array_equal(env.world.get_state()["simulation"], before)
    env.step(np.zeros(2))


def test_large_actions_are_clipped(env):
    env.reset(seed=3)
    large, *_ = env.step([50.0, -1e30])
    env.reset(seed=3)
    clipped, *_ = env.step([1.0, -1.0])
    np.testing.assert_array_equal(large["observation"], clipped["observation"])


BAD_OPTIONS = [
    ({"objects": [(0, 0.6)]}, "shape"),
    ({"objects": [(0, 0.6), (0.3, 0.6)]}, "outside the table"),
    ({"objects": [(0, 0.6), (0.05, 0.6)]}, "overlap"),
    ({"objects": [(0, 0.43), (0.1, 0.6)]}, "gripper"),
    ({"objects": [(0, 0.6), (np.nan, 0.6)]}, "not finite"),
    ({"objects": "here"}, "not an array"),
    ({"goal_objects": [(0, 0.6), (0, 0.9)]}, "outside the table"),
    ({"goal_objects": [(0, 0.6), (0, 0.6)]}, "overlap"),
    ({"goal_hand": (0, 2)}, "reach"),
    ({"goal_hand": (0, 0.5, 0.1)}, "shape"),
    ({"object": [(0, 0.6)]}, "Did you mean 'objects'"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options_are_refused_and_the_env_works_on(env, options, message):
    with pytest.raises(InvalidInput, match=message):
        env.reset(seed=0, options=options)
    env.reset(seed=0)
    env.step(np.zeros(2))


BAD_SETTINGS = [
    ({"num_objects": 7}, "use 1 to 6"),
    ({"num_objects": 2.5}, "use 1 to 6"),
    ({"task": "pull"}, "Unknown task"),
    ({"observation": "pixels"}, "observation='pixels'"),
    ({"observation": "image", "camera": "zoomedin"}, "Did you mean 'zoomed_in'"),
    ({"image_size": 0}, "image_size=0"),
    ({"colours": "rainbow"}, "colours='rainbow'"),
    ({"colours": [(0, 0, 2), (0, 0, 1)]}, "RGB triples"),
    ({"render_mode": "human"}, "render_mode='human'"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings_are_refused(settings, message):
    from smorl.envs.tabletop.env import TabletopEnv

    with pytest.raises(InvalidInput, match=message):
        TabletopEnv(**settings)


def test_step_and_render_need_a_reset():
    env = gymnasium.make(STATE, render_mode="rgb_array").unwrapped
    for call in (lambda: env.step(np.zeros(2)), env.render):
        with pytest.raises(NotReset, match="reset"):
            call()
    assert issubclass(NotReset, SmorlError)


def test_divergence_truncates_and_the_next_reset_recovers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = gymnasium.make(STATE).unwrapped
    env.reset(seed=0)
    env.world.simulation._qvel[0, 2] = np.nan
    observation, reward, terminated, truncated, info = env.step(np.ones(2))
    assert (terminated, truncated, info["diverged"]) == (False, True, True)
    assert np.isfinite(observation["observation"]).all()
    assert np.isfinite(reward)
    fresh, info = env.reset(seed=0)
    assert not info["diverged"]
    assert not env.step(np.ones(2))[3]
    np.testing.assert_array_equal(fresh["observation"], env.reset(seed=0)[0]["observation"])


def test_reward_of_a_batch_equals_single_rewards_exactly():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(2, 5, 7, 14)).astype(np.float32)
    batch = goal_reward(*states)
    assert batch.shape == (5, 7)
    for i, j in np.ndindex(5, 7):
        assert goal_reward(states[0, i, j], states[1, i, j]) == batch[i, j]
    np.testing.assert_allclose(batch, -np.linalg.norm(states[0] - states[1], axis=-1), rtol=1e-6)
    images = rng.integers(0, 256, (2, 3, 8, 8, 3), dtype=np.uint8)
    scaled = images / 255.0
    expected = -np.linalg.norm((scaled[0] - scaled[1]).reshape(3, -1), axis=-1)
    np.testing.assert_allclose(goal_reward(*images), expected)
    assert goal_reward(images[0, 1], images[1, 1]) == goal_reward(*images)[1]


def test_goal_image_is_the_picture_of_the_goal_state(visual):
    goals = [(-0.1, 0.65), (0.1, 0.55)]
    observation, _ = visual.reset(seed=0, options={"goal_objects": goals})
    placed, _ = visual.reset(seed=0, options={"objects": goals})
    np.testing.assert_array_equal(observation["desired_goal"], placed["observation"])
    assert (observation["observation"] != observation["desired_goal"]).any()


def test_visual_observations_hold_pictures_only(visual):
    observation, _ = visual.reset(seed=0)
    assert set(observation) == {"observation", "achieved_goal", "desired_goal"}
    assert all(value.shape == (64, 64, 3) for value in observation.values())
    assert visual.render().shape == (96, 96, 3)


def test_goal_images_can_be_switched_off():
    env = gymnasium.make(VISUAL, goal_images=False, image_size=32, camera="multiobject_push")
    observation, _ = env.reset(seed=0)
    assert not observation["desired_goal"].any()
    assert observation["observation"].shape == (32, 32, 3)


def test_colours_reach_the_picture():
    seen = []
    for settings in ({}, {"colours": [(1, 0, 0), (1, 1, 0)]}, {"colours": "random"}):
        env = gymnasium.make(VISUAL, camera=CAMERAS["zoomed_in"], **settings)
        seen.append(env.reset(seed=0)[0]["observation"])
        again = env.reset(seed=0)[0]["observation"]
        np.testing.assert_array_equal(seen[-1], again)
    blue = [int((image[..., 2] > image[..., 0].astype(int) + 60).sum()) for image in seen]
    assert blue[0] > 20
    assert blue[1] == 0
    assert (seen[2] != seen[0]).any()
    assert (env.reset(seed=1)[0]["observation"] != seen[2]).any()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_unknown_settings_are_refused(make):
    with pytest.raises(InvalidInput, match=r"unknown setting 'camra'.*Did you mean 'camera'"):
        make(STATE, camra="zoomed_in")
