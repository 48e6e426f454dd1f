"""Numbers of a perception on pushing episodes, on made-up episodes whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.evaluation.pushing import KINDS, Pushing, match_goals, record, scores
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.types import ObjectSet
from smorl.visualise.worst_frames import worst_frames

PIXEL = 2 / 64
HAND = 2  # the slot of the hand in `episode`


def episode(frames: int = 6) -> Pushing:
    """Two pucks at rest and a hand, all found exactly: one episode, slots in that order."""
    places = np.array([[-0.5, 0.2], [0.5, 0.2], [0.0, -0.5]])
    position = np.tile(places, (1, frames, 1, 1))
    what = np.tile(np.eye(3), (1, frames, 1, 1))
    nothing = np.zeros((1, frames, 3, 0))
    scale = np.full((1, frames, 3, 2), 0.1)
    present = np.ones((1, frames, 3), bool)
    objects = ObjectSet(what, position, scale, nothing, present)
    shape = (1, frames, 2)
    return Pushing(
        objects=objects,
        targets=objects[:, 0].map(np.copy),
        pucks=position[:, :, :2].copy(),
        goals=position[:, 0, :2].copy(),
        hand=position[:, :, HAND].copy(),
        share=np.ones(shape),
        moved=np.zeros(shape),
        gap=np.ones(shape),
        images=np.zeros((1, frames, 64, 64, 3), np.uint8),
    )


def test_perfect_sight_is_perfect():
    numbers = scores(episode(), 0.5)
    assert numbers["free/matched"] == numbers["free/matched_goal"] == 1
    assert numbers["wrong"] == numbers["jitter"] == numbers["free/error_90"] == 0
    assert numbers["hand_near"] == numbers["first_found"] == numbers["goal_found"] == 1
    assert numbers["hidden/matched"] is None, "nothing was hidden"


def test_a_puck_that_looks_like_nothing_known_is_not_matched():
    seen = episode()
    seen.objects.what[0, 2, 0] = [0, 5, 5]
    assert scores(seen, 0.5)["free/matched"] == pytest.approx(11 / 12)


def test_a_thief_with_the_puck_s_look_is_a_wrong_object():
    seen = episode()
    seen.objects.what[0, 3, [0, HAND]] = seen.objects.what[0, 3, [HAND, 0]]
    numbers = scores(seen, 0.5)
    assert numbers["free/matched"] == 1
    assert numbers["wrong"] == pytest.approx(1 / 12)


def test_every_puck_stands_in_one_way():
    seen = episode()
    seen.share[0, 0], seen.share[0, 1], seen.gap[0, 2], seen.moved[0, 3] = 0.1, 0.6, 0.03, 0.01
    kinds = seen.kinds()
    assert sum(mask.astype(int) for mask in kinds.values()).tolist() == [[[1, 1]] * 6]
    assert [int(kinds[name].sum()) for name in KINDS] == [2, 2, 4, 4]


def test_errors_of_places_are_in_pixels_and_jitter_is_of_what_rests():
    seen = episode()
    seen.objects.position[0, 1::2, 0, 0] += PIXEL  # trembles by a pixel
    seen.moved[0, :, 1] = 0.05  # is pushed all the time, wherever the encoder says
    seen.objects.position[0, :, 1, 1] += 2 * PIXEL * (np.arange(6) > 0)
    numbers = scores(seen, 0.5)
    assert numbers["jitter"] == pytest.approx(1)
    assert numbers["touching_or_pushed/error_90"] == pytest.approx(2)
    assert numbers["free/error_median"] == pytest.approx(0.5)


def test_the_hand_may_be_seen_with_a_constant_offset_but_not_elsewhere():
    seen = episode()
    seen.objects.position[..., HAND, 1] += 5 * PIXEL
    assert scores(seen, 0.5)["hand_near"] == 1
    seen.objects.position[0, 4, HAND, 0] += 3 * PIXEL
    assert scores(seen, 0.5)["hand_near"] == pytest.approx(5 / 6)
    seen.objects.present[0, 5, HAND] = False
    assert scores(seen, 0.5)["hand_near"] == pytest.approx(4 / 6)


def test_a_puck_that_is_not_found_at_first_counts_as_missed():
    seen = episode()
    seen.objects.present[0, 0, 1] = False
    matches = match_goals(seen, 0.5, "first")
    assert not matches.asked[..., 1].any()
    assert scores(seen, 0.5)["free/matched"] == pytest.approx(0.5)
    assert scores(seen, 0.5)["free/matched_goal"] == pytest.approx(11 / 12)


def test_the_worst_frames_are_drawn():
    seen = episode()
    seen.objects.what[0, 3, [0, HAND]] = seen.objects.what[0, 3, [HAND, 0]]
    sheet = worst_frames(seen, 0.5, count=2)
    assert sheet.dtype == np.uint8
    assert (sheet == (255, 140, 0)).all(-1).any(), "what is taken for the puck is marked"


class _Looking:
    """Sees nothing, but what it is shown is looked at."""

    def __init__(self) -> None:
        self.pictures: list[np.ndarray] = []
        self.layout = GroundTruthObjects(2).layout

    def init(self, batch: int) -> None:
        return None

    def step(self, carry, observation, actions):
        self.pictures.append(observation)
        return None, self.encode_goal(observation)

    def encode_goal(self, observation) -> ObjectSet:
        shape, none = (len(observation), 1), np.zeros((len(observation), 1, 0))
        return ObjectSet(none, np.zeros((*shape, 2)), none, none, np.zeros(shape, bool))


def test_pucks_are_really_pushed_and_episodes_repeat():
    one, two = _Looking(), _Looking()
    seen = record(one, "smorl/VisualRearrange1-v0", 2, seed=5, steps=14)
    assert seen.moved.sum() > 0.02
    assert (np.abs(seen.pucks) < 1).all()
    again = record(two, "smorl/VisualRearrange1-v0", 2, seed=5, steps=14, num_envs=1)
    assert np.array_equal(seen.images, again.images)
    assert scores(replace(seen), 0.5)["first_found"] == 0


def test_too_few_steps_are_refused():
    with pytest.raises(InvalidInput, match="steps=1"):
        record(_Looking(), "smorl/VisualRearrange1-v0", 1, 0, steps=1)
