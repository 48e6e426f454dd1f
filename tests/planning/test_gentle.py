"""Gentle contact on a made-up table, seen by a made-up camera: what is read off random data."""

import numpy as np
import pytest
from scipy.stats import rankdata

from smorl.goals.own_body import StillnessModel
from smorl.planning.gentle import GentleConfig, GentleContact, _ranks
from smorl.types import ObjectSet

RADIUS, STEP = 0.05, 0.1  # metres: contact, and the longest step of the hand
CAMERA = np.array([[4.0, 0.0], [0.0, 3.0]])  # image coordinates per metre
HEIGHT = np.array([0.0, -0.2])  # the hand is seen higher up than it is
ELBOW = np.array([0.1, -0.7])  # a second part of the body, in the image
REST = StillnessModel(np.eye(3, dtype=np.float32), np.float32([0, 0, 1]))


def table(rng, episodes=150, steps=20):
    """Random hand, one object: it is pushed out of the hand's way. Places in metres."""
    hand = np.zeros((episodes, steps + 1, 2))
    thing = np.zeros_like(hand)
    thing[:, 0] = rng.uniform(-0.15, 0.15, (episodes, 2))
    for t in range(steps):
        hand[:, t + 1] = np.clip(hand[:, t] + rng.uniform(-STEP, STEP, (episodes, 2)), -0.2, 0.2)
        away = thing[:, t] - hand[:, t + 1]
        distance = np.linalg.norm(away, axis=-1, keepdims=True)
        pushed = hand[:, t + 1] + away / np.maximum(distance, 1e-6) * 2 * RADIUS
        thing[:, t + 1] = np.where(distance < RADIUS, pushed, thing[:, t])
    return hand, thing


def seen(hand, thing, camera=CAMERA, height=HEIGHT):
    """Hand, elbow and object as an object set; slots 0, 1, 2."""
    place = np.stack([hand @ camera + height, hand @ camera + height + ELBOW, thing @ camera], -2)
    shape = place.shape[:-1]
    what = np.broadcast_to(np.eye(3, dtype=np.float32), (*shape, 3))
    nothing, ids = np.zeros((*shape, 0), np.float32), np.broadcast_to(np.arange(3), shape)
    present = np.ones(shape, bool)
    return ObjectSet(what, place.astype(np.float32), nothing, nothing, present, ids=ids)


@pytest.fixture(scope="module")
def gentle():
    found = GentleContact.fit(seen(*table(np.random.default_rng(0))), REST, GentleConfig(0.25))
    assert found is not None
    return found


def test_the_gap_is_the_distance_on_the_table_whatever_the_camera(gentle):
    """Hand at different distances and directions: only the distance counts, in long steps."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 400)
    distance = rng.uniform(0.02, 0.3, 400)
    hand = np.stack([np.cos(angle), np.sin(angle)], -1) * distance[:, None]
    gap = gentle.gap(seen(hand, np.zeros_like(hand)))
    per_metre = gap / distance
    far = distance > 0.1
    assert np.std(per_metre[far]) / np.mean(per_metre[far]) < 0.15
    assert np.corrcoef(gap, distance)[0, 1] > 0.97


def test_actions_are_whole_far_away_and_small_where_it_touches(gentle):
    hand = np.array([[0.3, 0.0], [0.0, 0.3], [0.02, 0.0], [0.0, -0.02]])
    scale = gentle.scale(seen(hand, np.zeros_like(hand)))
    np.testing.assert_allclose(scale[:2], 1)
    np.testing.assert_allclose(scale[2:], 0.25)
    done = gentle(seen(hand, np.zeros_like(hand)), np.float32([[1, -1]] * 4))
    np.testing.assert_allclose(done, scale[:, None] * [1, -1])


def test_the_part_that_touches_is_the_hand(gentle):
    """The elbow is up in the image, so reach points down and to the left."""
    direction = gentle.reach / np.linalg.norm(gentle.reach)
    assert direction @ (-ELBOW / np.linalg.norm(ELBOW)) > 0.95


def test_nothing_to_touch_leaves_actions_alone(gentle):
    hand = np.zeros((2, 2))
    objects = seen(hand, hand)
    objects = ObjectSet(
        **{**dict(objects.arrays()), "present": np.array([[True, True, False]] * 2)}
    )
    assert (gentle.scale(objects) == 1).all()


def test_too_few_contacts_fit_nothing():
    hand, thing = table(np.random.default_rng(0), episodes=2, steps=3)
    assert GentleContact.fit(seen(hand, thing + 5), REST, GentleConfig()) is None


def test_it_survives_being_saved(gentle):
    again = GentleContact(REST, **gentle.to_arrays())
    objects = seen(*(a[:3] for a in table(np.random.default_rng(2))))
    np.testing.assert_array_equal(again.scale(objects), gentle.scale(objects))


def test_ranks_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=50), rng.integers(0, 20, 50) / 7, np.full(5, np.inf)):
        np.testing.assert_array_equal(_ranks(values), rankdata(values))
