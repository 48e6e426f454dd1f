"""Mutual information of codes and factors, and the mutual information gap (App. A.2).

Everything is discretised into equally wide bins and counted; entropies and mutual information are
in nats. Paper: as in the usual library of disentanglement scores, 20 bins, the true factors
discretised in the same way as the codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smorl.errors import InvalidInput

BINS = 20

Bins = NDArray[np.int64]
Nats = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """How well single codes stand for single factors.

    matrix (D, K): mutual information of D codes and K factors; entropy (K,) of the factors; gaps
    (K,): how much more the best code of a factor knows of it than the second best, as a share of
    its entropy; mig: their mean.
    """

    matrix: Nats
    entropy: Nats
    gaps: Nats
    mig: float


def discretise(values: ArrayLike, bins: int = BINS) -> Bins:
    """Put columns of values (M, D) into `bins` bins between their least and largest value.

    A constant column has only one bin.
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise InvalidInput(
            f"values of shape {values.shape}: discretising needs finite numbers (samples, columns)."
        )
    if bins < 2:
        raise InvalidInput(f"bins is {bins}; it must be 2 or more.")
    low = values.min(axis=0)
    width = values.max(axis=0) - low
    share = (values - low) / np.where(width > 0, width, 1)
    return np.minimum((share * bins).astype(np.int64), bins - 1)


def entropy(symbols: Bins) -> Nats:
    """Entropy (D,) of the columns of symbols (M, D), non-negative whole numbers."""
    return np.array([_entropy(np.bincount(column)) for column in symbols.T])


def mutual_information(one: Bins, other: Bins) -> Nats:
    """Mutual information (D, K) of the columns of one (M, D) and other (M, K)."""
    if len(one) != len(other):
        raise InvalidInput(f"{len(one)} and {len(other)} samples; both must be of the same frames.")
    width = int(other.max()) + 1
    joint = np.array([[_entropy(np.bincount(a * width + b)) for b in other.T] for a in one.T])
    return entropy(one)[:, None] + entropy(other)[None] - joint


def mutual_information_gap(codes: ArrayLike, factors: ArrayLike, bins: int = BINS) -> Gap:
    """Return the gap of continuous codes (M, D) and continuous factors (M, K).

    A factor that never varies says nothing and is an error. With a single code there is no second
    best, and the gap is what the one code knows.
    """
    symbols = discretise(factors, bins)
    total = entropy(symbols)
    if (total <= 0).any():
        constant = np.flatnonzero(total <= 0).tolist()
        raise InvalidInput(f"factors {constant} never vary; use more, or more varied, episodes.")
    matrix = mutual_information(discretise(codes, bins), symbols)
    ranked = np.sort(matrix, axis=0)[::-1]
    second = ranked[1] if len(ranked) > 1 else 0.0
    gaps = (ranked[0] - second) / total
    return Gap(matrix, total, gaps, float(gaps.mean()))


def _entropy(counts: NDArray[np.int64]) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())
