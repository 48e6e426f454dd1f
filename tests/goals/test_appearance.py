"""The matching threshold, from distances and from tracker IDs."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.goals.appearance import choose_threshold, match_rates, self_supervised_pairs


def test_separated_kinds_are_split_in_the_middle_of_the_gap():
    threshold = choose_threshold(np.array([0.0, 0.1, 0.2]), np.array([1.0, 2.0, 3.0]))
    assert threshold == pytest.approx(0.6)
    assert match_rates(np.array([0.0, 0.1, 0.2]), np.array([1.0, 2.0]), threshold) == (1.0, 0.0)


def test_overlapping_kinds_are_split_where_the_sum_of_errors_is_smallest():
    rng = np.random.default_rng(0)
    same, different = np.abs(rng.normal(0.3, 0.1, 4000)), np.abs(rng.normal(0.7, 0.1, 500))
    assert choose_threshold(same, different) == pytest.approx(0.5, abs=0.04)

    def cost(t):
        match, mistaken = match_rates(same, different, t)
        return 1 - match + mistaken

    best = cost(choose_threshold(same, different))
    assert best <= min(cost(t) for t in np.linspace(0, 1, 200)) + 1e-9


def test_no_distances_are_refused():
    with pytest.raises(InvalidInput, match="0 of different"):
        choose_threshold(np.array([0.1]), np.array([]))


def test_pairs_follow_ids_and_skip_empty_slots():
    # Two episodes, three frames, two slots; object 0 moves to the other slot in frame 2.
    ids = np.array([[[0, 1], [0, -1], [1, 0]], [[0, -1], [-1, -1], [5, -1]]])
    what = np.zeros((2, 3, 2, 1))
    what[0, :, :, 0] = [[0.0, 10.0], [0.5, 99.0], [12.0, 1.0]]
    what[1, :, :, 0] = [[50.0, 99.0], [99.0, 99.0], [70.0, 99.0]]
    same, different = self_supervised_pairs(what, ids)
    assert sorted(same) == [0.5, 1.0, 2.0]
    assert sorted(different) == [10.0, 11.0]


def test_pairs_of_nothing_are_empty():
    same, different = self_supervised_pairs(np.zeros((1, 2, 3, 4)), np.full((1, 2, 3), -1))
    assert len(same) == len(different) == 0
