"""What became of the goal image's objects: which puck each means, and what is counted."""

import numpy as np
import pytest

from smorl.envs.factory import make_envs
from smorl.envs.rendering.cameras import CAMERAS, PUCK_CENTRE_HEIGHT, project
from smorl.evaluation.goal_images import GoalCounts, pucks_meant
from tests.conftest import make_set

PIXEL = 2 / 64


def found(position, present=None):
    """Detections at these places (K, G, 2), all alike."""
    position = np.asarray(position, float)
    return make_set(np.zeros((*position.shape[:-1], 1)), position, present)


@pytest.fixture(scope="module")
def tables():
    envs = make_envs("smorl/VisualRearrange2-v0", 2, 1)
    _, info = envs.reset(seed=[3, 4])
    goals = np.asarray(info["goal_objects"])
    height = np.full((2, 2, 1), PUCK_CENTRE_HEIGHT)
    places = project(np.concatenate([goals, height], -1), CAMERAS["zoomed_in"])
    yield envs, places
    envs.close()


def test_a_detection_means_the_puck_whose_goal_it_shows(tables):
    envs, places = tables
    first, second = places[:, 0], places[:, 1]
    nowhere = np.full((2, 2), 3.0)
    targets = found(
        np.stack([second - 2 * PIXEL, first, nowhere, first], 1),
        [[True, True, True, False]] * 2,
    )
    assert pucks_meant(targets, envs).tolist() == [[1, 0, -1, -1]] * 2


def test_farther_than_four_pixels_means_no_puck(tables):
    envs, places = tables
    away = np.sign(places[:, 0] - places[:, 1]) * (1, 0)  # from the other puck
    targets = found(np.stack([places[:, 0] + k * PIXEL * away for k in (3.9, 4.1)], 1))
    assert pucks_meant(targets, envs).tolist() == [[0, -1]] * 2


def test_on_ground_truth_the_arm_means_no_puck_and_a_vector_means_none():
    envs = make_envs("smorl/Rearrange2-v0", 2, 1)
    observation, _ = envs.reset(seed=[3, 4])
    goal = observation["desired_goal"]
    assert pucks_meant(found(goal.reshape(2, 3, 2)), envs).tolist() == [[-1, 0, 1]] * 2
    assert pucks_meant(found(goal[:, None]), envs).tolist() == [[-1]] * 2
    envs.close()


def test_only_pucks_held_for_solved_can_be_mistaken():
    targets = found(np.zeros((1, 5, 2)), [[True, True, True, True, False]])
    counts = GoalCounts(targets, np.array([[0, 1, 1, -1, -1]]))
    solved = np.array([[True, True, False, True, True]])
    distances = np.array([[0.051, 0.049]])
    assert counts.held(solved).tolist() == [[True, True, False, False, False]]
    assert counts.mistaken(solved, distances).tolist() == [[True, False, False, False, False]]


def test_a_match_must_last_while_the_episode_runs():
    counts = GoalCounts(found(np.zeros((2, 2, 2)), [[True, True], [True, False]]), np.zeros((2, 2)))
    counts.see(np.array([[True, True], [True, True]]), np.array([True, True]))
    counts.see(np.array([[True, False], [False, False]]), np.array([True, False]))
    counts.see(np.array([[True, True], [False, False]]), np.array([True, False]))
    assert counts.matched.tolist() == [[True, False], [True, False]]
