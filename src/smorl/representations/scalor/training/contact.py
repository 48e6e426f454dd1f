"""A second round of data, in which things are pushed: random motion hardly ever touches them.

Ours, not the paper's. After a part of training the model tracks well enough to go where its own
objects are. A hand is steered to one side of a thing and on to the other, then to the next thing,
gently in every other episode. Which object is the hand, how actions move it and where it is when it
touches is read off the random data (`planning.gentle`); nobody tells where anything is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from smorl.envs.contract import action_size, observation_shape
from smorl.envs.factory import make_visual_envs
from smorl.errors import Diverged
from smorl.goals.own_body import hand_and_things, steps_by_id
from smorl.planning.gentle import GentleContact
from smorl.representations.base import Encoder
from smorl.representations.scalor.training.own_body import follow
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.video import Progress, Sequences
from smorl.seeding import stream
from smorl.types import ObjectSet

_EPISODES = 100  # of random data that are looked at
_BEHIND, _BEYOND = 1.6, 1.2  # long steps of the hand from a thing at which a push begins and ends
_ARRIVED = 0.5  # long steps
_STROKE = (6, 14)  # steps after which another thing is tried
_NOISE = 0.3


@dataclass(frozen=True)
class Toucher:
    """How a hand gets to a thing: `steer` (P, A) is the action that moves it by a long step."""

    contact: GentleContact
    steer: np.ndarray

    @classmethod
    def fit(cls, weights: PerceptionWeights, data: Sequences) -> Toucher | None:
        """Read it off random data; None if no hand is seen to move things."""
        followed = follow(weights, data, _EPISODES)
        if followed is None or followed.contact is None:
            return None
        objects, contact = followed.objects, followed.contact
        now, following = objects[:, :-1], objects[:, 1:]
        hand, _ = hand_and_things(now, followed.rest, contact.reach)
        step, seen = (
            np.take_along_axis(a, hand.reshape(*hand.shape, *(1,) * (a.ndim - 2)), 2)[:, :, 0]
            for a in steps_by_id(now, following)
        )
        way = np.linalg.lstsq(
            followed.actions[:, 1:][seen], step[seen] @ contact.basis, rcond=None
        )[0]
        return cls(contact, np.linalg.pinv(way).astype(np.float32))


@dataclass
class Stroke:
    """What one row is doing: pushing the thing `identity` in a direction (P,) of long steps."""

    rng: np.random.Generator
    gentle: bool
    identity: int = -1
    direction: np.ndarray = field(default_factory=lambda: np.zeros(2))
    behind: bool = False
    left: int = 0

    def aim(self, hand: np.ndarray, places: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
        """Return the way (P,) to go from `hand`, given things (M, P) and their IDs; None: any."""
        self.left -= 1
        if self.left < 0 or self.identity not in ids:
            if not len(ids):
                return None
            self.identity = int(self.rng.choice(ids))
            way = self.rng.normal(size=hand.shape)
            self.direction = way / max(float(np.linalg.norm(way)), 1e-6)
            self.left, self.behind = int(self.rng.integers(*_STROKE)), False
        place = places[list(ids).index(self.identity)]
        start = place - _BEHIND * self.direction - hand
        self.behind = self.behind or float(np.linalg.norm(start)) < _ARRIVED
        return place + _BEYOND * self.direction - hand if self.behind else start


def push(toucher: Toucher, strokes: list[Stroke], objects: ObjectSet) -> NDArray[np.float32]:
    """Return the next actions (B, A) of rows that see `objects` (B, N)."""
    contact = toucher.contact
    hand, things = hand_and_things(objects, contact.rest, contact.reach)
    place = objects.position @ contact.basis
    shift = contact.offset @ contact.basis
    actions = np.empty((len(strokes), toucher.steer.shape[1]), np.float32)
    for row, stroke in enumerate(strokes):
        mine, known = place[row, hand[row]] - shift, things[row]
        way = stroke.aim(mine, place[row, known], objects.ids[row, known])
        noise = stroke.rng.normal(0, _NOISE, actions.shape[1])
        # Where there is nothing to push the hand goes somewhere, which may show something.
        steered = 3 * noise if way is None else way @ toucher.steer + noise
        actions[row] = np.clip(steered, -1, 1)
    gentle = np.array([stroke.gentle for stroke in strokes])
    return np.where(gentle[:, None], contact(objects, actions), actions)


def collect_contact(
    env_id: str,
    tracker: Encoder,
    toucher: Toucher,
    episodes: int,
    steps: int,
    seed: int,
    num_envs: int = 50,
    threads: int = 1,
    progress: Progress | None = None,
    image_size: int | None = None,
) -> Sequences:
    """Push things about; the same tracker and seed give the same sequences."""
    rows = min(num_envs, episodes)
    envs = make_visual_envs(env_id, rows, threads, image_size=image_size)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    try:
        for first in range(0, episodes, rows):
            parts.append(_collect(envs, tracker, toucher, steps, seed, first))
            if progress is not None:
                progress(min(first + rows, episodes), episodes)
    finally:
        envs.close()
    images, actions = (np.concatenate(arrays)[:episodes] for arrays in zip(*parts, strict=True))
    return Sequences(env_id, seed, images, actions)


def _collect(
    envs: gym.vector.VectorEnv,
    tracker: Encoder,
    toucher: Toucher,
    steps: int,
    seed: int,
    first: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows = envs.num_envs
    rngs = [stream(seed, f"perception/contact/{first + row}") for row in range(rows)]
    seeds = [int(rng.integers(2**31)) for rng in rngs]
    strokes = [Stroke(rng, gentle=(first + row) % 2 == 1) for row, rng in enumerate(rngs)]
    images = np.empty((rows, steps + 1, *observation_shape(envs)), np.uint8)
    actions = np.zeros((rows, steps + 1, action_size(envs)), np.float32)
    observation, _ = envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    carry, ended = tracker.init(rows), np.zeros(rows, bool)
    for t in range(steps + 1):
        if t:
            observation, _, terminated, truncated, _ = envs.step(actions[:, t])
            ended |= terminated | truncated
        images[:, t] = observation["observation"]
        carry, objects = tracker.step(carry, images[:, t], actions[:, t])
        if t < steps:
            actions[:, t + 1] = push(toucher, strokes, objects)
    if ended.all():
        raise Diverged(f"All {rows} episodes of pushing ended early; use another seed.")
    # An episode that ended (diverged physics) shows another one after that: take one that did not.
    kept = np.where(ended, np.argmin(ended), np.arange(rows))
    return images[kept], actions[kept]
