"""The scripted pusher solves the tasks, and its geometry does what it says."""

import gymnasium
import numpy as np
import pytest

import smorl  # noqa: F401  (registers the environments)
from smorl.envs.tabletop.paths import clearance, detour, leg_cost
from smorl.envs.tabletop.scripted import ScriptedPusher
from smorl.errors import InvalidInput

BOX = np.array([-1.0, -1.0]), np.array([1.0, 1.0])


def final_distances(env_id, episodes, seed, policy):
    """Distance of every puck to its goal (episodes, n) at the end of an episode, in metres."""
    env = gymnasium.make_vec(
        env_id, num_envs=episodes, vectorization_mode="vector_entry_point", threads=1
    )
    observation, _ = env.reset(seed=seed)
    while True:
        actions = policy.act(observation["observation"], observation["desired_goal"])
        observation, _, _, truncated, info = env.step(actions)
        if truncated.any():
            assert truncated.all(), "no row may diverge"
            env.close()
            return info["final_info"]["object_distances"]


@pytest.mark.parametrize("n", [1, 2])
def test_solves_a_few_episodes(n):
    distances = final_distances(f"smorl/Rearrange{n}-v0", 8, seed=500, policy=ScriptedPusher())
    assert (distances < 0.05).mean() >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(1, 0.9), (2, 0.9), (3, 0.8), (4, 0.8)])
def test_solves_rearrange_on_200_fixed_episodes(n, share):
    distances = final_distances(f"smorl/Rearrange{n}-v0", 200, seed=1000, policy=ScriptedPusher())
    assert (distances < 0.05).mean() >= share


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
def test_solves_push(n):
    distances = final_distances(f"smorl/Push{n}-v0", 100, seed=1000, policy=ScriptedPusher())
    assert (distances < 0.05).mean() >= 0.9


def test_actions_are_a_function_of_what_was_seen():
    rng = np.random.default_rng(0)
    start = np.tile((0.0, 0.414, -0.1, 0.5, 0.1, 0.6), (3, 1)).astype(np.float32)
    goal = np.tile((0.0, 0.414, 0.1, 0.5, -0.1, 0.6), (3, 1)).astype(np.float32)
    one, two = ScriptedPusher(), ScriptedPusher()
    for _ in range(5):
        seen = start + rng.normal(0, 0.01, start.shape).astype(np.float32)
        actions = one.act(seen, goal)
        assert actions.shape == (3, 2)
        assert actions.dtype == np.float32
        assert np.abs(actions).max() <= 1
        np.testing.assert_array_equal(two.act(seen, goal), actions)
    # A row acts as a single table does, and a new goal starts a new episode.
    single = ScriptedPusher()
    np.testing.assert_array_equal(
        single.act(start[0], goal[0]), ScriptedPusher().act(start, goal)[0]
    )
    single.act(start[0] + 0.01, goal[0])
    fresh = single.act(start[0], goal[0] + np.float32(0.001))
    np.testing.assert_array_equal(
        fresh, ScriptedPusher().act(start[0], goal[0] + np.float32(0.001))
    )


def test_pushes_from_behind_and_goes_home_when_done():
    pusher = ScriptedPusher()
    goal = np.array([0.0, 0.414, 0.15, 0.55])
    behind = pusher.act(np.array([-0.06, 0.55, 0.0, 0.55]), goal)
    assert behind[0] > 0.1
    assert abs(behind[1]) < 0.1
    assert np.linalg.norm(behind) <= 0.3, "a faster push would kick the puck away"
    pusher.reset()
    done = pusher.act(np.array([0.0, 0.6, 0.15, 0.552]), goal)
    assert done[1] < -0.9, "back to the hand's goal"


def test_image_observations_are_refused_with_a_remedy():
    with pytest.raises(InvalidInput, match="use the state environments"):
        ScriptedPusher().act(np.zeros((64, 64, 3)), np.zeros((64, 64, 3)))


def test_clearance_of_segments():
    starts, ends = np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    centres = np.array([[0.5, 0.2], [2.0, 0.0], [-3.0, 4.0]])
    np.testing.assert_allclose(
        clearance(starts, ends, centres), [[0.2, 1.0, 5.0], [np.hypot(0.5, 0.2), 2.0, 5.0]]
    )


def test_detour_is_straight_when_free_and_rounds_a_disc_on_the_short_side():
    start, end = np.array([-0.5, 0.0]), np.array([0.5, 0.0])
    free, cost = detour(start, end, np.array([[0.0, 0.4]]), np.array([0.2]), *BOX)
    np.testing.assert_array_equal(free, end)
    assert cost == pytest.approx(1.0)
    disc, radius = np.array([[0.0, 0.1]]), np.array([0.2])
    place, walked = start, 0.0
    for _ in range(10):
        step, _ = detour(place, end, disc, radius, *BOX)
        assert clearance(place, step, disc).min() > radius[0] - 0.01
        walked += float(np.linalg.norm(step - place))
        place = step
        if place is end:
            break
        assert place[1] < 0, "the disc's centre lies above the line"
    assert place is end
    assert 1.0 < walked < 1.15


def test_detour_keeps_inside_the_box_and_always_answers():
    start, end = np.array([-0.5, 0.0]), np.array([0.5, 0.0])
    low, high = np.array([-1.0, -0.15]), np.array([1.0, 1.0])
    disc, radius = np.array([[0.0, 0.05]]), np.array([0.2])
    step, _ = detour(start, end, disc, radius, low, high)
    assert step[1] > 0, "the short side is outside the box"
    wall = np.array([[0.0, y] for y in np.linspace(-1, 1, 15)])
    step, cost = detour(start, end, wall, np.full(15, 0.2), *BOX)
    assert np.isfinite(step).all()
    assert np.isfinite(cost)
    assert cost > float(leg_cost(start, end, wall[:0], radius[:0]))
