"""The prior p(where | what) of tracked sequences, one density per object the tracker tells apart.

An object does not have one appearance: the arm looks different in every pose, and k-means gives
each pose a cluster. A density per cluster would only ever ask the arm to go where it looks as it
does now. So clusters that the same tracks pass through are merged, as far as possible without
merging two objects that are seen together in one frame. Nothing but tracker IDs is needed.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from smorl.goals.priors import FittedPrior, Prior, UniformPrior, cluster_appearances

CLUSTERS = 12
_FEWEST = 50  # detections below which there is nothing to fit
_VISIT = 0.1  # share of a track's frames from which it counts as passing through a cluster
_TOGETHER = 0.05  # share of pairs in one frame that may get the same group
_LINKS = np.arange(0.3, 1.0, 0.05)  # share of common tracks from which clusters are merged


def fit_prior(what: np.ndarray, position: np.ndarray, ids: np.ndarray, seed: int) -> Prior:
    """Fit p(where | what) to what (E, T, N, W), position (E, T, N, 2), ids (E, T, N), -1: unseen.

    With hardly a detection it is uniform over the picture.
    """
    seen = ids >= 0
    if seen.sum() < _FEWEST:
        return UniformPrior(-np.ones(2, np.float32), np.ones(2, np.float32))
    looks, places = what[seen], position[seen]
    clusters = min(CLUSTERS, len(np.unique(looks, axis=0)))
    centres, labels = cluster_appearances(looks, clusters, seed)
    groups = merge_clusters(labels, ids, clusters)
    member = groups[labels]
    fitted = [
        FittedPrior.fit(looks[member == g], places[member == g], 1, seed)
        for g in range(groups.max() + 1)
    ]
    names = ("places", "bandwidth", "low", "high")
    arrays = {n: np.concatenate([getattr(fitted[g], n) for g in groups]) for n in names}
    return FittedPrior(centres, **arrays)


def merge_clusters(labels: np.ndarray, ids: np.ndarray, clusters: int) -> np.ndarray:
    """Return the group (C,) of each cluster, given the cluster (M,) of each seen slot of `ids`."""
    seen = ids >= 0
    tracks = np.stack([np.nonzero(seen)[0], ids[seen]], 1)
    _, track = np.unique(tracks, axis=0, return_inverse=True)
    count = np.zeros((track.max() + 1, clusters))
    np.add.at(count, (track.reshape(-1), labels), 1)
    visits = (count >= np.maximum(2, _VISIT * count.sum(1, keepdims=True))).astype(float)
    common = visits.T @ visits
    fewer = np.minimum.outer(np.diag(common), np.diag(common))
    share = common / np.maximum(fewer, 1)
    where = np.full(ids.shape, -1)
    where[seen] = labels
    for link in _LINKS:
        groups = connected_components(share >= link, directed=False)[1]
        if _together(np.where(where >= 0, groups[where], -1)) <= _TOGETHER:
            return groups
    return np.arange(clusters)


def _together(groups: np.ndarray) -> float:
    """Return the share of pairs of slots of one frame (E, T, N) that have the same group."""
    one, other = np.triu_indices(groups.shape[2], k=1)
    a, b = groups[..., one], groups[..., other]
    both = (a >= 0) & (b >= 0)
    return float((a == b)[both].mean()) if both.any() else 0.0
