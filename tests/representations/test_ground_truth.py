"""Perfect perception of arm and pucks."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.representations.ground_truth import GroundTruthObjects, GroundTruthVector


def test_objects_are_arm_then_pucks_with_one_hot_appearance():
    state = np.arange(12, dtype=np.float32).reshape(2, 6)
    encoder = GroundTruthObjects(3)
    carry, objects = encoder.step(encoder.init(2), state, np.zeros((2, 2)))
    np.testing.assert_array_equal(carry, objects.position)
    np.testing.assert_array_equal(objects.position[1], [[6, 7], [8, 9], [10, 11]])
    np.testing.assert_array_equal(objects.what[0], np.eye(3))
    assert objects.present.all()
    assert objects.features().shape == (2, 3, encoder.layout.features)


def test_fewer_pucks_keep_their_identities_and_more_are_refused():
    small = GroundTruthObjects(2, identities=4).encode_goal(np.zeros((1, 4)))
    np.testing.assert_array_equal(small.what[0], np.eye(4)[:2])
    with pytest.raises(InvalidInput, match="3 pucks and cannot play with 4"):
        GroundTruthObjects(5, identities=4)


def test_a_vector_is_one_object_without_appearance():
    encoder = GroundTruthVector(6)
    objects = encoder.encode_goal(np.arange(12).reshape(2, 6))
    assert objects.what.shape == (2, 1, 0)
    np.testing.assert_array_equal(objects.position[1, 0], np.arange(6, 12))
    assert encoder.layout.features == 6


def test_ids_are_slots_within_an_episode_and_unknown_in_a_goal():
    encoder = GroundTruthObjects(3)
    _, objects = encoder.step(encoder.init(2), np.zeros((2, 6), np.float32), np.zeros((2, 2)))
    assert objects.ids.tolist() == [[0, 1, 2]] * 2
    assert encoder.encode_goal(np.zeros((2, 6), np.float32)).ids.tolist() == [[-1] * 3] * 2


def test_motion_is_the_way_since_the_last_frame():
    encoder = GroundTruthObjects(2)
    first, then = np.float32([[0, 0, 1, 1]]), np.float32([[0.5, 0, 1, 3]])
    carry, objects = encoder.step(encoder.init(1), first, np.zeros((1, 2)))
    assert not objects.motion.any()
    _, objects = encoder.step(carry, then, np.zeros((1, 2)))
    np.testing.assert_array_equal(objects.motion[0], [[0.5, 0], [0, 2]])
    assert not encoder.encode_goal(then).motion.any()
