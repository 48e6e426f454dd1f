"""Where could this object be? Priors p(position | what) for self-set and imagined goals.

A prior is immutable. `fit` makes one from observed (what, position) pairs, `sample` draws places
for given appearances, `to_arrays`/`from_arrays` turn it into plain arrays for checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from smorl.errors import DamagedFile, InvalidInput
from smorl.goals.matching import MANY


class Prior(Protocol):
    """Distribution over places given an appearance."""

    def sample(self, what: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a position (B, P) for every appearance (B, W)."""
        ...

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high corners (P,) of the support, or of nearly all of it."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything needed to rebuild the prior."""
        ...


@dataclass(frozen=True)
class UniformPrior:
    """Uniform over a box, whatever the appearance (Release: a hand-set box)."""

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self) -> None:
        if self.low.shape != self.high.shape or not np.all(self.low < self.high):
            raise InvalidInput(
                f"a uniform prior needs low < high, got {self.low.tolist()} and "
                f"{self.high.tolist()}; check the goal box."
            )

    @classmethod
    def fit(cls, what: np.ndarray, position: np.ndarray) -> UniformPrior:
        """Return the bounding box of the observed positions (M, P)."""
        _check_samples(what, position)
        low, high = position.min(0), position.max(0)
        return cls(low, np.where(high > low, high, low + 1e-6))

    def sample(self, what: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        size = (len(what), len(self.low))
        return rng.uniform(self.low, self.high, size).astype(np.float32)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return self.low, self.high

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True)
class FittedPrior:
    """p(position | what): a density per appearance cluster, clipped to its support (Alg. 2).

    Appearances are clustered by k-means; each cluster keeps a sample of its positions, and a draw
    is one of them plus Gaussian noise of the cluster's bandwidth (a kernel density estimate),
    clipped to the box the cluster was seen in.
    """

    centres: np.ndarray  # (C, W) cluster centres in appearance space
    places: np.ndarray  # (C, M, P) positions kept per cluster
    bandwidth: np.ndarray  # (C, P) standard deviation of the noise
    low: np.ndarray  # (C, P) corners of each cluster's support
    high: np.ndarray

    @classmethod
    def fit(
        cls, what: np.ndarray, position: np.ndarray, clusters: int, seed: int, keep: int = 2000
    ) -> FittedPrior:
        """Fit to appearances (M, W) and positions (M, P)."""
        _check_samples(what, position)
        centres, labels = cluster_appearances(what, clusters, seed)
        rng = np.random.default_rng(seed)
        members = [position[labels == c] for c in range(clusters)]
        kept = [m[rng.integers(0, len(m), keep)] for m in members]
        # Scott's rule per dimension, the default of kernel density estimation libraries.
        scott = [m.std(0) * len(m) ** (-1 / (m.shape[1] + 4)) for m in members]
        return cls(
            centres,
            np.stack(kept).astype(np.float32),
            np.stack(scott).astype(np.float32),
            np.stack([m.min(0) for m in members]).astype(np.float32),
            np.stack([m.max(0) for m in members]).astype(np.float32),
        )

    def cluster(self, what: np.ndarray) -> np.ndarray:
        """Return the nearest cluster (B,) of appearances (B, W)."""
        return nearest_centre(what, self.centres)

    def sample(self, what: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        c = self.cluster(what)
        place = self.places[c, rng.integers(0, self.places.shape[1], len(c))]
        noise = rng.standard_normal(place.shape).astype(np.float32) * self.bandwidth[c]
        return np.clip(place + noise, self.low[c], self.high[c])

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return self.low.min(0), self.high.max(0)

    def to_arrays(self) -> dict[str, np.ndarray]:
        names = ("centres", "places", "bandwidth", "low", "high")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class NormalPrior:
    """Normal(mean, std) per dimension, whatever the appearance: the VAE's own prior (RIG)."""

    mean: np.ndarray  # (P,)
    std: np.ndarray

    def __post_init__(self) -> None:
        good = self.mean.ndim == 1 and self.mean.shape == self.std.shape
        if not good or not np.isfinite(self.mean).all() or not np.all(self.std > 0):
            raise InvalidInput(
                f"a normal prior needs a mean and a positive deviation per dimension, got "
                f"{self.mean.tolist()} and {self.std.tolist()}."
            )

    @classmethod
    def standard(cls, size: int) -> NormalPrior:
        """Return Normal(0, 1) in `size` dimensions."""
        return cls(np.zeros(size, np.float32), np.ones(size, np.float32))

    def sample(self, what: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(what), len(self.mean)), np.float32)
        return (self.mean + self.std * noise).astype(np.float32)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean -+ two deviations: 95 % per dimension."""
        return self.mean - 2 * self.std, self.mean + 2 * self.std

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "std": self.std}


@dataclass(frozen=True)
class EmpiricalPrior:
    """One of the given vectors, by weight, whatever the appearance: Skew-Fit's replayed goals."""

    latents: np.ndarray  # (M, P)
    weights: np.ndarray  # (M,) probabilities

    def __post_init__(self) -> None:
        shape, total = self.weights.shape, float(self.weights.sum())
        good = self.latents.ndim == 2 and len(self.latents) > 0 and shape == self.latents.shape[:1]
        if not good or not np.all(self.weights >= 0) or abs(total - 1) > 1e-6:
            raise InvalidInput(
                f"an empirical prior needs vectors and as many probabilities that sum to 1, got "
                f"shapes {self.latents.shape} and {shape}, sum {total:.6g}."
            )

    @classmethod
    def uniform(cls, latents: np.ndarray) -> EmpiricalPrior:
        """Return the prior in which all vectors (M, P) are alike."""
        return cls(latents, np.full(len(latents), 1 / max(1, len(latents))))

    @cached_property
    def _cumulative(self) -> np.ndarray:
        return np.cumsum(self.weights, dtype=np.float64)

    def sample(self, what: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        uniform = rng.random(len(what)) * self._cumulative[-1]
        index = np.searchsorted(self._cumulative, uniform, side="right")
        return self.latents[np.minimum(index, len(self.latents) - 1)].astype(np.float32)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return self.latents.min(0), self.latents.max(0)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"latents": self.latents, "weights": self.weights}


def nearest_centre(what: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return which of the centres (C, W) is nearest to each appearance: (..., W) -> (...,)."""
    squares = (centres**2).sum(-1)
    if math.prod(what.shape[:-1]) >= MANY and what.dtype == centres.dtype == np.float32:
        from smorl.goals.kernels import find_centre  # imported here: whoever acts needs none

        flat = np.ascontiguousarray(what).reshape(-1, what.shape[-1])
        found = np.empty(len(flat), np.int64)
        find_centre(flat, np.ascontiguousarray(centres), squares, found)
        return found.reshape(what.shape[:-1])
    # |w - c|^2 without what all centres have in common: a product instead of all differences.
    return (squares - 2 * (what @ centres.T)).argmin(-1)


def cluster_appearances(
    what: np.ndarray, clusters: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return k-means centres (C, W) of appearances (M, W) and the cluster (M,) of each."""
    from sklearn.cluster import KMeans

    if not 1 <= clusters <= len(what):
        raise InvalidInput(
            f"clusters={clusters} must be between 1 and the number of samples, {len(what)}."
        )
    kmeans = KMeans(clusters, n_init=4, random_state=seed)  # pyright: ignore[reportArgumentType]
    model = kmeans.fit(what)
    return model.cluster_centers_.astype(np.float32), np.asarray(model.labels_)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Prior:
    """Rebuild a prior from `to_arrays`."""
    kinds = {"centres": FittedPrior, "mean": NormalPrior, "latents": EmpiricalPrior}
    kind = next((kinds[name] for name in arrays if name in kinds), UniformPrior)
    try:
        return kind(**arrays)
    except (TypeError, InvalidInput) as error:
        raise DamagedFile(f"these arrays are not a prior: {sorted(arrays)}.") from error


def _check_samples(what: np.ndarray, position: np.ndarray) -> None:
    if len(what) == 0 or len(what) != len(position):
        raise InvalidInput(
            f"fitting a prior needs as many appearances as positions and at least one, got "
            f"{len(what)} and {len(position)}; collect some episodes first."
        )
