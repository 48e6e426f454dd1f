"""Imagined episodes: what the model is shown, what it must invent, and how it is drawn."""

from types import SimpleNamespace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.evaluation.detection import HELD_OUT
from smorl.representations.video import episode_plan
from smorl.studies.imagination import (
    Imagination,
    imagination_film,
    imagination_panel,
    imagine,
)

ENV = "smorl/VisualRearrange1-v0"


class Dreamer:
    """A tracker that remembers what it saw and imagines grey pictures, brighter by action."""

    def __init__(self):
        self.asked = None

    def init(self, batch):
        return SimpleNamespace(state=[])

    def step(self, carry, observation, actions):
        return SimpleNamespace(state=[*carry.state, (observation, actions)]), None

    def draw(self, carry):
        return SimpleNamespace(reconstruction=np.float32(carry.state[-1][0] / 255))

    def imagine(self, carry, actions):
        self.asked = carry.state, actions
        shape = (*actions.shape[:2], 64, 64, 3)
        return np.clip(np.full(shape, 0.5) + actions[..., :1, None, None], 0, 1)


def test_the_model_sees_the_first_frames_and_is_told_the_actions_that_follow():
    model = Dreamer()
    dream = imagine(model, ENV, steps=3, episodes=2, seed=4, observed=2)
    state, actions = model.asked
    assert len(state) == 2
    for episode in range(2):
        planned = episode_plan(4, episode, 4, 2, purpose=HELD_OUT)[1]
        np.testing.assert_array_equal(state[1][1][episode], planned[1])
        np.testing.assert_array_equal(actions[episode], planned[2:])
    assert dream.images.shape == dream.pictures.shape == (2, 5, 64, 64, 3)
    np.testing.assert_allclose(dream.pictures[:, :2] * 255, dream.images[:, :2], atol=1e-3)
    wanted = np.clip(0.5 + actions[:, :, 0], 0, 1)
    np.testing.assert_allclose(dream.pictures[:, 2:].mean((2, 3, 4)), wanted, atol=1e-6)
    assert not np.array_equal(dream.images[:, 1], dream.images[:, 4])


def make_dream(episodes=2, frames=7, observed=3) -> Imagination:
    """What happens gets brighter with time; the model imagines it 0.1 too bright."""
    images = np.zeros((episodes, frames, 64, 64, 3), np.uint8)
    images += (10 * np.arange(frames, dtype=np.uint8))[:, None, None, None]
    return Imagination(images, np.float32(images / 255 + 0.1), observed)


def test_errors_are_of_imagined_frames_alone():
    error, still = make_dream().errors()
    assert error == pytest.approx(0.01, rel=1e-4)
    assert still == pytest.approx(np.mean([(10 * k / 255) ** 2 for k in (1, 2, 3, 4)]), rel=1e-4)


def test_the_panel_has_two_rows_per_episode_and_the_last_seen_frame():
    dream = make_dream()
    picture = imagination_panel(dream, every=3, zoom=1)
    columns = 2  # frames 2 and 5
    assert columns * 64 < picture.shape[1] < columns * 64 + 40
    assert 4 * 64 < picture.shape[0] < 4 * 64 + 50
    first = picture[-(4 * 64 + 8) :, -(2 * 64 + 4) :]  # without labels
    assert first[32, 32].tolist() == [20, 20, 20]
    assert first[32, 64 + 4 + 32].tolist() == [50, 50, 50]
    assert first[64 + 32, 32].tolist() == [46, 46, 46]  # 20 and a tenth of 255
    grey, blue = first[64, 32], first[64, 64 + 4 + 32]
    assert len(set(grey.tolist())) == 1
    assert blue[2] > blue[0]
    with pytest.raises(InvalidInput, match="zoom=0"):
        imagination_panel(dream, zoom=0)


def test_the_film_shows_every_frame():
    frames = list(imagination_film(make_dream(episodes=3), zoom=1))
    assert len(frames) == 7
    assert frames[0].shape[1] == 3 * 64 + 2 * 4


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 1, "episodes": 0}])
def test_nothing_to_imagine_is_refused(wrong):
    with pytest.raises(InvalidInput, match="1 or more"):
        imagine(Dreamer(), ENV, **wrong)
