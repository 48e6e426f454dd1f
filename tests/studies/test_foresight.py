"""What is kept of played episodes, how predictions are judged on them, and the picture."""

import numpy as np

from smorl.dynamics.base import View
from smorl.dynamics.object_model import ObjectModel
from smorl.goals.own_body import StillnessModel
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.studies.foresight import Tracks, draw_foresight, foresight_errors

REST = StillnessModel(np.eye(2, dtype=np.float32), np.float32([0, 1]))
VIEW = View(REST, np.zeros(2, np.float32))


def played(steps=9, rows=3):
    """The hand rests, the thing goes 0.1 per step; a second chunk must not be kept."""
    encoder, tracks = GroundTruthObjects(2), Tracks()
    carry = None
    for step in range(steps + 1):
        state = np.tile(np.float32([0, 0, 0.1 * step, 1]), (rows, 1))
        carry, objects = encoder.step(carry, state, np.zeros((rows, 2)))
        action = np.full((rows, 2), step, np.float32)
        finished = np.full(rows, step == steps)
        tracks({"objects": objects, "action": action, "finished": finished})
    tracks({"objects": objects, "action": action, "finished": finished})
    return tracks


def test_objects_and_the_actions_between_them_are_kept():
    episodes = played().episodes()
    assert episodes.actions.shape == (3, 9, 2)
    assert episodes.objects.position.shape == (3, 10, 2, 2)
    np.testing.assert_array_equal(episodes.actions[0, :, 0], np.arange(1, 10))


def test_a_model_that_expects_nothing_is_off_by_what_happens():
    errors = foresight_errors(ObjectModel(2, 2, 8, 0), VIEW, played(), moved=0.01)
    for steps in range(1, 7):
        assert np.isclose(errors[f"dynamics/{steps}_steps/pushed"], 0.1 * steps)
        assert np.isclose(errors[f"dynamics/{steps}_steps/stays"], 0.1 * steps)
        assert errors[f"dynamics/{steps}_steps/resting"] == 0


def test_tracks_are_drawn():
    model = ObjectModel(2, 2, 8, 0)
    picture = draw_foresight(model, VIEW, played())
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert (picture != 255).any()
