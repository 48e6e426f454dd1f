"""The live page in a real browser. Slow machines only make it slower, not wrong."""

import time

import numpy as np
import pytest

from tests.browser.windows import PATIENCE, Window

pytestmark = pytest.mark.browser


def test_drag_a_goal_and_the_puck_arrives(window):
    place, wanted = window.now.body.goals[0], np.array((0.1, 0.62))
    if np.linalg.norm(place - wanted) < 0.06:
        wanted = np.array((-0.1, 0.62))
    before, picture = window.now.goal.picture, window.picture()
    window.drag((*place, 0.0), (*wanted, 0.0))
    window.until(lambda: np.linalg.norm(window.now.body.goals[0] - wanted) < 0.03)
    assert (window.now.goal.picture != before).any()
    window.until(lambda: window.picture() != picture)
    window.until(lambda: window.now.arrived.all())


def test_a_puck_can_be_dragged(window):
    window.tab.get_by_role("button", name="pause").click(timeout=1000 * PATIENCE)
    window.until(lambda: window.session.paused)
    place, wanted = window.now.body.pucks[0], np.array((-0.05, 0.65))
    if np.linalg.norm(place - wanted) < 0.06:
        wanted = np.array((0.08, 0.6))
    window.drag((*place, 0.03), (*wanted, 0.03))
    window.until(lambda: np.linalg.norm(window.now.body.pucks[0] - wanted) < 0.03)


def test_controls_do_what_they_say(window):
    for name, done in (
        ("pause", lambda: window.session.paused),
        ("go", lambda: not window.session.paused),
        ("2×", lambda: window.session.speed == 2),
    ):
        window.tab.get_by_role("button", name=name, exact=True).click(timeout=1000 * PATIENCE)
        window.until(done)


def test_switch_who_plays(window):
    window.tab.get_by_label("Acts by").first.click(timeout=1000 * PATIENCE)
    window.tab.get_by_role("option", name="nobody").first.click(timeout=1000 * PATIENCE)
    window.until(lambda: window.session.seats[0].controller == "nobody")


def test_two_visitors_have_tables_of_their_own_and_a_third_waits(browser, page, window):
    second = Window(browser, page)
    assert second.session is not window.session
    assert (second.now.body.goals != window.now.body.goals).any()
    context = browser.new_context(viewport={"width": 400, "height": 300})
    third = context.new_page()
    third.goto(page.address)
    third.get_by_text("All tables are taken").wait_for(timeout=1000 * PATIENCE)
    second.close()
    window.until(lambda: len(page.sessions()) == 2)  # the one who waited has it now
    context.close()
    window.until(lambda: len(page.sessions()) == 1)


def test_a_reload_is_a_new_table_and_frees_the_old_one(page, window):
    first = window.session
    window.open()
    assert window.session is not first
    window.until(lambda: page.sessions() == [window.session])


def test_whoever_leaves_frees_everything(browser, page):
    visit = Window(browser, page)
    visit.close()
    start = time.monotonic()
    while page.sessions():
        assert time.monotonic() - start < PATIENCE
        time.sleep(0.1)
    assert not page._visitors
    assert not page._waiting
