"""Pictures lie in the slots of the episodes they belong to, however often the ring goes round."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.replay.buffer import Replay
from smorl.replay.images import Pictures
from smorl.types import Episode, ObjectGoal, ObjectLayout, ObjectSet

HORIZON, SIZE = 2, 4


def pictures_of(numbers):
    """Pictures of uniform brightness: the episode's number, and 100 more in its goal."""
    numbers = np.asarray(numbers, np.uint8)
    frames = np.broadcast_to(
        numbers[:, None, None, None, None], (len(numbers), HORIZON + 1, SIZE, SIZE, 3)
    )
    return frames, frames[:, 0] + 100


def episodes_of(numbers):
    count = len(numbers)
    vectors = np.repeat(np.float32(numbers), HORIZON + 1)[:, None]
    objects = ObjectSet.of_vectors(vectors).map(
        lambda a: a.reshape(count, HORIZON + 1, *a.shape[1:])
    )
    nothing = np.zeros((count, 0), np.float32)
    goal = ObjectGoal(nothing, np.float32(numbers)[:, None], nothing)
    return Episode(objects, np.zeros((count, HORIZON, 2), np.float32), goal)


@pytest.mark.parametrize("rounds", [[3], [3, 2], [3, 4], [5, 5, 1], [7], [2, 9, 2]])
def test_slots_are_those_of_the_replay(rounds):
    replay = Replay(5 * HORIZON, HORIZON, ObjectLayout(slots=1, what=0, position=1), 2)
    store, first = Pictures(replay.capacity, HORIZON, SIZE), 0
    for count in rounds:
        numbers = list(range(first, first + count))
        replay.add(episodes_of(numbers))
        store.add(*pictures_of(numbers))
        first += count
    assert store.size == replay.size
    latents = replay.episodes.objects.position[: replay.size, :, 0, 0]
    np.testing.assert_array_equal(store.frames[: store.size, :, 0, 0, 0], latents)
    goals = replay.episodes.goal.position[: replay.size, 0]
    np.testing.assert_array_equal(store.goals[: store.size, 0, 0, 0], goals + 100)


def test_flat_is_a_view_of_all_frames():
    store = Pictures(4, HORIZON, SIZE)
    store.add(*pictures_of([7, 8]))
    flat = store.flat()
    assert flat.base is not None
    np.testing.assert_array_equal(flat[:, 0, 0, 0], [7, 7, 7, 8, 8, 8])


def test_joined_and_restored():
    store, other = Pictures(3, HORIZON, SIZE), Pictures(3, HORIZON, SIZE)
    store.add(*pictures_of([1, 2]))
    store.add(*pictures_of([3, 4]))
    other.added = store.added
    other.restore(store.first, store.joined(store.first, store.added))
    np.testing.assert_array_equal(other.frames, store.frames)
    np.testing.assert_array_equal(other.goals, store.goals)
    assert store.first == 1
    assert set(store.flat()[:, 0, 0, 0]) == {2, 3, 4}


def test_pictures_of_another_shape_are_refused():
    with pytest.raises(InvalidInput, match="do not fit"):
        Pictures(3, HORIZON + 1, SIZE).add(*pictures_of([1]))
