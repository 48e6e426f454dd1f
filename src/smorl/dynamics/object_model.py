"""A small network that predicts where the hand and every thing go (docs/planning.md).

The hand moves first: its step follows from place, motion, action and the thing nearest to it. Each
thing follows by itself: from the hand now and a step later, from its neighbour, and from its own
motion. The same weights serve every thing, so order and number do not matter, and slots that hold
nothing have no say. Lengths are measured in steps of the hand, which come from the data.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from smorl.dynamics.base import Bodies

# Offsets in steps of the hand are also given squashed at these scales: contact is decided within a
# fraction of a step, the way around an object is several long.
SCALES = (0.25, 0.5, 1.0, 2.0, 5.0)
FAR = 1e3  # steps: where the neighbour of a thing without neighbours would be


class ObjectModel(nn.Module):
    """Predicts the steps of a hand and of things, relative to what is usual in the data."""

    centre: Tensor
    spread: Tensor
    unit: Tensor

    def __init__(self, places: int, actions: int, width: int, seed: int) -> None:
        """`places` is P, `actions` A; `seed` initialises the weights."""
        super().__init__()
        offset = places * (1 + len(SCALES))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.hand = Steps(2 * places + actions + offset, width, places)
            self.thing = Steps(5 * places + actions + 3 * offset, width, places)
        self.register_buffer("centre", torch.zeros(places))
        self.register_buffer("spread", torch.ones(places))
        self.register_buffer("unit", torch.ones(places))

    def know_scales(self, centre: Tensor, spread: Tensor, unit: Tensor) -> None:
        """Set where objects usually are (P,), how far from there, and a step of the hand."""
        self.centre.copy_(centre)
        self.spread.copy_(spread)
        self.unit.copy_(unit)

    @torch.no_grad()
    def predict(self, bodies: Bodies, actions: Tensor) -> Bodies:
        """Return the sets after the executed actions (B, A)."""
        return bodies.moved(self(bodies, actions) * self.unit)

    def forward(self, bodies: Bodies, actions: Tensor) -> Tensor:
        """Return the steps (B, N, P) of all objects, in steps of the hand; 0 for empty slots.

        What belongs to the body without being the hand is taken along by it.
        """
        place = bodies.position / self.unit
        motion = bodies.motion / self.unit
        usual = (bodies.position - self.centre) / self.spread
        count, slots, _ = place.shape
        rows = torch.arange(count, device=place.device)
        hand, at = place[rows, bodies.hand], usual[rows, bodies.hand]
        nearest, _ = _nearest(hand[:, None], place, bodies.things[:, None])
        own = [at, motion[rows, bodies.hand], actions, _squashed(nearest[:, 0])]
        step = self.hand(torch.cat(own, -1))
        # No gradient: the hand must not learn to move so that things are easier to predict.
        along = step.detach()
        beside = torch.stack([hand, hand + along, along, motion[rows, bodies.hand]], 1)
        now, later, along, pace = beside[:, :, None].expand(-1, -1, slots, -1).unbind(1)
        others = _others(bodies.things)
        neighbour, which = _nearest(place, place, others)
        its_motion = torch.gather(motion, 1, which[..., None].expand(-1, -1, place.shape[-1]))
        its_motion = its_motion * others.any(-1, keepdim=True)
        features = [
            usual,
            motion,
            actions[:, None].expand(-1, slots, -1),
            _squashed(place - now),
            _squashed(place - later),
            along,
            pace,
            _squashed(neighbour),
            its_motion,
        ]
        pushed = self.thing(torch.cat(features, -1))
        return torch.where(bodies.things[..., None], pushed, step[:, None])


class Steps(nn.Module):
    """What is linear goes straight through; a network adds what is not, such as contact."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.body = nn.Sequential(
            nn.Linear(inputs, width),
            nn.LayerNorm(width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.head = nn.Linear(width, outputs)
        for last in (self.linear, self.head):  # at first everything stays where it is
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.linear(inputs) + self.head(self.body(inputs))


def _squashed(offset: Tensor) -> Tensor:
    """Return offsets (..., P) in steps of the hand, plain as far as they matter and squashed."""
    scaled = [torch.tanh(offset / scale) for scale in SCALES]
    return torch.cat([offset.clamp(-10, 10) / 10, *scaled], -1)


def _others(things: Tensor) -> Tensor:
    """Return which things (B, N, N) each slot has for neighbours: all but itself."""
    same = torch.eye(things.shape[1], dtype=torch.bool, device=things.device)
    return things[:, None] & ~same


def _nearest(place: Tensor, others: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the offset (B, M, P) from each place to the nearest of the allowed, and its slot."""
    offset = others[:, None] - place[:, :, None]
    distance = offset.square().sum(-1).masked_fill(~allowed, torch.inf)
    slot = distance.argmin(-1)
    found = torch.gather(offset, 2, slot[..., None, None].expand(-1, -1, 1, offset.shape[-1]))
    none = ~allowed.any(-1, keepdim=True)
    return found[:, :, 0].masked_fill(none, FAR), slot
