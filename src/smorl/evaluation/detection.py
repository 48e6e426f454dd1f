"""Evaluate an encoder of pictures against the simulator, on held-out random episodes.

The encoder runs online as in reinforcement learning: `init`, then one `step` per frame. The
definitions behind the numbers are in `perception_metrics` and `perception_scores`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import Truth as EnvTruth
from smorl.envs.contract import action_size, require_truth
from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.evaluation.detection_metrics import Detections, Labels, Truth, label
from smorl.evaluation.detection_scores import (
    appearance_distances,
    detection_scores,
    identity_scores,
    match_report,
    track_scores,
)
from smorl.goals.appearance import choose_threshold
from smorl.representations.base import Encoder
from smorl.representations.video import episode_plan

# Paper: episodes of reinforcement learning are this long.
STEPS = 20
# The name of the random streams; other than the training data's, so that no episode is shared.
HELD_OUT = "held-out"


@dataclass(frozen=True)
class PerceptionReport:
    """Everything an evaluation saw. `numbers` is flat and JSON-ready."""

    numbers: dict[str, Any]
    detections: Detections
    truth: Truth
    labels: Labels


def evaluate_perception(
    encoder: Encoder,
    env_id: str,
    episodes: int = 50,
    seed: int = 0,
    threads: int = 2,
    steps: int = STEPS,
    threshold: float | None = None,
    num_envs: int = 50,
    progress: Callable[[int, int], None] | None = None,
) -> PerceptionReport:
    """Track held-out episodes and compare with the simulator.

    `threshold` is the matching threshold whose match rates are reported; by default the best one
    for these episodes. `progress(done, episodes)` is called after every set of episodes.
    """
    if episodes < 1 or steps < 1:
        raise InvalidInput(f"episodes={episodes}, steps={steps}; both must be 1 or more.")
    parts: list[dict[str, np.ndarray]] = []
    done = 0
    while done < episodes:
        chosen = range(done, min(done + num_envs, episodes))
        envs = make_visual_envs(env_id, len(chosen), threads)
        try:
            length = action_size(envs)
            plans = [episode_plan(seed, i, steps, length, purpose=HELD_OUT) for i in chosen]
            parts.append(_track(encoder, envs, plans))
        finally:
            envs.close()
        done += len(chosen)
        if progress is not None:
            progress(done, episodes)
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    context = {"env": env_id, "episodes": episodes, "seed": seed, "steps": steps}
    return _report(arrays, context, threshold)


def _report(
    arrays: dict[str, np.ndarray], context: dict[str, Any], threshold: float | None
) -> PerceptionReport:
    detections, truth = _detections(arrays), _truth(arrays)
    labels = label(detections, truth)
    numbers: dict[str, Any] = {**context, **detection_scores(detections, truth, labels)}
    numbers |= identity_scores(detections, truth, labels)
    numbers |= track_scores(labels, detections.ids, truth.centres.shape[2])
    if threshold is None:
        same, different = appearance_distances(detections, truth, labels)
        threshold = choose_threshold(same, different) if len(same) and len(different) else None
    if threshold is not None:
        numbers |= match_report(detections, truth, labels, threshold)
    mse = arrays.get("mse")
    numbers["reconstruction_mse"] = None if mse is None else float(mse[arrays["alive"]].mean())
    return PerceptionReport(numbers, detections, truth, labels)


def _track(
    encoder: Encoder, envs: gym.vector.VectorEnv, plans: list[tuple[int, NDArray[np.float32]]]
) -> dict[str, np.ndarray]:
    """Step encoder and envs together; return arrays with leading (episodes, frames)."""
    truth = require_truth(envs, "judging what an encoder finds")
    actions = np.stack([plan[1] for plan in plans], axis=1)
    observation, _ = envs.reset(seed=[plan[0] for plan in plans])  # pyright: ignore
    carry = encoder.init(len(plans))
    alive = np.ones(len(plans), bool)
    frames: list[dict[str, np.ndarray]] = []
    for t, action in enumerate(actions):
        if t:
            observation, _, _, truncated, _ = envs.step(action)
            # After a divergence the row shows another episode: nothing of it counts.
            alive = alive & ~truncated
        pictures = observation["observation"]
        carry, objects = encoder.step(carry, pictures, action)
        frame = {"alive": alive, **_said(encoder, carry, objects, pictures), **known(truth)}
        frame["seen"] = frame["seen"] & alive[:, None]
        frame["visible"] = frame["visible"] * alive[:, None]
        frame["arm"] = frame["arm"] & alive[:, None, None]
        frames.append(frame)
    return {name: np.stack([frame[name] for frame in frames], axis=1) for name in frames[0]}


def _said(encoder: Encoder, carry: Any, objects: Any, pictures: np.ndarray) -> dict[str, Any]:
    """Return what the encoder says about one frame; age, ids and drawings where it has them."""
    seen = np.asarray(objects.present).copy()
    age, ids = getattr(carry, "age", None), getattr(carry, "ids", None)
    draw = getattr(encoder, "draw", None)
    if age is not None:
        seen &= np.asarray(age) == 0
    said = {
        "seen": seen,
        "position": np.asarray(objects.position, np.float64),
        "what": np.asarray(objects.what, np.float64),
    }
    if ids is not None:
        said["ids"] = np.asarray(ids)
    if draw is not None:
        error = np.asarray(draw(carry).reconstruction) - pictures / 255
        said["mse"] = (error**2).mean(axis=(1, 2, 3))
    return said


def known(truth: EnvTruth) -> dict[str, np.ndarray]:
    """Return what the environment knows about the current frame, by the names of `Truth`."""
    segmentation = truth.segment()
    return {
        "centres": truth.places()[:, :-1],
        "visible": segmentation.visible,
        "alone": segmentation.alone,
        "arm": segmentation.arm,
        "hand": truth.body,
        "objects": truth.objects,
    }


def _detections(arrays: dict[str, np.ndarray]) -> Detections:
    """Gather the encoder's part of tracked arrays."""
    return Detections(arrays["seen"], arrays["position"], arrays["what"], arrays.get("ids"))


def _truth(arrays: dict[str, np.ndarray]) -> Truth:
    """Gather the simulator's part of tracked arrays."""
    names = ("centres", "visible", "alone", "arm", "hand", "objects")
    return Truth(*(arrays[name] for name in names))
