"""Priors over places: densities, supports, round trips."""

import numpy as np
import pytest

from smorl.errors import DamagedFile, InvalidInput
from smorl.goals.priors import (
    EmpiricalPrior,
    FittedPrior,
    NormalPrior,
    UniformPrior,
    from_arrays,
)


def two_clusters(count=2000, seed=0):
    """Object A lives around (-1, 0), object B in a strip x in [1, 2]."""
    rng = np.random.default_rng(seed)
    what = np.repeat(np.eye(2, dtype=np.float32), count, 0)
    what = what + 0.05 * rng.normal(size=what.shape).astype(np.float32)
    a = rng.normal((-1, 0), (0.1, 0.3), (count, 2))
    b = np.stack([rng.uniform(1, 2, count), rng.uniform(-0.1, 0.1, count)], 1)
    return what, np.concatenate([a, b]).astype(np.float32)


def test_fitted_prior_depends_on_appearance():
    what, position = two_clusters()
    prior = FittedPrior.fit(what, position, 2, seed=0)
    rng = np.random.default_rng(1)
    a = prior.sample(np.tile(np.float32([[1, 0]]), (4000, 1)), rng)
    b = prior.sample(np.tile(np.float32([[0, 1]]), (4000, 1)), rng)
    np.testing.assert_allclose(a.mean(0), [-1, 0], atol=0.02)
    np.testing.assert_allclose(a.std(0), [0.1, 0.3], rtol=0.1)
    assert b[:, 0].min() >= 1
    assert b[:, 0].max() <= 2
    assert np.abs(b[:, 1]).max() <= 0.1
    np.testing.assert_allclose(b[:, 0].mean(), 1.5, atol=0.03)


def test_fitted_prior_is_deterministic_and_round_trips():
    what, position = two_clusters(200)
    prior = FittedPrior.fit(what, position, 2, seed=3)
    again = from_arrays(FittedPrior.fit(what, position, 2, seed=3).to_arrays())
    for seed in range(3):
        np.testing.assert_array_equal(
            prior.sample(what, np.random.default_rng(seed)),
            again.sample(what, np.random.default_rng(seed)),
        )
    low, high = prior.box()
    np.testing.assert_array_equal(low, position.min(0))
    np.testing.assert_array_equal(high, position.max(0))


def test_uniform_prior():
    what, position = two_clusters(200)
    prior = UniformPrior.fit(what, position)
    sample = prior.sample(np.zeros((5000, 2)), np.random.default_rng(0))
    np.testing.assert_allclose(sample.mean(0), (prior.low + prior.high) / 2, atol=0.05)
    assert (sample >= prior.low).all()
    assert (sample <= prior.high).all()
    again = from_arrays(prior.to_arrays())
    np.testing.assert_array_equal(
        again.sample(what, np.random.default_rng(0)), prior.sample(what, np.random.default_rng(0))
    )


def test_bad_inputs_are_refused():
    with pytest.raises(InvalidInput, match="at least one"):
        UniformPrior.fit(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(InvalidInput, match="clusters=9"):
        FittedPrior.fit(np.zeros((3, 2)), np.zeros((3, 2)), 9, 0)
    with pytest.raises(InvalidInput, match="low < high"):
        UniformPrior(np.float32([1, 0]), np.float32([0, 1]))
    with pytest.raises(InvalidInput, match="positive deviation"):
        NormalPrior(np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(InvalidInput, match="sum to 1"):
        EmpiricalPrior(np.zeros((2, 3)), np.ones(2))
    with pytest.raises(InvalidInput, match="as many"):
        EmpiricalPrior.uniform(np.zeros((0, 3)))
    with pytest.raises(DamagedFile):
        from_arrays({"centres": np.zeros(3)})
    with pytest.raises(DamagedFile):
        from_arrays({"latents": np.zeros((2, 3)), "weights": np.zeros(2)})


NOTHING = np.zeros((20_000, 0), np.float32)  # appearances of a flat state


def test_normal_prior_is_the_prior_of_a_vae():
    prior = NormalPrior.standard(4)
    sample = prior.sample(NOTHING, np.random.default_rng(0))
    assert sample.shape == (20_000, 4)
    assert sample.dtype == np.float32
    np.testing.assert_allclose(sample.mean(0), np.zeros(4), atol=0.03)
    np.testing.assert_allclose(np.cov(sample.T), np.eye(4), atol=0.05)
    low, high = NormalPrior(np.float32([1, 2]), np.float32([0.5, 3])).box()
    np.testing.assert_array_equal(low, [0, -4])
    np.testing.assert_array_equal(high, [2, 8])


def test_empirical_prior_draws_by_weight_and_nothing_else():
    latents = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    weights = np.array([0.0, 0.1, 0.6, 0.3, 0.0])
    sample = EmpiricalPrior(latents, weights).sample(NOTHING, np.random.default_rng(1))
    same = (sample[:, None] == latents[None]).all(-1)
    assert same.any(1).all()
    shares = same.mean(0)
    assert shares[0] == shares[4] == 0
    np.testing.assert_allclose(shares, weights, atol=0.02)
    low, high = EmpiricalPrior.uniform(latents).box()
    np.testing.assert_array_equal(low, latents.min(0))
    np.testing.assert_array_equal(high, latents.max(0))


@pytest.mark.parametrize(
    "prior",
    [
        NormalPrior(np.float32([1, -2]), np.float32([0.5, 3])),
        EmpiricalPrior.uniform(np.arange(14, dtype=np.float32).reshape(7, 2)),
    ],
)
def test_latent_priors_round_trip_and_repeat(prior):
    again = from_arrays(prior.to_arrays())
    assert type(again) is type(prior)
    a, b = (p.sample(NOTHING[:50], np.random.default_rng(2)) for p in (prior, again))
    np.testing.assert_array_equal(a, b)
