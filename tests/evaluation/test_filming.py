"""Pictures for people: goals marked where they are, views beside each other."""

import gymnasium
import numpy as np
import pytest

import smorl  # noqa: F401  (registers the environments)
from smorl.envs.cameras import CAMERAS, project
from smorl.errors import InvalidInput
from smorl.evaluation.filming import Camcorder, mark_goals, start_goal_end

GREEN = np.array([[0.0, 1.0, 0.0]])


@pytest.fixture(scope="module")
def world():
    env = gymnasium.make("smorl/VisualRearrange2-v0")
    env.reset(seed=4, options={"objects": [(-0.1, 0.5), (0.1, 0.6)]})
    return env.unwrapped.world  # pyright: ignore


def test_agent_view_and_goal_view_are_what_a_visual_env_shows(world):
    camcorder = Camcorder(world, size=200, samples=1)
    observation = world.observe()
    np.testing.assert_array_equal(camcorder.agent(), observation["observation"][0])
    np.testing.assert_array_equal(camcorder.agent(goal_state=True), observation["desired_goal"][0])
    big = camcorder.agent(pixels=130)
    assert big.shape == (128, 128, 3)
    np.testing.assert_array_equal(big[::2, ::2], observation["observation"][0])


def test_frame_holds_the_scene_under_its_caption(world):
    camcorder = Camcorder(world, size=200, samples=1)
    frame, scene = camcorder.frame("step 1"), camcorder.scene()
    assert frame.shape[0] > 200
    np.testing.assert_array_equal(frame[-200:, :200], scene)
    assert (camcorder.scene(goal_state=True) != scene).any()


def test_goal_rings_lie_on_the_bare_table_around_the_goal(world):
    camera = CAMERAS["overview"]
    camcorder = Camcorder(world, size=300)
    plain = camcorder.scene(goal_state=True)
    goal = np.array([[0.15, 0.75]])  # beyond where pucks and arm are
    marked = mark_goals(plain, camera, goal, GREEN)
    rows, columns = np.nonzero((marked != plain).any(axis=-1))
    assert len(rows) > 20
    centre = (2 * np.array([columns.mean(), rows.mean()]) + 1) / 300 - 1
    np.testing.assert_allclose(centre, project((*goal[0], 0.0), camera), atol=0.02)
    greenish = marked[rows, columns].astype(int)
    assert (greenish[:, 1] >= greenish[:, 0]).all()
    # Off the table there is nothing to draw on.
    for nowhere in [(0.55, 0.6), (-0.9, 0.2), (3.0, 3.0)]:
        unmarked = mark_goals(plain, camera, np.array([nowhere]), GREEN)
        np.testing.assert_array_equal(unmarked, plain)


def test_start_goal_end_is_three_columns(world):
    camcorder = Camcorder(world, size=200, samples=1)
    scenes, agents = [camcorder.scene()] * 3, [camcorder.agent()] * 3
    sheet = start_goal_end(scenes, agents, ["start", "goal", "end"])
    assert sheet.shape[1] == 3 * 200 + 2 * 8
    assert sheet.shape[0] > 200 + 64


def test_too_small_a_film_is_refused(world):
    with pytest.raises(InvalidInput, match="size of a film is 20"):
        Camcorder(world, size=20)
