"""What the simulator tells metrics and studies."""

import numpy as np
import pytest

from smorl.envs.contract import truth_of
from smorl.envs.factory import make_envs
from smorl.envs.rendering.cameras import CAMERAS, project


@pytest.mark.parametrize("env", ["smorl/Rearrange2-v0", "smorl/VisualRearrange2-v0"])
def test_places_are_where_the_observation_shows_them(env):
    envs = make_envs(env, 2, 1)
    observation, info = envs.reset(seed=[1, 2])
    truth = truth_of(envs)
    np.testing.assert_array_equal(truth.objects, info["objects"])
    np.testing.assert_array_equal(truth.body, info["hand"])
    places, goals = truth.places(), truth.goal_places()
    assert places.shape == goals.shape == (2, 3, 2)
    if observation["observation"].ndim == 2:  # hand first in a state
        state = observation["observation"].reshape(2, 3, 2)
        np.testing.assert_allclose(places, state[:, [1, 2, 0]], atol=1e-6)
        assert truth.tolerance == 1e-3
    else:
        at = np.append(info["objects"][1, 0], 0.02)
        expected = project(at, CAMERAS["zoomed_in"])
        np.testing.assert_allclose(places[1, 0], expected, atol=0.02)
        assert truth.tolerance == pytest.approx(4 * 2 / 64)
        assert truth.segment().visible.shape == (2, 2)
    envs.close()
