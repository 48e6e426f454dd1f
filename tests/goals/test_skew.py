"""Skew-Fit's weights against densities with known answers: a linear Gaussian model."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from smorl.errors import Diverged, InvalidInput
from smorl.goals.skew import (
    RELEASE_SKEW,
    SkewConfig,
    candidates,
    effective_count,
    log_importance,
    power_for,
    skew_at,
    skewed_weights,
    weights_of,
)


class Linear:
    """x = slope z + noise of a variance, z ~ Normal(0, 1): p(x) and the posterior are known.

    `mistake` multiplies the posterior's variance, which makes q(z | x) wrong.
    """

    slope, variance = 2.0, 0.5

    def __init__(self, mistake: float = 1.0) -> None:
        self.mistake = mistake

    @property
    def deviation(self) -> float:
        return math.sqrt(self.slope**2 + self.variance)

    def prepare(self, images):
        return torch.from_numpy(images)

    def posterior(self, pictures):
        precision = 1 + self.slope**2 / self.variance
        mean = self.slope / self.variance / precision * pictures
        return mean, torch.full_like(mean, math.log(self.mistake / precision))

    def log_likelihood(self, pictures, latents, variance=None):
        used = self.variance if variance is None else variance
        decoder = torch.distributions.Normal(self.slope * latents, math.sqrt(used))
        return decoder.log_prob(pictures.expand_as(latents)).sum(-1)

    def log_density(self, x):
        return stats.norm(0, self.deviation).logpdf(x)[:, 0]


def generator(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def observations(count, seed=0):
    return np.random.default_rng(seed).normal(0, Linear().deviation, (count, 1))


@pytest.mark.parametrize("estimator", ["importance", "bound"])
def test_with_the_true_posterior_one_sample_gives_the_density(estimator):
    x = observations(700)
    config = SkewConfig(samples=1, estimator=estimator)
    found = log_importance(Linear(), x, config, generator())
    np.testing.assert_allclose(found, Linear().log_density(x), atol=1e-6)


def test_with_a_wrong_posterior_more_samples_help_importance_but_not_the_bound():
    model, x = Linear(mistake=1.8), observations(300)
    gap = -0.5 * (math.log(1.8) + 1 - 1.8)  # KL of q from the posterior: means agree
    errors = {}
    for estimator in ("importance", "bound"):
        config = SkewConfig(samples=400, estimator=estimator)
        found = log_importance(model, x, config, generator())
        errors[estimator] = (found - model.log_density(x)).mean()
    assert errors["bound"] == pytest.approx(-gap, abs=0.01)
    assert abs(errors["importance"]) < 0.005


def test_the_decoder_variance_in_use_is_the_models_own():
    # With another variance the ratio is no longer constant, and the answer is another density's.
    x = observations(50)
    own = log_importance(Linear(), x, SkewConfig(samples=50), generator())
    same = log_importance(Linear(), x, SkewConfig(samples=50, variance=0.5), generator())
    other = log_importance(Linear(), x, RELEASE_SKEW, generator())
    np.testing.assert_array_equal(own, same)
    assert np.abs(other - own).max() > 0.1


def test_no_power_is_uniform():
    x = observations(40)
    for config in (SkewConfig(power=0.0), None):
        weights = skewed_weights(Linear(), x, config, generator())
        np.testing.assert_array_equal(weights, np.full(40, 1 / 40))
    np.testing.assert_array_equal(weights_of(np.array([-5.0, -9e9]), 0.0), [0.5, 0.5])


def test_power_minus_one_makes_the_seen_uniform():
    x, model = observations(20_000), Linear()
    weights = skewed_weights(model, x, SkewConfig(power=-1.0, samples=2), generator())
    edges = np.linspace(-2, 2, 9) * model.deviation
    counts, _ = np.histogram(x, edges)
    assert counts.max() > 3 * counts.min()
    mass, _ = np.histogram(x, edges, weights=weights[:, None])
    np.testing.assert_allclose(mass / mass.mean(), np.ones(8), atol=0.1)


def test_power_one_half_doubles_the_variance():
    # p^(1 - 1/2) of a Normal is a Normal of twice the variance.
    x, model = observations(40_000), Linear()
    weights = skewed_weights(model, x, SkewConfig(samples=2), generator())
    assert (weights * x[:, 0] ** 2).sum() == pytest.approx(2 * model.deviation**2, rel=0.1)
    rare, common = np.abs(x[:, 0]).argmax(), np.abs(x[:, 0]).argmin()
    ratio = model.log_density(x[[common]]) - model.log_density(x[[rare]])
    assert weights[rare] / weights[common] == pytest.approx(math.exp(0.5 * ratio[0]), rel=1e-4)


def test_extreme_densities_neither_overflow_nor_lose_the_sum():
    log_density = np.array([-4_000.0, -4_001.0, -90_000.0, 2e6])
    with np.errstate(over="raise", invalid="raise"):
        weights = weights_of(log_density, -1.0)
    np.testing.assert_allclose(weights, [0, 0, 1, 0], atol=1e-300)
    flat = weights_of(np.full(1000, -1e7), -0.5)
    np.testing.assert_allclose(flat, np.full(1000, 1e-3))
    assert weights_of(np.float32([-4_000, -4_002]), -0.5).dtype == np.float64


def test_weights_do_not_depend_on_a_constant_of_the_log_density():
    log_density = np.random.default_rng(0).normal(size=30)
    a, b = weights_of(log_density, -0.5), weights_of(log_density - 7_000, -0.5)
    np.testing.assert_allclose(a, b, rtol=1e-9)


def test_the_same_generator_gives_the_same_weights():
    x, config = observations(130), SkewConfig(samples=9)
    model = Linear(mistake=1.5)
    a, b = (skewed_weights(model, x, config, generator(3)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, skewed_weights(model, x, config, generator(4)))


def test_effective_count():
    assert effective_count(np.full(8, 1 / 8)) == pytest.approx(8)
    assert effective_count(np.array([1.0, 0, 0])) == 1


def test_the_power_is_weakened_until_enough_pictures_stay_effective():
    x, model = observations(500), Linear()
    strong = SkewConfig(power=-1.0, samples=1)
    plain = skewed_weights(model, x, strong, generator())
    assert effective_count(plain) < 50
    spread = replace(strong, spread=0.3)
    weights = skewed_weights(model, x, spread, generator())
    assert effective_count(weights) == pytest.approx(150, rel=1e-3)
    # It is still a power of the density, only a weaker one.
    power = power_for(model.log_density(x), -1.0, 0.3)
    assert -1 < power < 0
    np.testing.assert_allclose(weights, weights_of(model.log_density(x), power), rtol=1e-3)
    loose = skewed_weights(model, x, replace(strong, spread=1e-3), generator())
    np.testing.assert_array_equal(loose, plain)


def test_skew_starts_later_and_looks_at_some_pictures():
    config = SkewConfig(after=100, pictures=5)
    assert skew_at(None, 10**6) is None
    assert skew_at(config, 99) is None
    assert skew_at(config, 100) is config
    rng = np.random.default_rng(0)
    index = candidates(50, config, rng)
    assert len(index) == 5
    assert np.all(np.diff(index) > 0)
    assert index.max() < 50
    np.testing.assert_array_equal(candidates(4, config, rng), np.arange(4))
    np.testing.assert_array_equal(candidates(7, None, rng), np.arange(7))


@pytest.mark.parametrize(
    "bad",
    [{"power": 0.5}, {"power": -2.0}, {"power": math.nan}, {"samples": 0}, {"variance": 0.0},
     {"variance": math.inf}, {"after": -1}, {"pictures": 0}, {"spread": 1.5},
     {"estimator": "mean"}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        SkewConfig(**bad)


def test_a_diverged_model_and_no_pictures_are_said():
    with pytest.raises(Diverged, match="1 of 2 pictures"):
        weights_of(np.array([0.0, math.nan]), -0.5)
    with pytest.raises(InvalidInput, match="at least one picture"):
        skewed_weights(Linear(), np.zeros((0, 1)), None, generator())
