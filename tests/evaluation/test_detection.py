"""Evaluation of perception online, with an encoder that reads the answer from the picture."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.evaluation.detection import HELD_OUT, evaluate_perception
from smorl.representations.video import episode_plan
from smorl.types import ObjectLayout, ObjectSet

ENV = "smorl/VisualRearrange2-v0"


@dataclass
class Carry:
    ids: np.ndarray
    age: np.ndarray


@dataclass
class Drawing:
    reconstruction: np.ndarray


class ColourBlobs:
    """Finds the blue and the green puck as the mean of their pixels; no arm."""

    layout = ObjectLayout(slots=3, what=2, scale=2, depth=1)

    def __init__(self, age=0):
        self.age = age
        self.last = np.zeros(0)

    def init(self, batch):
        return Carry(np.full((batch, 3), -1), np.zeros((batch, 3), int))

    def step(self, carry, observation, actions):
        self.last = observation
        batch = len(observation)
        position = np.zeros((batch, 3, 2))
        present = np.zeros((batch, 3), bool)
        grid = np.stack(np.meshgrid(np.arange(64), np.arange(64)), -1)
        for row, picture in enumerate(observation.astype(int)):
            for slot, channel in enumerate((2, 1)):
                rest = np.delete(picture, channel, -1).max(-1)
                mask = (picture[..., channel] > 80) & (rest < 40)
                if mask.sum() > 4:
                    position[row, slot] = (grid[mask].mean(0) + 0.5) / 32 - 1
                    present[row, slot] = True
        what = np.tile(np.eye(3, 2), (batch, 1, 1))
        nothing = np.zeros((batch, 3, 2)), np.zeros((batch, 3, 1))
        ids = np.where(present, [0, 1, 2], -1)
        age = np.full((batch, 3), self.age)
        return Carry(ids, age), ObjectSet(what, position, *nothing, present)

    def encode_goal(self, observation):
        return self.step(None, observation, None)[1]

    def draw(self, carry):
        return Drawing(self.last / 255)


@pytest.fixture(scope="module")
def report():
    return evaluate_perception(ColourBlobs(), ENV, episodes=6, seed=1, threads=1, num_envs=4)


def test_a_good_encoder_scores_well_and_its_weakness_shows(report):
    numbers = report.numbers
    assert numbers["recall"] > 0.97
    assert numbers["precision"] > 0.97
    assert numbers["median_error_px"] < 1.0
    assert numbers["identity_accuracy"] == 1.0
    assert numbers["arm_detected"] < 0.1
    assert numbers["arm_visible"] > 100
    assert numbers["reconstruction_mse"] == 0.0
    assert numbers["match_rate"] == 1.0
    # While a puck is hidden, some pixels of the arm pass for it.
    assert numbers["false_match_rate"] < 0.02
    assert numbers["frames"] == 6 * 21


def test_numbers_are_json_and_do_not_depend_on_the_batch(report):
    text = json.dumps(report.numbers, allow_nan=False)
    again = evaluate_perception(ColourBlobs(), ENV, episodes=6, seed=1, threads=2)
    assert json.dumps(again.numbers, allow_nan=False) == text


def test_remembered_objects_are_no_detections():
    report = evaluate_perception(ColourBlobs(age=1), ENV, episodes=1, seed=1, threads=1, steps=3)
    assert report.numbers["recall"] == 0.0
    assert report.numbers["f1"] == 0.0
    assert report.numbers["detections_per_frame"] == 0.0


def test_held_out_episodes_are_not_those_of_the_training_data():
    train, _ = episode_plan(0, 0, 5, 2)
    held_out, _ = episode_plan(0, 0, 5, 2, purpose=HELD_OUT)
    assert train != held_out


def test_nothing_to_evaluate_is_refused():
    with pytest.raises(InvalidInput, match="episodes=0"):
        evaluate_perception(ColourBlobs(), ENV, episodes=0)
