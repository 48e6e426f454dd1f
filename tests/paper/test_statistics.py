"""Statistics against closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smorl.errors import InvalidInput
from smorl.paper.statistics import (
    bootstrap,
    interquartile_mean,
    mean_difference,
    probability_of_improvement,
    summarise,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_interquartile_mean_cuts_a_quarter_at_either_end():
    assert interquartile_mean([[100, 2, 3, -50]]) == 2.5
    assert interquartile_mean(np.arange(8)) == 3.5
    assert interquartile_mean([1, 2, 3, 1000]) == 2.5, "an outlier does not count"
    assert interquartile_mean([7]) == 7


def test_interquartile_mean_of_a_known_distribution():
    # The middle half of an exponential: E[X; q1 < X < q3] / (1/2), in closed form.
    q1, q3 = np.log(4 / 3), np.log(4)
    expected = 2 * ((q1 + 1) * 3 / 4 - (q3 + 1) / 4)
    points = -np.log1p(-(np.arange(40_000) + 0.5) / 40_000)
    assert interquartile_mean(points) == pytest.approx(expected, rel=1e-4)


def test_summary_has_mean_and_deviation_over_seeds():
    found = summarise([[[1, 3], [4, 6]]], rng(), resamples=10)
    assert (found.mean, found.deviation) == (3.5, 1.5), "seeds have means 2 and 5"
    assert (found.seeds, found.episodes) == (2, 2)
    both = summarise([[[1, 3], [4, 6]], [[0], [8]]], rng(), resamples=10)
    assert both.mean == pytest.approx(22 / 6)
    assert both.episodes == 3


@pytest.mark.parametrize("axis", [0, 1])
def test_the_unit_of_chance_is_the_seed_and_the_episode(axis):
    """If only seeds differ, all 27 draws of 3 seeds give the exact distribution; so do episodes."""
    values = np.array([0.0, 1.0, 5.0])
    scores = np.repeat(values[:, None], 40, 1)
    scores = scores if axis == 0 else scores.T
    draws = [np.mean(d) for d in itertools.product(values, repeat=3)]
    found = bootstrap([scores], np.mean, rng(), resamples=6000, confidence=0.8)
    assert found.value == pytest.approx(2)
    assert found.low == pytest.approx(np.quantile(draws, 0.1))
    assert found.high == pytest.approx(np.quantile(draws, 0.9))


def test_variances_of_seeds_and_episodes_add():
    seeds, episodes = rng(1).normal(size=(6, 1)), rng(2).normal(size=(1, 50))
    expected = seeds.var() / 6 + episodes.var() / 50
    found = bootstrap([seeds + episodes], np.mean, rng(), resamples=4000, confidence=0.6827)
    assert (found.high - found.low) / 2 == pytest.approx(np.sqrt(expected), rel=0.06)


def test_strata_are_drawn_within_themselves():
    """A stratum never lends its scores to another: a constant difference has no spread."""
    found = bootstrap([np.zeros((3, 5)), np.full((3, 5), 10.0)], np.mean, rng(), resamples=200)
    assert (found.value, found.low, found.high) == (5, 5, 5)


def test_an_interval_covers_as_often_as_it_says():
    """Of many experiments with 8 seeds about 95 % have the truth in their interval, not 60 %."""
    source, hits = rng(3), 0
    for _ in range(100):
        scores = source.normal(size=(8, 1)) + 0.5 * source.normal(size=(8, 20))
        found = bootstrap([scores], np.mean, source, resamples=200)
        hits += found.low <= 0 <= found.high
    assert 82 <= hits <= 100


def test_the_same_generator_gives_the_same_interval():
    scores = rng(4).normal(size=(3, 30))
    one, two, other = (summarise([scores], rng(s), resamples=300).iqm for s in (5, 5, 6))
    assert one == two
    assert (one.low, one.high) != (other.low, other.high)
    assert one.low <= one.value <= one.high


def test_improvement_by_hand():
    ours, theirs = [[1.0, 2.0]], [[2.0, 2.0], [0.0, 3.0]]
    found = probability_of_improvement(ours, theirs, lower_is_better=True)
    assert found == pytest.approx((1 + 0.5 + 0 + 1) / 4)


def test_improvement_of_shifted_normals():
    """P(X < Y) of unit normals whose means differ by d is Phi(d / sqrt 2)."""
    from scipy.stats import norm

    ours, theirs = rng(1).normal(size=(40, 200)), rng(2).normal(1, size=(40, 200))
    found = probability_of_improvement(ours, theirs, lower_is_better=True)
    assert found == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.01)


def test_improvement_compares_on_the_same_episode():
    """Hard episodes are hard for both: ours is always a little better, whatever the episode."""
    hard = rng(1).normal(0, 100, size=(1, 60))
    ours, theirs = hard + np.zeros((2, 1)), hard + np.ones((3, 1))
    assert probability_of_improvement(ours, theirs, lower_is_better=True) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 100))
def test_improvement_is_symmetric(a, b, episodes, seed):
    source = rng(seed)
    ours, theirs = source.integers(4, size=(a, episodes)), source.integers(4, size=(b, episodes))

    def ask(one, two, lower):
        return probability_of_improvement(one, two, lower_is_better=lower)

    assert ask(ours, theirs, True) + ask(theirs, ours, True) == pytest.approx(1)
    assert ask(ours, theirs, True) + ask(ours, theirs, False) == pytest.approx(1)
    assert ask(ours, ours, True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("strata", "word"),
    [([], "no scores"), ([[1.0, 2.0]], "shape"), ([[[1.0, np.nan]]], "NaN"), ([[[]]], "shape")],
)
def test_mistakes_are_named(strata, word):
    with pytest.raises(InvalidInput, match=word):
        summarise(strata, rng())


def test_conflicts_are_named():
    with pytest.raises(InvalidInput, match="same episodes"):
        probability_of_improvement([[1, 2]], [[1]], lower_is_better=True)
    with pytest.raises(InvalidInput, match="seeds"):
        summarise([[[1.0]], [[1.0], [2.0]]], rng())
    with pytest.raises(InvalidInput, match="confidence"):
        bootstrap([[[1.0]]], np.mean, rng(), confidence=95)


def test_the_mean_difference_is_paired_by_episode():
    # Episodes differ a lot and ours is everywhere 0.1 below: pairing leaves no doubt of it.
    episodes = np.linspace(0, 10, 40)
    found = mean_difference([episodes - 0.1] * 2, [episodes] * 3)
    assert (found.value, found.low, found.high) == pytest.approx((-0.1, -0.1, -0.1))


def test_the_difference_of_models_is_welchs_t():
    """One number per model and no episodes: what scipy says."""
    from scipy.stats import ttest_ind

    ours, theirs = rng(1).normal(size=(3, 1)), rng(2).normal(1, 3, size=(5, 1))
    found = mean_difference(ours, theirs, 0.9)
    known = ttest_ind(ours[:, 0], theirs[:, 0], equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))


def test_doing_nothing_varies_with_the_episodes_alone():
    episodes = rng(1).normal(size=(1, 400))
    seeds = rng(2).normal(size=(4, 1))
    found = mean_difference(episodes + 0 * seeds, np.zeros((1, 400)), trained=(True, False))
    width = 1.966 * episodes.std(ddof=1) / 20  # Student's, 399 degrees of freedom
    assert found.low == pytest.approx(episodes.mean() - width, abs=1e-3)
    wider = mean_difference(episodes + seeds, np.zeros((1, 400)), trained=(True, False))
    variance = seeds.var(ddof=1) / 4 + episodes.var(ddof=1) / 400
    degrees = variance**2 / ((seeds.var(ddof=1) / 4) ** 2 / 3)
    assert 3 < degrees < 4
    assert 2.776 < (wider.high - wider.value) / np.sqrt(variance) < 3.182  # of 4 and 3 degrees


def test_one_trained_seed_says_nothing_of_others():
    found = mean_difference(np.ones((1, 9)), np.zeros((3, 9)))
    assert (found.value, found.low, found.high) == (1, -np.inf, np.inf)


def test_mistakes_of_differences_are_named():
    with pytest.raises(InvalidInput, match="same episodes"):
        mean_difference(np.zeros((2, 4)), np.zeros((2, 5)))
    with pytest.raises(InvalidInput, match="share"):
        mean_difference(np.zeros((2, 4)), np.zeros((2, 4)), 95)
