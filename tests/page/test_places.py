"""Where dragged things may lie."""

import numpy as np
import pytest

from smorl.envs.tabletop.checks import TABLE_HIGH, TABLE_LOW
from smorl.page.places import HAND_GAP, PUCK_GAP, free_place, on_plane, on_table


def test_a_line_of_sight_meets_the_table():
    found = on_plane((0.0, 0.0, 1.0), (0.1, 0.2, 0.5), 0.0)
    assert found == pytest.approx((0.2, 0.4))


@pytest.mark.parametrize(
    ("eye", "through"),
    [
        ((0, 0, 1), (1, 0, 1)),  # level
        ((0, 0, 1), (1, 0, 2)),  # upwards
        ((0, 0, -1), (0, 0, -2)),  # from below the table
        ((0, 0, np.nan), (1, 0, 0)),
        ((0, 0, 1), (np.inf, 0, 0)),
        ((0, 0), (1, 0, 0)),
        ("abc", (1, 0, 0)),
        (None, None),
    ],
)
def test_no_place_on_the_table_is_none(eye, through):
    assert on_plane(eye, through, 0.0) is None


def test_places_outside_come_to_the_edge_and_nonsense_nowhere():
    assert on_table((9.0, -9.0)) == pytest.approx((TABLE_HIGH[0], TABLE_LOW[1]))
    for nonsense in ((np.nan, 0.5), (1.0,), "here", None, [[0.0, 0.5]]):
        assert on_table(nonsense) is None


def test_free_places_touch_nothing_and_are_near():
    rng = np.random.default_rng(0)
    others = np.array([(-0.1, 0.5), (0.1, 0.5), (0.0, 0.65)])
    hand = np.array((0.0, 0.42))
    for wanted in rng.uniform(TABLE_LOW - 0.1, TABLE_HIGH + 0.1, (200, 2)):
        found = free_place(wanted, others, hand)
        assert found is not None
        assert (found >= TABLE_LOW).all()
        assert (found <= TABLE_HIGH).all()
        assert np.linalg.norm(others - found, axis=1).min() >= PUCK_GAP
        assert np.linalg.norm(hand - found) >= HAND_GAP
        # Never farther than across what is in the way.
        assert np.linalg.norm(found - on_table(wanted)) <= 2 * PUCK_GAP


def test_a_free_place_stays_as_it_is():
    assert free_place((0.05, 0.6), np.zeros((0, 2))) == pytest.approx((0.05, 0.6))


def test_a_full_table_has_no_place():
    x, y = np.meshgrid(np.arange(-0.2, 0.21, 0.08), np.arange(0.38, 0.74, 0.08))
    crowd = np.stack([x.ravel(), y.ravel()], axis=1)
    assert free_place((0.0, 0.5), crowd) is None
