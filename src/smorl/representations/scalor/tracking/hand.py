"""Where the own hand is, told by the whole picture.

Ours, not the paper's. An arm is one long object that leaves the picture and hides others, so the
end of its mask is where the hand is only most of the time. A small network that learned from many
such places (`training/hand.py`) looks at the whole picture instead: what is wrong in a few frames
is outvoted by the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from smorl.devices import to_array, to_tensor
from smorl.goals.own_body import StillnessModel

_CHANNELS, _POINTS = (12, 24), 12


class HandFinder(nn.Module):
    """Looks for `_POINTS` points of the arm; the hand follows from them."""

    usual: Tensor

    def __init__(self, image_size: int) -> None:
        super().__init__()
        one, two = _CHANNELS
        self.body = nn.Sequential(
            nn.Conv2d(3, one, 5, 2, 2),
            nn.ReLU(),
            nn.Conv2d(one, two, 5, 2, 2),
            nn.ReLU(),
            nn.Conv2d(two, _POINTS, 3, 1, 1),
        )
        self.head = nn.Linear(2 * _POINTS, 2)
        self.register_buffer("usual", torch.zeros(3, image_size, image_size))

    def forward(self, images: Tensor) -> Tensor:
        """Return places (B, 2) in image coordinates, of pictures (B, 3, S, S) in [0, 1]."""
        maps = self.body(3 * (images - self.usual))
        # Where each map is brightest, softly (spatial softmax).
        share = maps.flatten(2).softmax(-1).view_as(maps)
        across, down = (
            shares @ ((2 * torch.arange(count, device=maps.device) + 1) / count - 1)
            for shares, count in ((share.sum(2), maps.shape[3]), (share.sum(3), maps.shape[2]))
        )
        return self.head(torch.cat([across, down], -1))


@dataclass(frozen=True)
class Hand:
    """The network, and which appearances are the own body's."""

    finder: HandFinder
    rest: StillnessModel

    def to(self, device: torch.device) -> Hand:
        """Have the network on a device."""
        return Hand(self.finder.to(device), self.rest)

    def put(self, images: Tensor, what: Tensor, present: Tensor, place: Tensor) -> Tensor:
        """Return places (B, N, 2) in which the part of the body nearest to the hand is there.

        `what` (B, N, W) are normalised appearances; where no body is seen nothing changes.
        """
        found = self.finder(images).clamp(-1, 1)[:, None]
        body = present & to_tensor(self.rest.of(to_array(what)) < 0.5, present.device)
        away = (place - found).norm(dim=-1).masked_fill(~body, torch.inf)
        slots = torch.arange(body.shape[1], device=body.device)
        mine = body & (slots == away.argmin(1, keepdim=True))
        return torch.where(mine[..., None], found, place)
