"""How disentangled representations are (App. A.2): SCALOR's positions against VAE latents.

Both see the same random episodes, each through its own camera. The factors are the true places of
the pucks, x and y in metres; the codes are the numbers of the representation. A probe tells what
the whole code knows of the places (`studies/probe.py`), however it says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from smorl.errors import InvalidInput
from smorl.representations.perceptions import load_perception
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.weights import load_vae
from smorl.runs.tensor_file import kind_of
from smorl.studies.clusters import k_means
from smorl.studies.footage import Footage, Progress, pictures
from smorl.studies.mutual_information import BINS, mutual_information_gap
from smorl.studies.probe import probe_errors
from smorl.studies.sightings import Sightings, watch
from smorl.trained.agent_file import KIND as AGENT
from smorl.trained.loading import load_run

_VAE_CAMERA = "multiobject_push"  # Release: RIG and Skew-Fit see through it

Codes = NDArray[np.floating]


def analyse_mig(
    footage: Footage,
    perceptions: Sequence[str],
    vaes: Sequence[str] = (),
    bins: int = BINS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the gaps of every model and their mean and deviation, ready for JSON."""
    eyes = [(name, *open_vae(name, footage.pucks)) for name in vaes]  # mistakes show at once
    models = []
    for name in perceptions:
        sightings, _ = watch(load_perception(name).tracker(), footage, progress=progress)
        codes, found = ordered_positions(sightings, footage.pucks + 1, footage.seed)
        row = {"kind": "scalor", "model": str(name), "detected": float(found.mean())}
        models.append({**row, **score(by_puck(codes, footage, bins), footage, bins)})
    for name, encoder, camera in eyes:
        images = pictures(footage, encoder.model.config.image_size, camera)
        codes = encoder.encode(images.reshape(-1, *images.shape[2:]))
        models.append({"kind": "vae", "model": str(name), **score(codes, footage, bins)})
    summary = {}
    for kind in dict.fromkeys(model["kind"] for model in models):
        values = [model["mig"] for model in models if model["kind"] == kind]
        summary[kind] = {
            "mean": float(np.mean(values)),
            "deviation": float(np.std(values)),
            "models": len(values),
        }
    factors = [f"puck {i + 1} {axis}" for i in range(footage.pucks) for axis in "xy"]
    return {"bins": bins, "frames": _frames(footage), "factors": factors, "summary": summary,
            "models": models}  # fmt: skip


def open_vae(name: str, pucks: int) -> tuple[VaeEncoder, str]:
    """Open a VAE file, or the VAE of a RIG or Skew-Fit run; return it and its camera.

    It must have been trained on `pucks` pucks: another table has other factors.
    """
    path = Path(name)
    if path.is_file() and not _holds_agent(path):
        weights = load_vae(path)
        encoder, meta = weights.encoder(), weights.meta
        env, camera = meta.get("env"), str(meta.get("camera", _VAE_CAMERA))
    else:
        run = load_run(name)
        if not isinstance(run.encoder, VaeEncoder) or run.config.latent is None:
            raise InvalidInput(
                f"{name} is a {run.config.method} run and has no VAE; use a run of rig-* or "
                "skewfit-*, or a VAE file."
            )
        encoder, env, camera = run.encoder, run.env, run.config.latent.camera
    seen = None if env is None else _pucks_of(str(env))
    if seen is not None and seen != pucks:
        raise InvalidInput(
            f"{name} was trained on {env}, the data has {pucks} pucks; give --env and models of "
            "the same number of pucks."
        )
    return encoder, camera


def ordered_positions(
    sightings: Sightings, clusters: int, seed: int
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return positions (E T, 2 `clusters`), ordered by cluster, and which are there (E T, K).

    Sets have no order; clusters of appearance give one. Of several detections in one cluster the
    one nearest to its centre counts. Paper: zeros where an object is missing.
    """
    episodes, frames, slots = sightings.seen.shape
    if sightings.seen.sum() < clusters:
        raise InvalidInput(
            f"{int(sightings.seen.sum())} detections for {clusters} clusters; train the perception "
            "longer, or use more episodes."
        )
    means = k_means(sightings.what[sightings.seen], clusters, seed)
    distance = means.transform(sightings.what.reshape(episodes * frames * slots, -1))
    distance = distance.reshape(episodes * frames, slots, clusters)
    seen = sightings.seen.reshape(-1, slots)
    own = (distance.argmin(-1)[..., None] == np.arange(clusters)) & seen[..., None]
    best = np.where(own, distance, np.inf).argmin(1)  # (E T, K) slots
    found = own.any(1)
    position = sightings.position.reshape(-1, slots, 2)
    places = np.take_along_axis(position, best[..., None], 1) * found[..., None]
    return places.reshape(len(places), -1), found


def by_puck(codes: Codes, footage: Footage, bins: int = BINS) -> Codes:
    """Return codes (M, 2 K) with the clusters in the order of the pucks they know most about.

    Only for the eye: the order of codes changes no score.
    """
    matrix = mutual_information_gap(codes, _factors(footage), bins).matrix
    clusters, pucks = matrix.shape[0] // 2, matrix.shape[1] // 2
    known = matrix.reshape(clusters, 2, pucks, 2).sum((1, 3))
    rows, columns = linear_sum_assignment(-known)
    order = [rows[columns == puck][0] for puck in range(pucks) if (columns == puck).any()]
    order += [cluster for cluster in range(clusters) if cluster not in order]
    return codes.reshape(len(codes), clusters, 2)[:, order].reshape(len(codes), -1)


def score(codes: Codes, footage: Footage, bins: int = BINS) -> dict[str, Any]:
    """Return the gap of codes (E T, D), the matrix, and the information found by mere chance.

    `chance` is the mean information about the pucks of other episodes: what is counted where there
    is nothing to know, because frames of an episode are much alike. `probe` is how far off each
    puck's place is when it is read from the code, in metres, `probe_blind` without any code.
    """
    factors = _factors(footage)
    gap = mutual_information_gap(codes, factors, bins)
    frames = footage.qpos.shape[1]
    other = np.roll(factors, frames * max(1, len(footage) // 2), axis=0)
    shape = footage.qpos.shape[:2]
    error, blind = probe_errors(codes.reshape(*shape, -1), footage.objects)
    return {
        "mig": gap.mig,
        "probe": np.round(error, 6).tolist(),
        "probe_blind": np.round(blind, 6).tolist(),
        "gaps": np.round(gap.gaps, 6).tolist(),
        "entropy": np.round(gap.entropy, 6).tolist(),
        "chance": float(mutual_information_gap(codes, other, bins).matrix.mean()),
        "matrix": np.round(gap.matrix, 6).tolist(),
    }


def _factors(footage: Footage) -> NDArray[np.float64]:
    return footage.objects.reshape(_frames(footage), -1)


def _frames(footage: Footage) -> int:
    return footage.qpos.shape[0] * footage.qpos.shape[1]


def _pucks_of(env: str) -> int | None:
    import smorl  # noqa: F401  registers the environments

    return gym.spec(env).kwargs["num_objects"] if env in gym.registry else None


def _holds_agent(path: Path) -> bool:
    """Whether a weights file is an exported agent, which may have a VAE inside."""
    return kind_of(path) == AGENT  # `load_vae` says what is wrong with other files
