"""A run's state copes with a perception that finds little, or everything in one place."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.methods import EncoderInputs
from smorl.presets import get_preset
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.training.train_state import TrainState
from smorl.types import Episode, ObjectGoal, Spaces


@pytest.fixture
def state():
    return TrainState.create(get_preset("debug").build(), EncoderInputs(Spaces((6,), 2)))


def add(state, seen):
    """Store two episodes in which `seen` (H + 1, N) is detected."""
    steps = state.replay.horizon + 1
    objects = GroundTruthObjects(3).encode_goal(np.ones((2 * steps, 6), np.float32))
    objects = objects.map(lambda array: array.reshape(2, steps, *array.shape[1:]))
    objects = replace(objects, present=np.broadcast_to(seen, (2, steps, 3)))
    goal = ObjectGoal(*(array[:, 0, 0] for _, array in objects.goals().arrays()))
    state.replay.add(Episode(objects, np.zeros((2, steps - 1, 2), np.float32), goal))


def test_resting_objects_are_known_from_those_that_were_seen(state):
    seen = np.zeros((state.replay.horizon + 1, 3), bool)
    add(state, seen)
    state.begin(get_preset("debug").build())
    assert state.space.rest is None, "nothing was seen, so nothing is known"
    seen[:, 1] = True
    add(state, seen)
    state.begin(get_preset("debug").build())
    assert state.space.rest is not None
    np.testing.assert_array_equal(state.space.rest.centres, [[0, 1, 0]])
    np.testing.assert_array_equal(state.space.rest.rest, [1])


def test_positions_of_no_spread_do_not_make_inputs_infinite():
    config = get_preset("debug").build()
    config = replace(config, goals=replace(config.goals, low=(0.1, 0.4), high=(0.1 + 1e-4, 0.5)))
    state = TrainState.create(config, EncoderInputs(Spaces((6,), 2)))
    assert np.isfinite(state.learner.inputs.scale.numpy()).all()
    assert state.learner.inputs.scale.max() <= 100, "motion is scaled twice as much as places"
