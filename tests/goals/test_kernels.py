"""Machine code for many objects against numpy for few: the same, whoever is asked."""

import numpy as np
import pytest

from smorl.goals.matching import MANY, for_each, match
from smorl.goals.own_body import steps_by_id
from smorl.goals.priors import nearest_centre
from smorl.types import ObjectSet

FEW = 20  # sets: so few are left to numpy


def some_sets(seed: int, *leading: int, slots=4, width=8) -> ObjectSet:
    rng = np.random.default_rng(seed)

    def random(size):
        return rng.normal(size=(*leading, slots, size)).astype(np.float32)

    present = rng.random((*leading, slots)) < 0.7
    present[0] = False  # nothing is seen
    ids = rng.integers(-1, 6, present.shape)
    return ObjectSet(random(width), random(2), random(0), random(0), present, ids)


def in_parts(function, *arrays):
    """What numpy makes of a few sets at a time."""
    first = arrays[0]
    count = len(first.present if isinstance(first, ObjectSet) else first)
    parts = [function(*(array[i : i + FEW] for array in arrays)) for i in range(0, count, FEW)]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def matched(objects, what):
    found = match(objects, what, 3.0)
    return found.index, found.distance, found.matched


@pytest.mark.parametrize("width", [1, 3, 4, 8, 10])
def test_matching_many(width):
    objects = some_sets(0, MANY, width=width)
    what = some_sets(1, MANY, width=width).what[:, 0]
    index, distance, found = matched(objects, what)
    expected = in_parts(matched, objects, what)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_allclose(distance, expected[1], rtol=1e-6)
    np.testing.assert_array_equal(found, expected[2])
    assert (index[0], distance[0], found[0]) == (0, np.inf, False)


def test_matching_many_for_each_of_several_and_along_paths():
    objects, others = some_sets(0, MANY), some_sets(1, MANY)

    def each(now, following):
        return matched(for_each(following, 4), now.what)

    for ours, theirs in zip(each(objects, others), in_parts(each, objects, others), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    paths, goal = some_sets(2, MANY // 16, 3), some_sets(3, MANY // 16).what[:, :1]
    for ours, theirs in zip(matched(paths, goal), in_parts(matched, paths, goal), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("count", [MANY, MANY + 1])
def test_the_nearest_of_many_centres(count):
    rng = np.random.default_rng(0)
    what = rng.normal(size=(count, 8)).astype(np.float32)
    centres = rng.normal(size=(12, 8)).astype(np.float32)
    (expected,) = in_parts(lambda part: (nearest_centre(part, centres),), what)
    np.testing.assert_array_equal(nearest_centre(what, centres), expected)
    there = nearest_centre(what[:MANY].reshape(4, -1, 8), centres)
    np.testing.assert_array_equal(there.ravel(), expected[:MANY])


def test_following_many_by_id():
    now, following = some_sets(0, MANY // 4, 3), some_sets(1, MANY // 4, 3)
    for ours, theirs in zip(
        steps_by_id(now, following), in_parts(steps_by_id, now, following), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
