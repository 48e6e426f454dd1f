"""One visitor, without a browser."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from smorl.envs.factory import View
from smorl.errors import InvalidInput
from smorl.page.casting import Part, Seat
from smorl.page.players import Nobody, Scripted
from smorl.page.requests import (
    Cast,
    Compare,
    Drag,
    Inbox,
    Lay,
    Pause,
    RandomGoal,
    Reset,
    Speed,
    StepOnce,
)
from smorl.page.session import Session
from smorl.page.table import Setup


class Company:
    """Players by name, at once or when they are told to come."""

    def __init__(self, late=False):
        self.late, self.promises = late, []

    foreign = False

    def agents(self):
        return ("one", "other")

    def controllers(self):
        return ("scripted", "nobody", "broken")

    def cast(self, seat, setup):
        promise = Future()
        self.promises.append((promise, seat))
        if not self.late:
            self.arrive()
        return promise

    def arrive(self):
        for promise, seat in self.promises:
            if seat.controller == "broken":
                promise.set_exception(InvalidInput("it has no model to plan with"))
            else:
                player = Scripted() if seat.controller == "scripted" else Nobody()
                promise.set_result(Part(player, View()))
        self.promises = []


def session(company=None, pucks=2, controller="nobody"):
    rng = np.random.default_rng(0)
    visit = Session(company or Company(), Seat("one", controller), Setup("rearrange", pucks), rng)
    visit.tick(0.0)
    return visit


def run(visit, seconds, start=0.0):
    """Tick as the page does, with a clock of our own; return the steps made."""
    now, steps = start, 0
    while now < start + seconds:
        steps += visit.tick(now)
        now = max(now + 1e-3, visit.due)
    return steps


def test_a_table_keeps_the_pace_it_was_asked_for():
    visit = session()
    assert run(visit, 2.0) == pytest.approx(20, abs=1)
    visit.ask(Speed(2.0))
    assert run(visit, 2.0, start=10.0) == pytest.approx(40, abs=2)
    visit.ask(Speed(1e9))
    visit.ask(Speed(float("nan")))
    assert run(visit, 1.0, start=20.0) == pytest.approx(20, abs=2)


def test_a_late_table_does_not_catch_up_in_a_burst():
    visit = session()
    run(visit, 0.5)
    assert visit.tick(100.0)
    assert visit.due >= 100.0
    assert not visit.tick(100.0 - 1e-6)


def test_pause_step_and_go_on():
    visit = session()
    visit.ask(Pause(True))
    visit.tick(1.0)
    before = visit.scene[0].steps
    assert run(visit, 1.0, start=1.0) == 0
    visit.ask(StepOnce())
    visit.tick(3.0)
    assert visit.scene[0].steps == before + 1
    visit.ask(Pause(False))
    assert run(visit, 1.0, start=4.0) > 5


def test_things_can_be_dragged_while_paused():
    visit = session()
    visit.ask(Pause(True))
    visit.ask(Drag("goal", 0, (0.15, 0.7)))
    visit.ask(Drag("puck", 1, (-0.15, 0.7), last=True))
    visit.tick(1.0)
    assert visit.scene[0].body.goals[0] == pytest.approx((0.15, 0.7))
    assert visit.scene[0].body.pucks[1] == pytest.approx((-0.15, 0.7))


def test_a_dragged_goal_is_reached():
    visit = session(pucks=1, controller="scripted")
    visit.ask(Drag("goal", 0, (-0.14, 0.64), last=True))
    run(visit, 12.0)
    assert visit.scene[0].body.goals[0] == pytest.approx((-0.14, 0.64))
    assert visit.scene[0].arrived.all()


def test_a_flood_of_requests_leaves_one_of_each_kind():
    inbox = Inbox()
    for i in range(10_000):
        inbox.put(Drag("goal", i % 2, (0.0, i / 1e5)))
        inbox.put(Reset())
        inbox.put(Speed(1.0))
        inbox.put(Cast(0, agent="one"))
    inbox.put(Cast(0, controller="nobody"))
    assert len(inbox) == 5
    waiting = inbox.take()
    assert waiting[0] == Drag("goal", 0, (0.0, 0.09998))
    assert waiting[-1] == Cast(0, "one", "nobody")
    assert inbox.take() == []


def test_asking_from_many_threads_is_safe():
    visit = session()

    def flood():
        for _ in range(2000):
            visit.ask(Drag("puck", 0, (0.1, 0.6)))
            visit.ask(RandomGoal())

    threads = [threading.Thread(target=flood) for _ in range(4)]
    for thread in threads:
        thread.start()
    for tick in range(20):
        visit.tick(float(tick))
    for thread in threads:
        thread.join()
    visit.tick(100.0)
    assert np.isfinite(visit.scene[0].body.qpos).all()


@pytest.mark.parametrize(
    "strange",
    [
        Drag("goal", 99, (0.0, 0.6)),
        Drag("door", 0, (0.0, 0.6)),
        Drag("goal", 0, (float("nan"), 0.6)),
        Drag("puck", 0, (float("inf"), 0.6), last=True),
        Drag("goal", 0, "nowhere"),
        Cast(5, agent="one"),
        Cast(0, agent="../../etc/passwd"),
        Cast(0, controller="__import__('os')"),
        Cast(1, agent="one"),
        Lay(task="chess"),
        Lay(pucks=-3),
        Lay(pucks=1000),
    ],
)
def test_strange_requests_change_nothing_that_matters(strange):
    visit = session()
    visit.ask(strange)
    run(visit, 0.5)
    assert visit.setup.pucks <= 4
    assert visit.setup.task == "rearrange"
    assert visit.seats == (Seat("one", "nobody"),)
    assert np.isfinite(visit.scene[0].body.qpos).all()


def test_the_old_player_goes_on_until_the_new_one_is_loaded():
    company = Company(late=True)
    visit = session(company)
    assert visit.loading
    assert visit.scene == ()
    company.arrive()
    visit.tick(0.1)
    visit.ask(Cast(0, agent="other", controller="scripted"))
    run(visit, 1.0, start=1.0)
    assert visit.loading
    assert visit.seats == (Seat("one", "nobody"),)
    steps, goals = visit.scene[0].steps, visit.scene[0].body.goals
    assert steps > 5
    company.arrive()
    run(visit, 0.3, start=3.0)
    assert visit.seats == (Seat("other", "scripted"),)
    assert visit.scene[0].steps > steps  # the same table goes on
    assert (visit.scene[0].body.goals == goals).all()


def test_a_player_who_cannot_come_is_excused_with_a_reason():
    visit = session()
    visit.ask(Cast(0, controller="broken"))
    visit.tick(1.0)
    visit.tick(2.0)
    assert "no model" in visit.message
    assert visit.seats == (Seat("one", "nobody"),)
    visit.ask(Cast(0, controller="scripted"))
    visit.tick(3.0)
    visit.tick(4.0)
    assert visit.message == ""


def test_another_table_and_another_number_of_pucks():
    visit = session()
    visit.ask(Lay(pucks=4))
    visit.tick(1.0)
    visit.tick(2.0)
    assert visit.scene[0].body.pucks.shape == (4, 2)
    visit.ask(Lay(task="push"))  # which has tables for up to three
    visit.tick(3.0)
    visit.tick(4.0)
    assert visit.setup == Setup("push", 3)


def test_two_players_start_from_the_same_table_and_share_goals():
    visit = session()
    visit.ask(Compare(True))
    visit.ask(Pause(True))
    visit.tick(1.0)
    visit.ask(Cast(1, controller="scripted"))
    visit.tick(2.0)
    visit.tick(3.0)
    left, right = visit.scene
    assert visit.seats == (Seat("one", "nobody"), Seat("one", "scripted"))
    assert (left.body.qpos == right.body.qpos).all()
    visit.ask(Drag("goal", 1, (0.1, 0.68)))
    visit.ask(RandomGoal())
    visit.ask(Drag("goal", 0, (-0.1, 0.68)))
    visit.tick(4.0)
    left, right = visit.scene
    assert (left.body.goals == right.body.goals).all()
    visit.ask(Reset())
    visit.tick(5.0)
    left, right = visit.scene
    assert (left.body.qpos == right.body.qpos).all()
    visit.ask(Compare(False))
    visit.tick(6.0)
    visit.tick(7.0)
    assert len(visit.scene) == 1
