"""One table: what may be asked of it."""

import numpy as np
import pytest

from smorl.envs.tabletop.checks import TABLE_HIGH, TABLE_LOW
from smorl.errors import InvalidInput
from smorl.page.places import PUCK_GAP
from smorl.page.players import Nobody, Scripted
from smorl.page.table import HISTORY, Setup, Table, puck_counts


def table(player=None, pucks=2, seed=0):
    setup = Setup("rearrange", pucks)
    return Table(setup, player or Nobody(), np.random.default_rng(seed))


def test_the_scripted_pusher_brings_a_puck_to_a_dragged_goal():
    played = table(Scripted(), pucks=1)
    goal = np.array((0.12, 0.66))
    assert played.move("goal", 0, goal)
    assert played.snapshot().body.goals[0] == pytest.approx(goal)
    for _ in range(120):
        played.step()
    assert played.snapshot().arrived.all()
    assert played.snapshot().thoughts.done


def test_moving_a_goal_changes_the_goal_picture_only():
    played = table()
    before = played.snapshot()
    played.move("goal", 0, before.body.goals[0] + (0.06, 0.0))
    after = played.snapshot()
    assert (before.goal.picture != after.goal.picture).any()
    assert (before.now.picture == after.now.picture).all()
    assert after.body.qpos == pytest.approx(before.body.qpos)


def test_a_dragged_puck_lies_where_it_was_put_and_at_rest():
    played = table()
    other = played.snapshot().body.pucks[1]
    played.move("puck", 0, other)  # onto the other one: beside it is as near as it gets
    found = played.snapshot().body.pucks[0]
    assert PUCK_GAP <= np.linalg.norm(found - other) < PUCK_GAP + 0.002
    for _ in range(5):
        played.step()
    assert played.snapshot().body.pucks[0] == pytest.approx(found, abs=1e-3)


def test_a_held_puck_resists_the_arm_until_it_is_let_go():
    played = table(Scripted(), pucks=1, seed=3)
    place = played.snapshot().body.pucks[0]
    played.hold(0, place)
    for _ in range(60):
        played.step()
        assert np.linalg.norm(played.snapshot().body.pucks[0] - place) < 0.08
    played.release(0)
    for _ in range(120):
        played.step()
    assert played.snapshot().arrived.all()


@pytest.mark.parametrize("place", [(5.0, 5.0), (-5.0, 0.0), (np.nan, 0.5), "here", None, (1, 2, 3)])
def test_places_from_strangers_do_no_harm(place):
    played = table()
    for kind in ("goal", "puck"):
        played.move(kind, 0, place)
    snapshot = played.snapshot()
    for places in (snapshot.body.goals, snapshot.body.pucks):
        assert (places >= TABLE_LOW - 1e-9).all()
        assert (places <= TABLE_HIGH + 1e-9).all()
    played.hold(0, place)
    played.step()


@pytest.mark.parametrize(("kind", "index"), [("goal", 7), ("goal", -1), ("arm", 0), ("puck", 2)])
def test_things_that_do_not_exist_cannot_be_moved(kind, index):
    assert not table().move(kind, index, (0.0, 0.6))


def test_new_goals_leave_the_pucks_where_they_are():
    played = table()
    before = played.snapshot()
    played.random_goal()
    after = played.snapshot()
    assert np.abs(after.body.goals - before.body.goals).max() > 0.01
    assert after.body.pucks == pytest.approx(before.body.pucks)


def test_a_copy_has_the_same_table():
    first, second = table(seed=1), table(seed=2)
    first.step()
    second.copy_from(first)
    one, two = first.snapshot(), second.snapshot()
    assert (one.body.qpos == two.body.qpos).all()
    assert (one.body.goals == two.body.goals).all()


def test_what_is_remembered_has_a_limit():
    played = table(pucks=1)
    for _ in range(3):
        played.step()
    assert played.snapshot().distances.shape == (4, 1)
    played._distances.extend([np.zeros(1)] * (2 * HISTORY))
    assert len(played.snapshot().distances) == HISTORY


def test_setups_are_checked():
    with pytest.raises(InvalidInput, match="1 to 4"):
        Setup("rearrange", 5)
    with pytest.raises(InvalidInput, match="rearrange"):
        Setup("reorder", 2)
    assert list(puck_counts("push")) == [1, 2, 3]
    assert list(puck_counts("rearrange")) == [1, 2, 3, 4]
