"""What matching and goals need besides the model, fitted to encodings of the training data.

Appearance statistics, the matching threshold and the prior p(where | what) (Alg. 2, line 3). All
of it is self-supervised: nothing here knows where the simulator put anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smorl.goals.appearance import (
    appearance_basis,
    choose_threshold,
    match_rates,
    resting_tracks,
    self_supervised_pairs,
)
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.scalor.training.prior import fit_prior
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.weights import PerceptionWeights, rounded
from smorl.representations.video import Sequences

ENCODED_EPISODES, ENCODED_FRAMES = 100, 41


@dataclass(frozen=True)
class Encodings:
    """Tracked sequences: what (E, T, N, W), position and extent (E, T, N, 2), ids (E, T, N), -1 if
    unseen, names (E, T, N), the same of what is only remembered, too, present (E, T, N) bool."""

    what: np.ndarray
    position: np.ndarray
    extent: np.ndarray
    ids: np.ndarray
    names: np.ndarray
    present: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """Which slots hold an object that was seen in that very frame."""
        return self.ids >= 0


def fit_weights(
    config: ScalorTrainingConfig,
    state: PerceptionState,
    data: Sequences,
    command: str,
    random: int | None = None,
) -> PerceptionWeights:
    """Return all a trained perception consists of, for the model as it will be stored.

    The prior is of the first `random` episodes (None: all): where things are that nobody pushed.
    """
    model = rounded(state.model)
    encodings = encode(raw_tracker(model), data)
    things = resting_tracks(encodings.position, encodings.ids)
    mean, basis = appearance_basis(encodings.what, encodings.ids, things)
    normalised = (encodings.what - mean) @ basis
    threshold, match = fit_threshold(normalised, encodings.ids, things)
    left = _spread(data, ENCODED_EPISODES) < (data.episodes if random is None else random)
    prior = fit_prior(normalised[left], encodings.position[left], encodings.ids[left], config.seed)
    return PerceptionWeights(
        config=config.scalor,
        model=model,
        what_mean=mean,
        what_basis=basis,
        prior=prior.to_arrays(),
        threshold=threshold,
        meta={
            "env": config.env,
            "seed": config.seed,
            "attempt": state.attempt,
            "iterations": state.iteration,
            "command": command,
            "match": match,
        },
    )


def raw_tracker(model: Scalor) -> ScalorTracker:
    """Return the tracker of a fit, which adds nothing to the model: whatever depends on how
    appearances compare must wait until that is known, or tracks would look far too steady."""
    return ScalorTracker(model, config=TrackerConfig.plain())


def encode(
    tracker: ScalorTracker,
    data: Sequences,
    episodes: int = ENCODED_EPISODES,
    frames: int = ENCODED_FRAMES,
) -> Encodings:
    """Track a few thousand frames spread over the data."""
    images, actions = spread_sequences(data, episodes, frames)
    carry = tracker.init(len(images))
    found: list[tuple[np.ndarray, ...]] = []
    for t in range(images.shape[1]):
        carry, objects = tracker.step(carry, images[:, t], actions[:, t])
        seen = np.asarray(objects.present) & (np.asarray(carry.age) == 0)
        ids = np.where(seen, carry.ids, -1)
        names = np.where(objects.present, carry.ids, -1)
        found.append((objects.what, objects.position, objects.scale, ids, names, objects.present))
    return Encodings(*(np.stack(arrays, 1) for arrays in zip(*found, strict=True)))


def fit_threshold(
    what: np.ndarray, ids: np.ndarray, things: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Choose the matching threshold; report match and false-match rates on the same pairs."""
    same, different = self_supervised_pairs(what, ids, things)
    if not len(same) or not len(different):
        return 0.5, {"pairs": 0}
    threshold = choose_threshold(same, different)
    matched, mistaken = match_rates(same, different, threshold)
    return threshold, {"pairs": len(same), "match_rate": matched, "false_match_rate": mistaken}


def spread_sequences(data: Sequences, episodes: int, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first frames of episodes spread over the data: images and actions."""
    chosen = _spread(data, episodes)
    return data.images[chosen, :frames], data.actions[chosen, :frames]


def _spread(data: Sequences, episodes: int) -> np.ndarray:
    """Return the numbers of at most so many episodes spread over the data."""
    return np.unique(np.linspace(0, data.episodes - 1, min(episodes, data.episodes)).astype(int))
