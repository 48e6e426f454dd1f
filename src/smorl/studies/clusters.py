"""How appearances cluster (App. A.1): k-means and a plane, against the simulator's identities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from smorl.errors import InvalidInput
from smorl.evaluation.detection_metrics import Kind, Labels, label
from smorl.seeding import stream, torch_seed
from smorl.studies.footage import Footage, truth
from smorl.studies.sightings import Sightings
from smorl.visualise.overlay import crop

POINTS = 3000  # Paper: z^what points of the figure
CROP_PIXELS = 24
_MARGIN = 1.2  # of a crop around the object's extent

Points = NDArray[np.floating]
Group = NDArray[np.int64]


def analyse_clusters(
    sightings: Sightings,
    images: NDArray[np.uint8],
    footage: Footage,
    *,
    points: int = POINTS,
    clusters: int | None = None,
    raw: bool = False,
) -> dict[str, Any]:
    """Return numbers, plane and example crops, ready for JSON and for `figures.clusters`.

    `points` random detections are clustered, by default into as many clusters as there are pucks
    and one for the arm. `raw` clusters z^what itself instead of what matching compares; the scores
    of both are reported.
    """
    clusters = footage.pucks + 1 if clusters is None else clusters
    chosen = choose(sightings, points, footage.seed)
    if clusters < 2 or len(chosen[0]) < clusters:
        raise InvalidInput(
            f"{clusters} clusters of {len(chosen[0])} detections; use at least 2 clusters, and "
            "more episodes than that."
        )
    who = identities(label(sightings.detections(), truth(footage, images.shape[2])), footage.pucks)
    who = who[chosen]
    both = {"what": sightings.what[chosen], "raw": sightings.raw[chosen]}
    groups = {name: _groups(what, who, clusters, footage.seed) for name, what in both.items()}
    space = "raw" if raw else "what"
    what, group = both[space], groups[space]
    return {
        "clusters": clusters,
        "points": len(who),
        "space": space,
        **agreement(group, who, footage.pucks),
        "scores": {name: agreement(g, who, footage.pucks) for name, g in groups.items()},
        "names": [*(f"puck {i + 1}" for i in range(footage.pucks)), "arm", "false", "unclear"],
        "table": _table(group, who, clusters, footage.pucks + 3),
        **_plane(what, group, clusters),
        "colour": _rounded(sightings.colour[chosen], 2),
        "cluster": group.tolist(),
        "identity": who.tolist(),
        "examples": [_example(what, group, c, sightings, images, chosen) for c in range(clusters)],
    }


def choose(sightings: Sightings, points: int, seed: int) -> tuple[NDArray[np.intp], ...]:
    """Return the index (episode, frame, slot) of `points` random detections, or of all."""
    found = np.nonzero(sightings.seen & np.isfinite(sightings.colour).all(-1))
    count = len(found[0])
    rng = stream(seed, "analysis/points")
    picked = np.sort(rng.permutation(count)[: min(points, count)])
    return tuple(index[picked] for index in found)


def identities(labels: Labels, pucks: int) -> Group:
    """Say what each slot shows: 0..n-1 pucks, n the arm, n + 1 nothing (a misdetection), and n + 2
    where the simulator cannot tell (docs/perception.md: ignored and doubtful ones)."""
    who = np.full(labels.kind.shape, pucks + 2)
    who[labels.kind == Kind.ARM] = pucks
    who[labels.kind == Kind.FALSE] = pucks + 1
    who[labels.doubtful] = pucks + 2
    found = labels.kind == Kind.PUCK
    who[found] = labels.puck[found]
    return who


def k_means(what: Points, clusters: int, seed: int) -> KMeans:
    """Return the fit to points (M, W); `predict` and `transform` tell clusters and distances."""
    state = torch_seed(seed, "analysis/k-means") % 2**32
    return KMeans(clusters, n_init=10, random_state=state).fit(what)  # pyright: ignore


def purity(group: Group, who: Group) -> float:
    """Share of points that belong to the commonest identity of their cluster."""
    own = sum(np.bincount(who[group == c]).max() for c in np.unique(group))
    return float(own / len(who))


def agreement(group: Group, who: Group, pucks: int) -> dict[str, Any]:
    """Purity and adjusted Rand index over pucks and arm; `with_false` counts misdetections too.

    As an identity of their own misdetections need not look alike: they can only lower the scores.
    """
    scores: dict[str, Any] = {}
    for suffix, last in (("", pucks), ("_with_false", pucks + 1)):
        used = who <= last
        scores[f"purity{suffix}"] = purity(group[used], who[used]) if used.any() else None
        rand = adjusted_rand_score(who[used], group[used]) if used.any() else None
        scores[f"adjusted_rand{suffix}"] = None if rand is None else float(rand)
    return scores


def _plane(what: Points, group: Group, clusters: int) -> dict[str, Any]:
    """The first two principal components of points and cluster centres.

    k-means works in all dimensions. `plane_agreement` is the share of points that the Voronoi
    partition of the centres in the plane, which is what can be drawn, puts into the same cluster.
    """
    pca = PCA(2, svd_solver="full").fit(what)
    plane = pca.transform(what)
    centres = pca.transform(np.stack([what[group == c].mean(0) for c in range(clusters)]))
    nearest = np.linalg.norm(plane[:, None] - centres, axis=-1).argmin(1)
    return {
        "explained": [float(share) for share in pca.explained_variance_ratio_],
        "plane_agreement": float((nearest == group).mean()),
        "plane": _rounded(plane, 3),
        "centres": _rounded(centres, 4),
    }


def _groups(what: Points, who: Group, clusters: int, seed: int) -> Group:
    """Cluster points; clusters are numbered in the order of their commonest identities."""
    group = k_means(what, clusters, seed).predict(what)
    common = [np.bincount(who[group == c]).argmax() for c in range(clusters)]
    number = np.empty(clusters, np.int64)
    number[np.argsort(common, kind="stable")] = np.arange(clusters)
    return number[group]


def _example(
    what: Points,
    group: Group,
    cluster: int,
    sightings: Sightings,
    images: NDArray[np.uint8],
    chosen: tuple[NDArray[np.intp], ...],
) -> dict[str, Any]:
    """The detection nearest to the middle of a cluster, cut out of its picture."""
    members = np.flatnonzero(group == cluster)
    middle = what[members].mean(0)
    point = int(members[np.linalg.norm(what[members] - middle, axis=-1).argmin()])
    episode, frame, slot = place = tuple(int(index[point]) for index in chosen)
    box = sightings.box[place]
    cut = crop(images[episode, frame], box[:2], _MARGIN * box[2:], CROP_PIXELS)
    return {"point": point, "episode": episode, "frame": frame, "slot": slot, "crop": cut.tolist()}


def _table(group: Group, who: Group, clusters: int, names: int) -> list[list[int]]:
    """Count the detections of each identity in each cluster."""
    counts = np.zeros((clusters, names), np.int64)
    np.add.at(counts, (group, who), 1)
    return counts.tolist()


def _rounded(values: Points, digits: int) -> list:
    return np.round(np.asarray(values, np.float64), digits).tolist()
