"""Pictures for people: goals marked where they are, views beside each other."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import smorl  # noqa: F401  (registers the environments)
from smorl.envs.rendering.cameras import CAMERAS, project
from smorl.envs.tabletop.views import mark_goals
from smorl.errors import InvalidInput
from smorl.types import ObjectSet
from smorl.visualise.agent_view import CURRENT, HIDDEN, SEEN, SOLVED, AgentView
from smorl.visualise.film import SceneCamera

GREEN = np.array([[0.0, 1.0, 0.0]])


@pytest.fixture(scope="module")
def table():
    env = gymnasium.make("smorl/VisualRearrange2-v0")
    env.reset(seed=4, options={"objects": [(-0.1, 0.5), (0.1, 0.6)]})
    return env.unwrapped


def test_agent_view_and_goal_view_are_what_a_visual_env_shows(table):
    camera = SceneCamera(table, size=200, samples=1)
    observation = table.world.observe()
    np.testing.assert_array_equal(camera.agent(), observation["observation"][0])
    np.testing.assert_array_equal(camera.agent(goal_state=True), observation["desired_goal"][0])
    big = camera.agent(pixels=130)
    assert big.shape == (128, 128, 3)
    np.testing.assert_array_equal(big[::2, ::2], observation["observation"][0])


def test_frame_holds_the_scene_under_its_caption(table):
    camera = SceneCamera(table, size=200, samples=1)
    frame, scene = camera.frame("step 1"), camera.scene()
    assert frame.shape[0] > 200
    np.testing.assert_array_equal(frame[-200:, :200], scene)
    assert (camera.scene(goal_state=True) != scene).any()


def test_goal_rings_lie_on_the_bare_table_around_the_goal(table):
    view = CAMERAS["overview"]
    camera = SceneCamera(table, size=300)
    plain = camera.scene(goal_state=True)
    goal = np.array([[0.15, 0.75]])  # beyond where pucks and arm are
    marked = mark_goals(plain, view, goal, GREEN)
    rows, columns = np.nonzero((marked != plain).any(axis=-1))
    assert len(rows) > 20
    centre = (2 * np.array([columns.mean(), rows.mean()]) + 1) / 300 - 1
    np.testing.assert_allclose(centre, project((*goal[0], 0.0), view), atol=0.02)
    greenish = marked[rows, columns].astype(int)
    assert (greenish[:, 1] >= greenish[:, 0]).all()
    # Off the table there is nothing to draw on.
    for nowhere in [(0.55, 0.6), (-0.9, 0.2), (3.0, 3.0)]:
        unmarked = mark_goals(plain, view, np.array([nowhere]), GREEN)
        np.testing.assert_array_equal(unmarked, plain)


def test_too_small_a_film_is_refused(table):
    with pytest.raises(InvalidInput, match="size of a film is 20"):
        SceneCamera(table, size=20)


def boxes(position, present):
    """Detections of one row, in boxes of a quarter of the picture."""
    position = np.asarray([position], np.float32)
    half = np.full_like(position, 0.25)
    nothing = position[..., :0]
    return ObjectSet(nothing, position, half, nothing, np.array([present]))


class Looks:
    """An agent with three heads; the first looks at slot 1 alone."""

    def attention(self, objects, goal):
        weights = np.array([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])[None]
        return {"conditional": weights[:, :2], "unconditional": weights[:, 2:]}


def sight(
    matched=(1, -1, -1),
    current=0,
    targets=(True, True, False),
    solved=(False, True, True),
    agent=None,
):
    """Objects 0 (seen) and 1 (remembered), targets 0 and 1; whatever is third is absent."""
    corners = [(-0.5, -0.5), (0.5, -0.5), (0.0, 0.5)]
    state = {
        "objects": boxes(corners, [True, True, False]),
        "targets": boxes(np.flip(corners, 1), targets),
        "carry": SimpleNamespace(age=np.array([[0, 3, 0]])),
        "matched": np.array([matched]),
        "solved": np.array([solved]),
        "current": np.array([current]),
    }
    return AgentView.of(state, agent=agent)


def drawn(picture):
    """The colours of boxes in a picture that was black."""
    named = {SEEN: "seen", HIDDEN: "hidden", CURRENT: "current", SOLVED: "solved"}
    found = {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}
    return {name for colour, name in named.items() if colour in found}


BLACK = np.zeros((128, 128, 3), np.uint8)


def test_the_views_show_objects_and_the_current_sub_goal():
    now, goal = sight().now(BLACK), sight().goal(BLACK)
    assert drawn(now) == {"seen", "current"}  # the remembered object is the current one
    assert drawn(goal) == {"current", "solved"}
    # Target 0 is at (-0.5, -0.5): its box is 16 to 48 of 128 pixels, in both views.
    rows, columns = np.nonzero((goal == CURRENT).all(-1))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (16, 48, 16, 48)
    assert (now[16:49, 16:49] == CURRENT).all(-1).any()


def test_a_sub_goal_that_matches_nothing_still_shows_its_place():
    unmatched = sight(matched=(-1, -1, -1))
    assert unmatched.matched is None
    assert drawn(unmatched.now(BLACK)) == {"seen", "hidden", "current"}


def test_without_goals_there_is_no_sub_goal():
    empty = sight(targets=(False, False, False))
    assert empty.current is None
    assert drawn(empty.now(BLACK)) == {"seen", "hidden"}
    assert drawn(empty.goal(BLACK)) == set()


def test_a_frame_with_sight_differs_in_the_views_alone(table):
    camera = SceneCamera(table, size=400, samples=1)
    plain, boxed = camera.frame("step 1"), camera.frame("step 1", sight())
    assert plain.shape == boxed.shape
    changed = np.nonzero((plain != boxed).any(-1))
    assert changed[1].min() > 400
    assert {"current", "solved", "seen"} <= drawn(boxed)


def test_attention_stands_beside_the_views_in_a_size_that_never_changes(table):
    camera = SceneCamera(table, size=400, samples=1)
    plain, wide = camera.frame("step 1", sight()), camera.frame("1", sight(agent=Looks()))
    assert wide.shape[0] == plain.shape[0]
    assert wide.shape[1] > plain.shape[1] + 150
    other = camera.frame("step 2", sight(matched=(-1, -1, -1), agent=Looks()))
    assert other.shape == wide.shape
    assert drawn(wide[:, plain.shape[1] :]) == {"current", "seen", "hidden", "solved"}  # the key


def test_a_palette_tells_objects_apart():
    palette = [(255, 0, 0), (0, 255, 0)]
    picture = sight().now(BLACK, palette)
    assert drawn(picture) == set()
    found = {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}
    assert found == {(0, 0, 0), *palette}
