"""What may be said about a method from a few seeds: robust means, intervals, comparisons.

Scores are arrays (seeds, episodes), metres if they are distances. Row i is one trained agent,
column j one fixed evaluation episode, the same for every seed and for every method compared.
A stratum is one such array; a claim over several tasks has one stratum per task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from scipy.stats import trim_mean

from smorl.errors import InvalidInput

Scores = NDArray[np.float64]
RESAMPLES = 2000
CONFIDENCE = 0.95
_CHUNK = 200  # resamples held in memory at once


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """The numbers of one claim; `deviation` is over the seeds' means, as in the paper."""

    mean: float
    deviation: float
    iqm: Interval
    seeds: int
    episodes: int


def interquartile_mean(scores: ArrayLike, axis: int | None = None) -> Any:
    """Mean of the middle half of all scores: a quarter is cut off at either end."""
    values = np.asarray(scores, np.float64)
    return trim_mean(values.ravel(), 0.25) if axis is None else trim_mean(values, 0.25, axis)


def summarise(
    strata: Sequence[ArrayLike], rng: np.random.Generator, resamples: int = RESAMPLES
) -> Summary:
    """Mean, standard deviation over seeds, interquartile mean with its 95 % interval.

    With several strata the deviation is of what seed i does on average over the strata, so they
    need equally many seeds; every stratum weighs as many scores as it has.
    """
    arrays = _checked(strata)
    counts = {len(array) for array in arrays}
    if len(counts) > 1:
        raise InvalidInput(
            f"strata with {sorted(counts)} seeds cannot be summarised together; use the seeds "
            "that all of them have."
        )
    by_seed = np.concatenate(arrays, axis=1).mean(axis=1)
    return Summary(
        mean=float(by_seed.mean()),
        deviation=float(by_seed.std()),
        iqm=bootstrap(arrays, interquartile_mean, rng, resamples),
        seeds=len(by_seed),
        episodes=sum(array.shape[1] for array in arrays),
    )


def bootstrap(
    strata: Sequence[ArrayLike],
    statistic: Callable[..., Any],
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return `statistic` of all scores with its stratified bootstrap percentile interval.

    `statistic` takes an array and an `axis`, as `numpy.mean` and `interquartile_mean` do.

    Within every stratum seeds are drawn with replacement, and episodes are too. A seed keeps its
    whole row and an episode its whole column: one agent plays all the episodes, and a hard episode
    is hard for every agent. Drawing seeds anew for every episode, as is right where each score has
    a training of its own, would take these scores for independent and the interval would be far
    too narrow. (scipy.stats.bootstrap cannot draw rows and columns together.)
    """
    arrays = _checked(strata)
    _check_draws(resamples, confidence)
    found = []
    for size in _chunks(resamples):
        drawn = [_redraw(array, *_draws(array.shape, size, rng)) for array in arrays]
        pooled = np.concatenate([part.reshape(size, -1) for part in drawn], axis=1)
        found.append(statistic(pooled, axis=1))
    whole = statistic(np.concatenate([array.ravel() for array in arrays]), axis=0)
    return _interval(float(whole), np.concatenate(found), confidence)


def probability_of_improvement(
    ours: ArrayLike, theirs: ArrayLike, *, lower_is_better: bool
) -> float:
    """How likely a seed of ours beats a seed of theirs on the same episode; ties count half.

    Both have the same episodes, but may differ in their number of seeds. It is shown beside a
    difference and decides nothing: its intervals are not to be had for so few seeds.
    """
    mine, other = _checked_pair(ours, theirs)
    wins = (np.sign(other[None] - mine[:, None]) + 1) / 2  # (our seeds, their seeds, episodes)
    return float(wins.mean() if lower_is_better else 1 - wins.mean())


def mean_difference(
    ours: ArrayLike,
    theirs: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    trained: tuple[bool, bool] = (True, True),
) -> Interval:
    """Ours minus theirs, in the unit of the scores, with a t interval made for few seeds.

    The variance has up to three parts: of the seeds' means on either side, over the number of
    seeds, and of the difference over the episodes both share, over their number. The degrees of
    freedom are Welch's and Satterthwaite's. What is not `trained`, such as doing nothing, has no
    seeds to vary; a single episode is a number per seed and has no spread of its own. One trained
    seed says nothing of others: its interval is all numbers. How often such intervals are wrong:
    `smorl study calibration`.
    """
    mine, other = _checked_pair(ours, theirs)
    if not 0 < confidence < 1:
        raise InvalidInput(f"confidence={confidence}; use a share in (0, 1).")
    difference = mine.mean(axis=0) - other.mean(axis=0)
    parts = [
        (array.mean(axis=1), len(array))
        for array, has_seeds in zip((mine, other), trained, strict=True)
        if has_seeds
    ]
    value = float(difference.mean())
    if any(count < 2 for _, count in parts):
        return Interval(value, -np.inf, np.inf)
    if len(difference) > 1:
        parts.append((difference, len(difference)))
    shares = np.array([values.var(ddof=1) / count for values, count in parts])
    freedom = np.array([count - 1 for _, count in parts])
    total = shares.sum()
    if total == 0:
        return Interval(value, value, value)
    degrees = total**2 / (shares**2 / freedom).sum()
    width = float(stdtrit(degrees, (1 + confidence) / 2) * np.sqrt(total))  # Student's quantile
    return Interval(value, value - width, value + width)


def _checked_pair(ours: ArrayLike, theirs: ArrayLike) -> tuple[Scores, Scores]:
    (mine,), (other,) = _checked([ours]), _checked([theirs])
    if mine.shape[1] != other.shape[1]:
        shapes = f"{mine.shape} and {other.shape}"
        raise InvalidInput(f"scores of shapes {shapes}: evaluate both on the same episodes.")
    return mine, other


def _draws(
    shape: tuple[int, ...], size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    seeds, episodes = shape
    return rng.integers(seeds, size=(size, seeds)), rng.integers(episodes, size=(size, episodes))


def _redraw(array: Scores, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Scores:
    return array[rows[:, :, None], columns[:, None, :]]


def _chunks(total: int) -> Iterator[int]:
    while total > 0:
        yield min(total, _CHUNK)
        total -= _CHUNK


def _interval(value: float, found: Scores, confidence: float) -> Interval:
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high))


def _checked(strata: Sequence[ArrayLike]) -> list[Scores]:
    arrays = [np.asarray(stratum, np.float64) for stratum in strata]
    if not arrays:
        raise InvalidInput("no scores to summarise; give one array (seeds, episodes) per task.")
    for array in arrays:
        if array.ndim != 2 or not array.size:
            raise InvalidInput(f"scores of shape {array.shape}; they must be (seeds, episodes).")
        if not np.isfinite(array).all():
            raise InvalidInput("scores hold NaN or infinity; leave out runs that did not finish.")
    return arrays


def _check_draws(resamples: int, confidence: float) -> None:
    if resamples < 1 or not 0 < confidence < 1:
        raise InvalidInput(
            f"resamples={resamples}, confidence={confidence}; use at least 1 and a share in (0, 1)."
        )
