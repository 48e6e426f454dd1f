"""Where goals come from before a run has seen anything itself."""

from dataclasses import replace

import numpy as np

from smorl.envs.rendering.cameras import get_camera, unproject
from smorl.goals.priors import FittedPrior, NormalPrior, UniformPrior
from smorl.presets import get_preset
from smorl.representations.perceptions import load_perception
from smorl.training.initial_prior import initial_prior
from smorl.types import ObjectLayout

VISUAL = get_preset("visual-rearrange-1").build()
LAYOUT = ObjectLayout(slots=4, what=8, scale=2, depth=2)


def test_each_method_starts_from_its_own_prior():
    shipped = load_perception("shipped:scalor-1")
    assert isinstance(initial_prior(VISUAL, LAYOUT, shipped), FittedPrior)
    plain = get_preset("gt-rearrange-2").build()
    assert isinstance(initial_prior(plain, ObjectLayout(3, 3), None), UniformPrior)
    latent = get_preset("debug-rig").build()
    assert isinstance(initial_prior(latent, ObjectLayout(1, 0, position=4), None), NormalPrior)


def test_a_vector_of_all_objects_gets_a_box_for_each():
    config = get_preset("sac-rearrange-2").build()
    prior = initial_prior(config, ObjectLayout(1, 0, position=6), None)
    np.testing.assert_allclose(prior.box()[0], np.tile(config.goals.low, 3))


def test_the_true_prior_on_pixels_is_the_goal_box_seen_by_the_camera():
    config = replace(VISUAL, goals=replace(VISUAL.goals, prior="uniform"))
    prior = initial_prior(config, LAYOUT, load_perception("shipped:scalor-1"))
    places = prior.sample(np.zeros((3000, 8), np.float32), np.random.default_rng(0))
    table = unproject(places, get_camera("zoomed_in"))[..., :2]
    low, high = np.array(config.goals.low), np.array(config.goals.high)
    assert np.all(table > low - 1e-3)
    assert np.all(table < high + 1e-3)
    np.testing.assert_allclose(table.mean(0), (low + high) / 2, atol=0.01)
    np.testing.assert_allclose(table.std(0), (high - low) / np.sqrt(12), atol=0.01)
