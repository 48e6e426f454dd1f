"""Priors over places: densities, supports, round trips."""

import numpy as np
import pytest

from smorl.errors import DamagedFile, InvalidInput
from smorl.goals.priors import FittedPrior, UniformPrior, from_arrays


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
    with pytest.raises(DamagedFile):
        from_arrays({"centres": np.zeros(3)})
