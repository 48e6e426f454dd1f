"""Where the own hand and known things are, told by the whole picture.

Ours, not the paper's. A small network that learned from many places that the tracker saw
(`training/finder.py`): what was wrong in a few frames is outvoted by the others. The hand is found
from points all over the arm, for an arm is one long object that leaves the picture; a thing is
found where the picture looks like it, whatever else is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_CHANNELS, _POINTS = (12, 24), 12
_CLEAR, _NEAR = 0.2, 0.2  # chance and way, image coordinates, from which a hand's cell counts
_NOWHERE = -4.0  # before training, the logit of a thing being in a cell


@dataclass(frozen=True)
class Sight:
    """Of B pictures: the hand (B, 2), and each of K things: how surely it is seen (B, K), and
    where (B, K, 2)."""

    hand: Tensor
    chance: Tensor
    place: Tensor


class Finder(nn.Module):
    """Looks for `_POINTS` points of the arm, from which the hand follows, and for `things`."""

    usual: Tensor

    def __init__(self, image_size: int, things: int) -> None:
        super().__init__()
        one, two = _CHANNELS
        self.things = things
        self.body = nn.Sequential(
            nn.Conv2d(3, one, 5, 2, 2), nn.ReLU(), nn.Conv2d(one, two, 5, 2, 2), nn.ReLU()
        )
        self.points = nn.Conv2d(two, _POINTS, 3, 1, 1)
        self.head = nn.Linear(2 * _POINTS, 2)
        self.cells = nn.Sequential(
            nn.Conv2d(two, two, 3, 1, 1), nn.ReLU(), nn.Conv2d(two, 3 * (things + 1), 1)
        )
        last = self.cells[-1]
        assert isinstance(last, nn.Conv2d)
        assert last.bias is not None
        nn.init.zeros_(last.bias)
        nn.init.constant_(last.bias[: things + 1], _NOWHERE)
        self.register_buffer("usual", torch.zeros(3, image_size, image_size))

    def maps(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the hand by points of the arm (B, 2); the logit of each thing, and last of the
        hand, being in a cell (B, K + 1, h, w), and where in it (B, 2, K + 1, h, w), in cells."""
        seen = self.body(3 * (images - self.usual))
        points = self.points(seen)
        # Where each map is brightest, softly (spatial softmax).
        share = points.flatten(2).softmax(-1).view_as(points)
        across, down = (
            shares @ ((2 * torch.arange(count, device=share.device) + 1) / count - 1)
            for shares, count in ((share.sum(2), share.shape[3]), (share.sum(3), share.shape[2]))
        )
        hand = self.head(torch.cat([across, down], -1))
        cells = self.cells(seen)
        kinds = self.things + 1
        return hand, cells[:, :kinds], cells[:, kinds:].unflatten(1, (2, kinds))

    def forward(self, images: Tensor) -> Sight:
        """Find everything in pictures (B, 3, S, S) in [0, 1]; places are image coordinates."""
        hand, logit, offset = self.maps(images)
        side = logit.shape[-1]  # pictures are square
        # A thing between two cells is in either by half.
        near = 9 * F.avg_pool2d(logit.sigmoid(), 3, 1, 1)
        cell = logit.flatten(2).argmax(-1)
        middle = torch.stack([cell % side, cell // side], -1) + 0.5
        inside = offset.flatten(3).gather(3, cell[:, None, :, None].expand(-1, 2, -1, 1))[..., 0]
        place = (middle + inside.transpose(1, 2)) * 2 / side - 1
        chance = near.flatten(2).gather(2, cell[..., None])[..., 0]
        # The hand is measured twice; both count, if they agree that it is in the picture.
        clear = (chance[:, -1:] > _CLEAR) & (
            (place[:, -1] - hand).norm(dim=-1, keepdim=True) < _NEAR
        )
        hand = torch.where(clear, (hand + place[:, -1]) / 2, hand)
        return Sight(hand.clamp(-1, 1), chance[:, :-1].clamp_max(1), place[:, :-1].clamp(-1, 1))
