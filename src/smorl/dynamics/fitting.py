"""Fit a model of objects to replayed episodes, and say how well it predicts others.

Self-supervised: the encoder's own IDs say which object went where. Every 16th episode of the replay
is held out, and only ever used to judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from smorl.devices import to_array
from smorl.dynamics.base import Bodies, View
from smorl.dynamics.object_model import ObjectModel
from smorl.goals.matching import lengths
from smorl.goals.own_body import hand_and_things, steps_by_id
from smorl.ranges import within
from smorl.replay.relabel import frames
from smorl.types import Episode, ObjectSet

HELD_OUT = 16  # one episode in so many
_CANDIDATES = 4  # transitions looked at for one that is used, to find enough in which things move
HUBER = 0.2  # steps of the hand: smaller errors count squared
_SMALLEST = 1e-4  # of a spread or a step, in the encoder's coordinates


@dataclass(frozen=True)
class DynamicsConfig:
    """The model of objects, and how it is fitted along the run."""

    width: int = 128  # of the hidden layers
    batch_size: int = 512  # transitions per gradient step
    lr: float = 1e-3  # learning rate
    updates_per_step: float = 0.04  # gradient steps per environment step
    moved: float = 0.15  # steps of the hand a thing must go to count as moved

    def __post_init__(self) -> None:
        within(self, {
            "width": (1, 4096), "batch_size": (2, 10**6), "lr": (1e-9, 10),
            "updates_per_step": (0, 1000), "moved": (0, 1e6),
        })  # fmt: skip


@dataclass(frozen=True)
class Transitions:
    """B transitions: sets, executed actions, steps (B, N, P), and which steps are known (B, N)."""

    bodies: Bodies
    actions: Tensor
    steps: Tensor
    known: Tensor

    def to(self, device: torch.device) -> Transitions:
        """Return the transitions on a device."""
        return Transitions(*(part.to(device) for part in vars(self).values()))


def scales(objects: ObjectSet, view: View) -> tuple[Tensor, Tensor, Tensor]:
    """Return where objects of paths (E, T, N) usually are, how spread, and a step of the hand."""
    place = objects.position[objects.present]
    now, following = objects[:, :-1], objects[:, 1:]
    hand, _ = hand_and_things(now, view.rest, view.reach)
    step, known = steps_by_id(now, following)
    own = np.take_along_axis(step, hand[..., None, None], 2)[..., 0, :]
    own = own[np.take_along_axis(known, hand[..., None], 2)[..., 0]]
    unit = np.sqrt(np.square(own).mean(0)) if len(own) else np.ones(place.shape[-1])
    found = (place.mean(0), np.maximum(place.std(0), _SMALLEST), np.maximum(unit, _SMALLEST))
    centre, spread, unit = (torch.as_tensor(a, dtype=torch.float32) for a in found)
    return centre, spread, unit


def draw(
    episodes: Episode, size: int, config: DynamicsConfig, view: View, unit: np.ndarray, rng
) -> Transitions:
    """Draw a batch of the first `size` episodes; in half of it a thing moves, if enough do."""
    batch, horizon = config.batch_size, episodes.actions.shape[1]
    count = _CANDIDATES * batch
    # Held-out episodes give their place to the one after them.
    episode = rng.integers(0, size, count)
    episode = np.where(episode % HELD_OUT == 0, np.minimum(episode + 1, size - 1), episode)
    step = rng.integers(0, horizon, count)
    now = frames(episodes.objects, episode, step)
    steps, known = steps_by_id(now, frames(episodes.objects, episode, step + 1))
    bodies = view.bodies(now)
    far = lengths(steps / unit) > config.moved
    lively = np.flatnonzero((far & known & bodies.things.numpy()).any(-1))[: batch // 2]
    any_kind = np.arange(count - batch + len(lively), count)
    chosen = np.concatenate([lively, any_kind])
    return Transitions(
        bodies[chosen],
        view.executed(now[chosen], episodes.actions[episode[chosen], step[chosen]]),
        torch.from_numpy(steps[chosen]),
        torch.from_numpy(known[chosen]),
    )


def loss(model: ObjectModel, batch: Transitions) -> Tensor:
    """Huber loss of the steps of hand and things, in steps of the hand."""
    predicted = model(batch.bodies, batch.actions)
    known = batch.known & (batch.bodies.things | _own(batch.bodies))
    wrong = F.huber_loss(predicted, batch.steps / model.unit, reduction="none", delta=HUBER)
    return (wrong.sum(-1) * known).sum() / known.sum().clamp(min=1)


def _own(bodies: Bodies) -> Tensor:
    slots = torch.arange(bodies.things.shape[1], device=bodies.hand.device)
    return slots == bodies.hand[:, None]


@torch.no_grad()
def prediction_errors(
    model: ObjectModel, episodes: Episode, which: np.ndarray, view: View, horizon: int, moved: float
) -> dict[str, float]:
    """How far predictions of 1 to `horizon` steps are off on episodes `which`, by kind of thing.

    From every frame of these episodes the model imagines what the recorded actions do. Lengths are
    in the encoder's coordinates. `pushed`: things that are elsewhere in truth, farther than `moved`
    steps of the hand; `resting`: the others; `stays`: what predicting no motion would be off by on
    the pushed ones.
    """
    last = episodes.actions.shape[1] - horizon
    begin = np.arange(max(last, 0) + 1)
    episode, first = (a.ravel() for a in np.meshgrid(which, begin, indexing="ij"))
    start = frames(episodes.objects, episode, first)
    device, unit = model.unit.device, to_array(model.unit)
    bodies, found = view.bodies(start).to(device), {}
    for ahead in range(min(horizon, episodes.actions.shape[1])):
        now = frames(episodes.objects, episode, first + ahead)
        actions = view.executed(now, episodes.actions[episode, first + ahead])
        bodies = model.predict(bodies, actions.to(device))
        truth = frames(episodes.objects, episode, first + ahead + 1)
        gone, known = steps_by_id(start, truth)
        counted = known & to_array(bodies.things)
        far = counted & (np.linalg.norm(gone / unit, axis=-1) > moved)
        off = np.linalg.norm(to_array(bodies.position) - start.position - gone, axis=-1)
        name = f"dynamics/{ahead + 1}_steps"
        found[f"{name}/pushed"] = _mean(off[far])
        found[f"{name}/stays"] = _mean(np.linalg.norm(gone, axis=-1)[far])
        found[f"{name}/resting"] = _mean(off[counted & ~far])
    return found


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else 0.0
