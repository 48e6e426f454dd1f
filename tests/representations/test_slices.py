"""Objects of a stranger's state vector."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.representations.slices import SlicedObjects
from smorl.types import Spaces

FETCH = Spaces((25,), actions=4, goal=(3,))


def test_slices_name_objects_and_their_goals():
    encoder = SlicedObjects("0:3, 3:6=0:3", FETCH)
    assert (encoder.layout.slots, encoder.layout.what, encoder.layout.position) == (2, 2, 3)
    state = np.arange(50.0).reshape(2, 25)
    carry, first = encoder.step(encoder.init(2), state, np.zeros((2, 4)))
    np.testing.assert_array_equal(first.position[0], [[0, 1, 2], [3, 4, 5]])
    assert first.present.all()
    assert not first.motion.any()
    _, second = encoder.step(carry, state + 1, np.zeros((2, 4)))
    np.testing.assert_array_equal(second.motion, np.ones((2, 2, 3)))
    np.testing.assert_array_equal(second.ids, [[0, 1], [0, 1]])


def test_goals_hold_only_the_objects_they_mention():
    goal = SlicedObjects("0:3, 3:6=0:3", FETCH).encode_goal(np.array([[7.0, 8.0, 9.0]]))
    assert goal.present.tolist() == [[False, True]]
    np.testing.assert_array_equal(goal.position[0, 1], [7, 8, 9])
    np.testing.assert_array_equal(goal.what[0], [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ("", "is empty"),
        ("0:3", "names no goal"),
        ("0-3=0:3", "is no slice"),
        ("0:3, 3:5=0:2", "of one length"),
        ("3:3=0:0", "of one length"),
        ("24:27=0:3", "has 25 numbers"),
        ("0:3=1:4", "a goal of 3 numbers"),
    ],
)
def test_mistakes_get_one_clear_sentence(slices, message):
    with pytest.raises(InvalidInput, match=message):
        SlicedObjects(slices, FETCH)
