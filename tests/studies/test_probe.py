"""What a code knows of places, read by its nearest neighbours in other episodes."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.studies.probe import probe_errors


def places(episodes=60, frames=5):
    return np.random.default_rng(0).uniform(-0.2, 0.2, (episodes, frames, 2, 2))


def test_what_is_in_the_code_is_found_however_it_is_scaled_and_what_is_not_is_not():
    truth = places()
    code = np.concatenate([1e3 * truth[:, :, 0], np.full((60, 5, 1), 7.0)], -1)  # of one puck only
    error, blind = probe_errors(code, truth)
    assert error[0] < 0.2 * blind[0]
    assert error[1] > 0.9 * blind[1]
    assert blind == pytest.approx([0.153, 0.153], abs=0.015)  # of a square of 40 cm


def test_frames_of_an_episode_do_not_answer_for_each_other():
    """Codes that only name the episode know nothing of places in others."""
    truth = np.repeat(places(frames=1), 5, 1)
    names = np.repeat(np.random.default_rng(1).normal(size=(60, 1, 3)), 5, 1)
    error, blind = probe_errors(names, truth)
    assert (error > 0.8 * blind).all()


def test_one_episode_is_too_few():
    with pytest.raises(InvalidInput, match=r"1 episodes.*at least 2"):
        probe_errors(np.zeros((1, 3, 2)), places(1, 3))
