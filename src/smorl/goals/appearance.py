"""How near two appearances must be to count as one object: the matching threshold from data.

Distances are Euclidean in the space of `what`, as in matching (Eq. 7). Nothing here needs the
simulator: the tracker's own IDs say which appearances belong together.
"""

import numpy as np
from numpy.typing import NDArray

from smorl.errors import InvalidInput

_OUTLIERS = 0.1  # share of the frames that may belong to a track gone astray
_SHRINK = 0.002  # share of the total variation added to the variation within tracks
Distances = NDArray[np.float64]


def self_supervised_pairs(what: np.ndarray, ids: np.ndarray) -> tuple[Distances, Distances]:
    """Return the distances between appearances of the same and of different objects.

    what (E, T, N, W) and tracker IDs (E, T, N), negative where a slot is empty or must not count
    (hidden objects only remember their appearance). Same: an ID's appearance in its first frame of
    the episode and in each later frame. Different: any two objects of one frame.
    """
    what, ids = np.asarray(what, np.float64), np.asarray(ids)
    episode, _, _ = used = np.nonzero(ids >= 0)
    keys = np.stack([episode, ids[used]], axis=1)
    # Slots come in the order of time, so the first of its kind is the first in time.
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    looks = what[used]
    later = np.arange(len(looks)) != first[group]
    same = np.linalg.norm(looks - looks[first[group]], axis=-1)[later]
    one, other = np.triu_indices(ids.shape[2], k=1)
    both = (ids[..., one] >= 0) & (ids[..., other] >= 0)
    between = np.linalg.norm(what[..., one, :] - what[..., other, :], axis=-1)
    return same, between[both]


def appearance_basis(what: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (W,) and basis (W, W); (what - mean) @ basis is the normalised appearance.

    Directions in which one tracked object varies from frame to frame (size, light, where it sits in
    its box) say nothing about which object it is. The basis whitens that variation, so that
    distances measure differences between objects (Mahalanobis distance, with tracks as classes).
    One factor then sets the mean squared distance of two detections to 2, as for one-hot codes.
    what is (E, T, N, W), ids (E, T, N), negative where a slot does not count.
    """
    used = np.nonzero(ids >= 0)
    looks = np.asarray(what, np.float64)[used]
    size = what.shape[-1]
    if len(looks) < 2:
        return np.zeros(size, np.float32), np.eye(size, dtype=np.float32)
    keys = np.stack([used[0], ids[used]], axis=1)
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    # The total variation stands in for what was never seen to vary, and for tracks too short.
    spread = np.cov(looks.T).reshape(size, size) + 1e-9 * np.eye(size)
    kept, within = np.ones(len(looks), bool), spread
    for _ in range(3):  # a track that changes over to another object must not count as variation
        inside = _deviations(looks, group.reshape(-1), len(count), kept)
        degrees = max(1, int(kept.sum()) - len(count))
        within = inside[kept].T @ inside[kept] / degrees + _SHRINK * spread
        unusual = np.einsum("mi,ij,mj->m", inside, np.linalg.inv(within), inside)
        kept = unusual <= np.quantile(unusual, 1 - _OUTLIERS)
    values, vectors = np.linalg.eigh(within)
    basis = vectors / np.sqrt(values)
    mean = looks.mean(0)
    basis /= max(1e-6, float(np.sqrt(((looks - mean) @ basis).var(0).sum())))
    return mean.astype(np.float32), basis.astype(np.float32)


def _deviations(looks: np.ndarray, group: np.ndarray, groups: int, kept: np.ndarray) -> np.ndarray:
    """Return looks (M, W) minus the mean of the kept ones of their group (M,)."""
    count = np.maximum(np.bincount(group, kept, groups), 1)
    centre = [np.bincount(group, column * kept, groups) / count for column in looks.T]
    return looks - np.stack(centre, 1)[group]


def match_rates(same: Distances, different: Distances, threshold: float) -> tuple[float, float]:
    """Return the share of `same` and of `different` distances below the threshold.

    The first is the match rate and should be 1, the second the false-match rate and should be 0.
    """
    return _share(same, threshold), _share(different, threshold)


def choose_threshold(same: Distances, different: Distances) -> float:
    """Return the threshold with the smallest sum of miss rate and false-match rate.

    Between two clearly separated kinds every threshold is best: the middle of the widest such gap
    is taken, so that small changes of appearance on either side do no harm.
    """
    same, different = np.sort(np.ravel(same)), np.sort(np.ravel(different))
    if not len(same) or not len(different):
        raise InvalidInput(
            f"{len(same)} distances of the same and {len(different)} of different objects; the "
            "threshold needs at least one of each, so use data in which objects are tracked."
        )
    edges = np.unique(np.concatenate([[0.0], same, different]))
    # A last edge above all distances stands for "everything matches".
    edges = np.append(edges, 1.5 * edges[-1] + 1e-6)
    middle = (edges[1:] + edges[:-1]) / 2
    missed = 1 - np.searchsorted(same, middle) / len(same)
    mistaken = np.searchsorted(different, middle) / len(different)
    cost = missed + mistaken
    best = np.flatnonzero(cost <= cost.min() + 1e-12)
    width = np.diff(edges)[best]
    return float(middle[best[width.argmax()]])


def _share(distances: Distances, threshold: float) -> float:
    distances = np.asarray(distances)
    return float((distances < threshold).mean()) if distances.size else 0.0
