"""How near two appearances must be to count as one object: the matching threshold from data.

Distances are Euclidean in the space of `what`, as in matching (Eq. 7). Nothing here needs the
simulator: the tracker's own IDs say which appearances belong together.
"""

import numpy as np
from numpy.typing import NDArray

from smorl.errors import InvalidInput

_OUTLIERS = 0.1  # share of the frames that may belong to a track gone astray
_SHRINK = 0.002  # share of the total variation added to the variation within tracks
_STILL = 0.03  # image coordinates, 1 pixel of 64: an object that moves less in a frame rests
_RESTS, _FEWEST_STEPS = 0.6, 4  # share of its steps in which a thing rests; steps that tell
Distances = NDArray[np.float64]


def resting_tracks(position: np.ndarray, ids: np.ndarray) -> NDArray[np.bool_]:
    """Which slots (E, T, N) belong to tracks that mostly rest: things, not the agent's own body.

    position (E, T, N, 2) in image coordinates, ids (E, T, N), negative where a slot does not count.
    The data is of an agent that moves all the time, so what usually rests is not a part of it.
    """
    same = (ids[:, 1:, :, None] == ids[:, :-1, None]) & (ids[:, 1:, :, None] >= 0)
    former = np.take_along_axis(position[:, :-1], same.argmax(-1)[..., None], 2)
    way = np.linalg.norm(position[:, 1:] - former, axis=-1)
    followed = same.any(-1)
    keys = _tracks(ids)
    _, track = np.unique(keys[:, 1:][followed], return_inverse=True)
    steps = np.bincount(track)
    rests = np.bincount(track, way[followed] < _STILL)
    calm = (rests >= _RESTS * steps) & (steps >= _FEWEST_STEPS)
    return np.isin(keys, np.unique(keys[:, 1:][followed])[calm]) & (ids >= 0)


def self_supervised_pairs(
    what: np.ndarray, ids: np.ndarray, things: np.ndarray | None = None
) -> tuple[Distances, Distances]:
    """Return the distances between appearances of the same and of different objects.

    what (E, T, N, W) and tracker IDs (E, T, N), negative where a slot is empty or must not count
    (hidden objects only remember their appearance). Same: an ID's appearance in its first frame of
    the episode and in each later frame. Different: any two objects of one frame. With `things`
    (E, T, N), see `resting_tracks`, only these count as the same, and two objects as different only
    if one of them is a thing: a body may be seen in several parts that look alike.
    """
    what, ids = np.asarray(what, np.float64), np.asarray(ids)
    things = ids >= 0 if things is None else things
    used = np.nonzero((ids >= 0) & things)
    # Slots come in the order of time, so the first of its kind is the first in time.
    _, first, group = np.unique(_tracks(ids)[used], return_index=True, return_inverse=True)
    looks = what[used]
    later = np.arange(len(looks)) != first[group]
    same = np.linalg.norm(looks - looks[first[group]], axis=-1)[later]
    one, other = np.triu_indices(ids.shape[2], k=1)
    both = (ids[..., one] >= 0) & (ids[..., other] >= 0) & (things[..., one] | things[..., other])
    between = np.linalg.norm(what[..., one, :] - what[..., other, :], axis=-1)
    return same, between[both]


def _tracks(ids: np.ndarray) -> np.ndarray:
    """Return one number (E, T, N) per episode and ID."""
    span = max(1, int(ids.max(initial=0)) + 2)
    return np.arange(len(ids))[:, None, None] * span + ids + 1


def appearance_basis(
    what: np.ndarray, ids: np.ndarray, things: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (W,) and basis (W, W); (what - mean) @ basis is the normalised appearance.

    Directions in which one tracked object varies from frame to frame (size, light, where it sits in
    its box) say nothing about which object it is. The basis whitens that variation, so that
    distances measure differences between objects (Mahalanobis distance, with tracks as classes).
    One factor then sets the mean squared distance of two detections to 2, as for one-hot codes.
    what is (E, T, N, W), ids (E, T, N), negative where a slot does not count. With `things`
    (E, T, N), see `resting_tracks`, the variation is theirs: a body's poses are no model for it.
    """
    everything = np.asarray(what, np.float64)[ids >= 0]
    size = what.shape[-1]
    if len(everything) < 2:
        return np.zeros(size, np.float32), np.eye(size, dtype=np.float32)
    # The total variation stands in for what was never seen to vary, and for tracks too short.
    spread = np.cov(everything.T).reshape(size, size) + 1e-9 * np.eye(size)
    used = ids >= 0 if things is None or not things.any() else things & (ids >= 0)
    looks = np.asarray(what, np.float64)[used]
    _, group, count = np.unique(_tracks(ids)[used], return_inverse=True, return_counts=True)
    kept, within = np.ones(len(looks), bool), spread
    for _ in range(3):  # a track that changes over to another object must not count as variation
        inside = _deviations(looks, group, len(count), kept)
        degrees = max(1, int(kept.sum()) - len(count))
        within = inside[kept].T @ inside[kept] / degrees + _SHRINK * spread
        unusual = np.einsum("mi,ij,mj->m", inside, np.linalg.inv(within), inside)
        kept = unusual <= np.quantile(unusual, 1 - _OUTLIERS)
    values, vectors = np.linalg.eigh(within)
    basis = vectors / np.sqrt(values)
    mean = everything.mean(0)
    basis /= max(1e-6, float(np.sqrt(((everything - mean) @ basis).var(0).sum())))
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
