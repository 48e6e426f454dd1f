"""How well does a perception serve an agent? Measured on episodes in which pucks are pushed.

A scripted pusher with noisy hands pushes and pulls pucks all over the table while the encoder
follows. What an agent needs is asked of every frame and puck: does the goal's object match (Eq. 7),
with the appearance of the first frame or of a goal image as the goal; is it the right one; how far
off is its place; how steady is it at rest; is the hand where it is. For evaluation only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.envs.contract import require_truth
from smorl.envs.factory import make_visual_envs
from smorl.envs.tabletop.scripted import ScriptedPusher
from smorl.errors import InvalidInput
from smorl.evaluation.detection_metrics import GATE_PIXELS, HAND_TOUCHES, OCCLUDED_SHARE
from smorl.evaluation.detection_metrics import LEAST_SHARE as SEEN_SHARE
from smorl.goals.matching import match, take_object
from smorl.representations.base import Encoder
from smorl.seeding import stream
from smorl.types import ObjectSet

STEPS = 50
NOISE = 0.15  # deviation of what is added to the pusher's actions, so that pucks are also knocked
PUSHED, RESTING = 2e-3, 2e-4  # metres moved in a step from which a puck is pushed, below: at rest
NEAR_HAND = 2.0  # pixels
# How a puck stands in a frame; the first that applies, in this order.
KINDS = ("hidden", "half hidden", "touching or pushed", "free")


@dataclass(frozen=True)
class Pushing:
    """E episodes of T frames, n pucks: what was seen and what is true.

    objects (E, T, N, .) and targets (E, N, .), the objects of the goal images; truth in image
    coordinates: pucks (E, T, n, 2), goals (E, n, 2), hand (E, T, 2); share (E, T, n) of each puck
    that is visible; moved (E, T, n) metres since the frame before; gap (E, T, n) metres from the
    hand; images uint8 (E, T, S, S, 3).
    """

    objects: ObjectSet
    targets: ObjectSet
    pucks: np.ndarray
    goals: np.ndarray
    hand: np.ndarray
    share: np.ndarray
    moved: np.ndarray
    gap: np.ndarray
    images: np.ndarray

    @property
    def pixels(self) -> float:
        """Pixels per unit of image coordinates."""
        return self.images.shape[2] / 2

    def kinds(self) -> dict[str, np.ndarray]:
        """Return masks (E, T, n), one of which is true for each puck of each frame."""
        hidden, half = self.share < SEEN_SHARE, self.share < OCCLUDED_SHARE
        touching = (self.gap <= HAND_TOUCHES) | (self.moved > PUSHED)
        masks = (hidden, half & ~hidden, touching & ~half, ~touching & ~half)
        return dict(zip(KINDS, masks, strict=True))


def record(
    encoder: Encoder,
    env_id: str,
    episodes: int,
    seed: int,
    threads: int = 1,
    steps: int = STEPS,
    num_envs: int = 25,
    progress: Callable[[int, int], None] | None = None,
) -> Pushing:
    """Push pucks about under the eyes of an encoder; the same seed gives the same episodes."""
    if episodes < 1 or steps < 2:
        raise InvalidInput(f"episodes={episodes}, steps={steps}; at least 1 and 2.")
    parts: list[Pushing] = []
    for start in range(0, episodes, num_envs):
        rows = min(num_envs, episodes - start)
        envs = make_visual_envs(env_id, rows, threads, goal_images=True)
        try:
            parts.append(_record(encoder, envs, seed, start, steps))
        finally:
            envs.close()
        if progress is not None:
            progress(start + rows, episodes)
    return Pushing(**{name: _join([getattr(p, name) for p in parts]) for name in vars(parts[0])})


def _join(parts: list[Any]) -> Any:
    return ObjectSet.join(parts) if isinstance(parts[0], ObjectSet) else np.concatenate(parts)


def _record(
    encoder: Encoder, envs: gym.vector.VectorEnv, seed: int, first: int, steps: int
) -> Pushing:
    truth: Any = require_truth(envs, "pushing with the scripted pusher")
    rows = envs.num_envs
    rngs = [stream(seed, f"pushing/{first + row}") for row in range(rows)]
    observation, _ = envs.reset(
        seed=[int(rng.integers(2**31)) for rng in rngs]  # pyright: ignore[reportArgumentType]
    )
    pusher, carry = ScriptedPusher(), encoder.init(rows)
    targets = encoder.encode_goal(observation["desired_goal"])
    desired = np.concatenate([truth.goal_body, truth.goal_objects.reshape(rows, -1)], 1)
    goals = truth.goal_places()[:, :-1]
    action, frames = np.zeros((rows, 2), np.float32), []
    before = truth.objects
    for t in range(steps + 1):
        if t:
            observation = envs.step(action)[0]
        carry, objects = encoder.step(carry, observation["observation"], action)
        pucks, hand = truth.objects, truth.body
        parts = truth.segment()
        frames.append(
            {
                "objects": objects,
                "pucks": truth.places()[:, :-1],
                "hand": truth.hand_in_picture(),
                "share": parts.visible / np.maximum(parts.alone, 1),
                "moved": np.linalg.norm(pucks - before, axis=-1),
                "gap": np.linalg.norm(pucks - hand[:, None], axis=-1),
                "images": observation["observation"],
            }
        )
        before = pucks
        state = np.concatenate([hand, pucks.reshape(rows, -1)], 1)
        noise = np.stack([rng.normal(0, NOISE, 2) for rng in rngs])
        action = np.clip(pusher.act(state, desired) + noise, -1, 1).astype(np.float32)
    objects = ObjectSet.stack([frame.pop("objects") for frame in frames])
    arrays = {name: np.stack([f[name] for f in frames], 1) for name in frames[0]}
    return Pushing(objects=objects, targets=targets, goals=goals, **arrays)


@dataclass(frozen=True)
class Matches:
    """Per puck and frame (E, T, n): is there a goal to ask for, is it matched, which slot (-1:
    none), and how far in pixels that slot is from the puck."""

    asked: np.ndarray
    matched: np.ndarray
    slot: np.ndarray
    error: np.ndarray


def match_goals(seen: Pushing, threshold: float, source: str) -> Matches:
    """Match every puck's goal in every frame; `source` of its appearance: "first" or "goal"."""
    if source == "first":
        known, places = seen.objects[:, 0], seen.pucks[:, 0]
    else:
        known, places = seen.targets, seen.goals
    offset = np.linalg.norm(known.position[:, None] - places[:, :, None], axis=-1) * seen.pixels
    offset = np.where(known.present[:, None], offset, np.inf)
    index, found = offset.argmin(-1), offset.min(-1) <= GATE_PIXELS
    what = np.take_along_axis(known.what, index[..., None], 1)  # (E, n, W)
    frames, pucks = seen.share.shape[1:]
    spread = seen.objects.map(lambda a: np.repeat(a[:, :, None], pucks, 2))
    result = match(spread, np.repeat(what[:, None], frames, 1), threshold)
    place = take_object(spread.position, result.index)
    error = np.linalg.norm(place - seen.pucks, axis=-1) * seen.pixels
    asked = np.repeat(found[:, None], frames, 1)
    matched = result.matched & asked
    return Matches(asked, matched, np.where(matched, result.index, -1), error)


def scores(seen: Pushing, threshold: float) -> dict[str, float | int | None]:
    """Return the numbers of a perception on pushing episodes, flat and JSON-ready.

    Shares in [0, 1], distances in pixels of the agent's picture. `matched` counts a puck that was
    not found in the first frame as not matched; `goal_found` says in how many goal images a puck
    is found at all, and the goal's shares are of those.
    """
    numbers: dict[str, float | int | None] = {"episodes": len(seen.images), "threshold": threshold}
    first, goal = (match_goals(seen, threshold, source) for source in ("first", "goal"))
    numbers["first_found"] = float(first.asked[:, 0].mean())
    numbers["goal_found"] = float(goal.asked[:, 0].mean())
    for kind, mask in seen.kinds().items():
        name = kind.replace(" ", "_")
        numbers[f"{name}/frames"] = int(mask.sum())
        numbers[f"{name}/matched"] = _mean(first.matched[mask])
        numbers[f"{name}/matched_goal"] = _mean(goal.matched[mask & goal.asked])
        hits = mask & first.matched
        # A wrong object is one elsewhere; a hidden puck has no place to compare with.
        numbers[f"{name}/wrong"] = _mean((first.error > GATE_PIXELS)[hits])
        right = first.error[hits & (first.error <= GATE_PIXELS)]
        numbers[f"{name}/error_median"] = float(np.median(right)) if len(right) else None
        numbers[f"{name}/error_90"] = float(np.quantile(right, 0.9)) if len(right) else None
    visible = first.matched & (seen.share >= SEEN_SHARE)
    numbers["wrong"] = _mean((first.error > GATE_PIXELS)[visible])
    return numbers | {"jitter": jitter(seen, first), **hand_scores(seen, first)}


def jitter(seen: Pushing, matches: Matches) -> float | None:
    """Mean way in pixels that the place of a resting puck in full view goes from frame to frame."""
    place = np.take_along_axis(
        seen.objects.position, np.maximum(matches.slot, 0)[..., None], axis=2
    )
    way = np.linalg.norm(place[:, 1:] - place[:, :-1], axis=-1) * seen.pixels
    good = (matches.slot >= 0) & (matches.error <= GATE_PIXELS) & (seen.share >= OCCLUDED_SHARE)
    rests = good[:, 1:] & good[:, :-1] & (seen.moved[:, 1:] < RESTING)
    return _mean(way[rests])


def hand_scores(seen: Pushing, matches: Matches) -> dict[str, float | None]:
    """How far the nearest object that is no puck is from the hand, but for a constant offset."""
    taken = np.zeros(seen.objects.present.shape, bool)
    episode, frame, puck = np.nonzero((matches.slot >= 0) & (matches.error <= GATE_PIXELS))
    taken[episode, frame, matches.slot[episode, frame, puck]] = True
    offset = (seen.objects.position - seen.hand[:, :, None]) * seen.pixels
    free = seen.objects.present & ~taken
    constant, nearest = np.zeros(2), offset[..., 0, :]
    known = np.zeros(nearest.shape[:-1], bool)
    for _ in range(3):  # which object is nearest depends a little on the offset
        away = np.where(free, np.linalg.norm(offset - constant, axis=-1), np.inf)
        nearest = np.take_along_axis(offset, away.argmin(-1)[..., None, None], 2)[..., 0, :]
        known = np.isfinite(away.min(-1))
        if not known.any():
            return {"hand_near": 0.0, "hand_error_median": None}
        constant = np.median(nearest[known], axis=0)
    # A hand outside the picture cannot be seen.
    inside = (np.abs(seen.hand) < 1).all(-1)
    error = np.linalg.norm(nearest - constant, axis=-1)
    near = known & (error <= NEAR_HAND)
    return {
        "hand_near": _mean(near[inside]),
        "hand_error_median": float(np.median(error[known & inside])),
        "hand_error_90": float(np.quantile(error[known & inside], 0.9)),
    }


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None
