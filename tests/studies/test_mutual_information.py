"""Mutual information on channels with a known answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smorl.errors import InvalidInput
from smorl.studies.mutual_information import (
    discretise,
    entropy,
    mutual_information,
    mutual_information_gap,
)


def grid(*sizes):
    """Every combination of levels once: columns that are independent to the last count."""
    axes = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], 1)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_bins_are_equally_wide_and_hold_everything():
    values = np.array([[0.0, 5], [0.49, 5], [0.51, 5], [1.0, 5]])
    assert discretise(values, 2)[:, 0].tolist() == [0, 0, 1, 1]
    assert discretise(values, 2)[:, 1].tolist() == [0, 0, 0, 0], "a constant has one bin"
    counts = np.bincount(discretise(np.linspace(-3, 7, 2000)[:, None])[:, 0])
    assert counts.tolist() == [100] * 20


def test_entropy_of_known_distributions():
    symbols = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 1]])
    expected = [np.log(4), 0, 0.75 * np.log(4 / 3) + 0.25 * np.log(4)]
    assert entropy(symbols) == pytest.approx(expected)


def test_a_copy_knows_everything_and_others_nothing():
    factors = grid(20, 20)
    found = mutual_information_gap(-3.0 * factors + 1, factors)
    assert found.entropy == pytest.approx(np.log(20))
    assert found.matrix == pytest.approx(np.log(20) * np.eye(2), abs=1e-12)
    assert found.mig == pytest.approx(1)


def test_copies_in_any_order_beside_useless_codes():
    factors = grid(20, 20, 3)
    codes = factors[:, [1, 2, 0]].astype(float)
    assert mutual_information_gap(codes, factors[:, :2]).mig == pytest.approx(1)


def test_two_copies_of_a_factor_leave_no_gap():
    factors = grid(20, 20)
    codes = factors[:, [0, 0, 1, 1]]
    assert mutual_information_gap(codes, factors).mig == pytest.approx(0, abs=1e-12)


def test_a_binary_channel_with_errors():
    """A symmetric channel that errs with p has ln 2 - H(p)."""
    sent = np.repeat([0, 1], 1000)
    received = np.concatenate([np.repeat([0, 1], [900, 100]), np.repeat([1, 0], [900, 100])])
    noise = -0.1 * np.log(0.1) - 0.9 * np.log(0.9)
    found = mutual_information_gap(received[:, None], sent[:, None])
    assert found.matrix[0, 0] == pytest.approx(np.log(2) - noise)
    assert found.mig == pytest.approx(1 - noise / np.log(2))


@pytest.mark.parametrize("levels", [2, 4, 5, 10])
def test_a_coarse_copy_knows_the_levels_it_has(levels):
    factor = np.arange(2000)[:, None]
    code = factor * levels // 2000
    assert mutual_information_gap(code, factor).matrix[0, 0] == pytest.approx(np.log(levels))


def test_a_rotation_by_45_degrees_has_no_gap():
    """Both codes know the same of both factors, whatever that is."""
    x, y = (2 * grid(60, 60) / 59 - 1).T
    rotated = np.stack([x + y, x - y], 1) / np.sqrt(2)
    found = mutual_information_gap(rotated, np.stack([x, y], 1))
    assert found.mig == pytest.approx(0, abs=1e-3)
    assert found.matrix.min() > 0.2, "though both codes know something"


def test_a_rotation_opens_the_gap_as_it_ends():
    plane = 2 * grid(60, 60) / 59 - 1

    def mig(degrees):
        a = np.radians(degrees)
        turned = plane @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        return mutual_information_gap(turned, plane).mig

    values = [mig(d) for d in (45, 30, 15, 5, 0)]
    assert values == sorted(values)
    assert values[-1] > 0.99


def test_correlated_normals():
    """-ln(1 - r^2) / 2 for two normals of correlation r; bins lose a little of it."""
    a, b = rng().normal(size=(2, 200_000))
    code = 0.9 * a + np.sqrt(1 - 0.81) * b
    found = mutual_information_gap(code[:, None], a[:, None], bins=40).matrix[0, 0]
    exact = -np.log(1 - 0.81) / 2
    assert 0.9 * exact < found <= exact


def test_independent_codes_know_what_chance_gives_them():
    """Counting has a bias: (bins - 1)^2 / (2 M) of M samples of independent uniform numbers."""
    codes, factors = rng(1).uniform(size=(10_000, 4)), rng(2).uniform(size=(10_000, 4))
    found = mutual_information_gap(codes, factors)
    assert found.matrix.mean() == pytest.approx(19**2 / 20_000, rel=0.1)
    assert found.mig < 0.003


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 6), st.integers(2, 6))
def test_information_is_symmetric_and_bounded(seed, d, k):
    one, other = rng(seed).integers(d, size=(30, 2)), rng(seed + 1).integers(k, size=(30, 3))
    found = mutual_information(one, other)
    assert found == pytest.approx(mutual_information(other, one).T)
    assert (found >= -1e-9).all()
    bound = np.minimum(entropy(one)[:, None], entropy(other)[None])
    assert (found <= bound + 1e-9).all()


def test_mistakes_are_named():
    with pytest.raises(InvalidInput, match="never vary"):
        mutual_information_gap(np.eye(3), np.ones((3, 1)))
    with pytest.raises(InvalidInput, match="finite"):
        discretise([[np.nan]])
    with pytest.raises(InvalidInput, match="bins"):
        discretise([[1.0]], bins=1)
    with pytest.raises(InvalidInput, match="same frames"):
        mutual_information_gap(np.eye(3), np.eye(4))
