"""The live page in a real browser. A busy machine only makes it slower, or skips it; see windows.

The tests share one visit, in this order.
"""

import numpy as np
import pytest

from tests.browser.windows import Window

pytestmark = pytest.mark.browser
PLACES = np.array([(0.1, 0.62), (-0.1, 0.62), (0.0, 0.5)])


def elsewhere(*things):
    """A place far from where things are now."""
    away = np.linalg.norm(PLACES[:, None] - np.array(things), axis=2)
    return PLACES[away.min(1).argmax()]


def free_ring(window):
    """See to it that the puck does not lie in the ring: whoever presses there means the ring."""
    window.until(lambda: window.now.distances[-1].min() > 0.09 or window.press("new goals"))


def test_drag_a_goal_and_the_puck_arrives(window):
    free_ring(window)
    before, picture = window.now.goal.picture, window.picture()
    wanted = elsewhere(window.now.body.goals[0], window.now.body.pucks[0])
    window.drag_goal(wanted)
    assert (window.now.goal.picture != before).any()
    window.until(lambda: window.picture() != picture, "the goal picture on the page")
    window.choose("Acts by", "scripted")
    window.until(lambda: window.now.arrived.all(), "the puck to arrive within 5 cm")
    place = window.now.body.pucks[0]
    assert np.linalg.norm(place - wanted) < 0.05 + 0.02


def test_a_puck_is_dragged_while_the_agent_works(window):
    place = window.now.body.pucks[0]
    wanted = elsewhere(place)
    window.drag((*place, 0.03), (*wanted, 0.03))
    window.until(lambda: window.now.distances[-60:].max() > 0.06, "the disturbance")
    window.until(lambda: window.now.arrived.all(), "the puck to be brought back")


def test_controls_do_what_they_say(window):
    window.press("pause")
    window.until(lambda: window.session.paused)
    steps = window.now.steps
    window.press("one step")
    window.until(lambda: window.now.steps == steps + 1)
    goals = window.now.body.goals
    window.press("new goals")
    window.until(lambda: (window.now.body.goals != goals).any())
    window.choose("Speed", "2 times the robot")
    window.until(lambda: window.session.speed == 2)
    window.press("go")
    window.until(lambda: window.now.steps > steps + 3)


def test_switch_who_plays(window):
    window.choose("Agent", "other")
    window.until(lambda: window.session.seats[0].agent == "other")
    window.choose("Acts by", "nobody")
    window.until(lambda: window.session.seats[0].controller == "nobody")
    window.see("Nobody moves the arm")


def test_two_are_compared_on_the_same_table_and_share_goals(window):
    window.click(window.tab.get_by_text("Compare two"))
    window.until(lambda: len(window.session.scene) == 2, "a second table")
    window.see("Right table")
    window.until(lambda: abs(window.client.camera.position[1]) > 2.2, "a view of both")
    free_ring(window)
    wanted = elsewhere(window.now.body.goals[0], window.now.body.pucks[0])
    window.drag_goal(wanted, shift=-0.55)  # of the table on the right
    for table in window.session.scene:
        assert np.linalg.norm(table.body.goals[0] - wanted) < 0.02


def test_two_visitors_have_tables_of_their_own_and_a_third_waits(browser, page, window, clock):
    second = Window(browser, page, clock)
    assert second.session is not window.session
    assert (second.now.body.goals != window.now.body.goals).any()
    context = browser.new_context(viewport={"width": 400, "height": 300})
    third = context.new_page()
    window.wait_for(lambda limit: third.goto(page.address, wait_until="commit", timeout=limit))
    told = third.get_by_text("All tables are taken").first
    window.wait_for(lambda limit: told.wait_for(timeout=limit))
    second.close()
    window.until(lambda: len(page.sessions()) == 2, "the one who waited")
    context.close()
    window.until(lambda: page.sessions() == [window.session], "a free table")


def test_a_reload_is_a_new_table_and_leaving_frees_everything(page, window, alone):
    first = window.session
    window.open()
    assert window.session is not first
    window.until(lambda: page.sessions() == [window.session], "the old table to be freed")
    window.close()
    alone()
    assert not page._visitors
    assert not page._waiting
