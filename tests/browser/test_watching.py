"""What needs no dragging: a run that is followed, a world of one's own, and trained agents."""

import numpy as np
import pytest

from smorl.page.agents import AS_TRAINED, Agents
from smorl.page.casting import Seat
from smorl.page.following import Follower
from smorl.page.requests import Renew
from smorl.page.server import Page, PageSettings
from smorl.page.table import Setup
from tests.browser.windows import Company, OwnWorld, Window
from tests.page.test_watching import run_folder

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(browser, clock):
    """Open a window on a page of its own."""
    opened = []

    def serve(casting, seat, setup=None):
        settings = PageSettings(port=0, visitors=1)
        page = Page(casting, seat, Setup("rearrange", 1) if setup is None else setup, settings)
        opened.append(page)
        opened.append(Window(browser, page, clock))
        return page, opened[-1]

    yield serve
    for one in reversed(opened):
        one.close() if isinstance(one, Window) else one.stop()


def test_a_run_in_training_is_followed(visit, tmp_path):
    company = Company()
    page, window = visit(company, Seat("one", "nobody"))
    path = run_folder(tmp_path / "run")
    follower = Follower(
        path,
        lambda: page.ask_everybody(Renew("one")),
        lambda now: setattr(page, "progress", now),
        period=0.2,
    )
    window.see("practised for 1,000 steps")
    curve = window.tab.locator("svg polyline").count()
    assert curve >= 2  # of distances on this table, and of the run's tests
    before = company.asked
    (path / "checkpoints" / "000002000").mkdir()
    window.see("practised for 2,000 steps")
    window.until(lambda: company.asked == before + 1, "the newest checkpoint to take over")
    follower.close()


def test_a_world_of_ones_own_is_shown_in_pictures_and_plots(visit):
    _, window = visit(OwnWorld(), Seat("one", "as it was trained"))
    window.see("without a 3-D model")
    window.see("How far each object is from its goal")
    assert window.tab.get_by_text("Drag a ring").count() == 0
    picture, steps = window.picture(), window.now.steps
    window.until(lambda: window.now.steps > steps + 3)
    window.until(lambda: window.picture() != picture, "another picture on the page")
    goal = window.now.goal.picture
    window.press("new episode")
    window.until(lambda: (window.now.goal.picture != goal).any(), "another goal")


def test_two_trained_agents_are_compared_and_what_cannot_play_says_why(visit):
    truth, pixels = "shipped:gt-rearrange-2", "shipped:visual-rearrange-2"
    agents = Agents([truth, pixels])
    agents.run(truth)
    try:
        _, window = visit(agents, Seat(truth, AS_TRAINED), Setup("rearrange", 2))
        window.until(lambda: window.now.thoughts.view is not None, "what the agent thinks")
        window.click(window.tab.get_by_text("Compare two"))
        window.until(lambda: len(window.session.scene) == 2, "a second table")
        window.choose("Agent", "visual-rearrange-2", which=1)
        window.until(lambda: window.session.seats[1].agent == pixels, "the second agent")
        # It finds objects in pictures, which the first does not.
        window.until(lambda: window.session.scene[1].thoughts.boxes, "what the second one thinks")
        left, right = window.session.scene
        assert not left.thoughts.boxes
        assert (left.body.goals == right.body.goals).all()
        window.see("What its policy looks at")
        window.choose("Pucks", "3")
        window.see("learned names for 2 pucks and cannot play with 3")
        steps = window.now.steps
        window.until(lambda: window.now.steps > steps + 2, "the table of before to go on")
        assert np.isfinite(window.now.distances).all()
    finally:
        agents.close()
