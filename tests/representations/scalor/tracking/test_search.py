"""Fitting a half-hidden ellipse: what shows must lie inside it, and no background may."""

import numpy as np
import pytest
import torch

from smorl.representations.scalor.kernels import colours
from smorl.representations.scalor.tracking.masks import extent_of
from smorl.representations.scalor.tracking.search import _REACH, own_masks

AXES = (0.1, 0.13)
LINE = ((2 * torch.arange(colours.POINTS) + 1) / colours.POINTS - 1) * _REACH
DOWN, ACROSS = torch.meshgrid(LINE, LINE, indexing="ij")
SPACING = float(ACROSS[0, 1] - ACROSS[0, 0])
PLACES = [(0.0, 0.0), (0.1, -0.05), (-0.13, 0.07)]


def ellipse(x: float, y: float) -> torch.Tensor:
    return ((ACROSS - x) / AXES[0]) ** 2 + ((DOWN - y) / AXES[1]) ** 2 <= 1


def fit(like: torch.Tensor, clear: torch.Tensor) -> torch.Tensor:
    value = like.int() - clear.int()
    return torch.from_numpy(colours.fit(value.long().numpy(), np.float32(AXES), _REACH))


@pytest.mark.parametrize("place", PLACES)
def test_a_whole_ellipse_is_found_to_a_fraction_of_a_point(place):
    shown = ellipse(*place)
    torch.testing.assert_close(fit(shown, ~shown), torch.tensor(place), atol=SPACING / 2, rtol=0)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("side", ["left", "right", "upper", "lower"])
def test_half_of_it_tells_where_the_whole_is(place, side):
    """The centre of what shows is a good part of a radius off; the fit is not."""
    x, y = place
    cut = {"left": x > ACROSS, "right": x < ACROSS, "upper": y > DOWN, "lower": y < DOWN}[side]
    shown = ellipse(*place) & cut
    clear = cut & ~ellipse(*place)  # the other half of the picture is covered by something
    found = fit(shown, clear)
    assert (found - torch.tensor(place)).norm() < 1.5 * SPACING
    middle = torch.stack([ACROSS[shown].mean(), DOWN[shown].mean()])
    assert (found - torch.tensor(place)).norm() < (middle - torch.tensor(place)).norm()


def test_background_pushes_the_ellipse_away():
    shown = torch.zeros_like(ellipse(0, 0))
    shown[9:11, 9:11] = True
    clear = ACROSS > 0.03
    assert fit(shown, clear)[0] < -0.03


BLUE, GREY, TABLE = (0.1, 0.1, 0.9), (0.4, 0.4, 0.4), (0.8, 0.7, 0.6)
ARM, PUCK = (0.2, 0.5, 0.0, -0.3), (0.12, 0.12, 0.0, 0.1)  # boxes: half sizes, middle


class TwoThings:
    """A model that draws a blue disc and a grey bar, which ends above it or covers its place."""

    def __init__(self, bar: torch.Tensor) -> None:
        self.bar, self.decoder = bar, self

    def __call__(self, what: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        line = (2 * torch.arange(32) + 1) / 32 - 1
        disc = (line[:, None] ** 2 + line**2 < 1).float()
        masks = torch.stack([self.bar, disc])[:, :, None]
        paint = torch.tensor([GREY, BLUE])[:, None, :, None].expand(2, 32, 3, 32)
        which = what[..., 0].long()
        return paint[which], masks[which]


def scene(front: str) -> torch.Tensor:
    """A grey bar from the top down to -0.02 and a blue disc below it, or the bar before it."""
    line = (2 * torch.arange(64) + 1) / 64 - 1
    y, x = torch.meshgrid(line, line, indexing="ij")
    disc = (x - PUCK[2]) ** 2 + (y - PUCK[3]) ** 2 < PUCK[0] ** 2
    bar = (x.abs() < 0.2) & (y < (0.2 if front == "arm" else -0.02))
    image = torch.tensor(TABLE)[:, None, None].expand(3, 64, 64).clone()
    for shape, colour in ((disc, BLUE), (bar, GREY)):
        image[:, shape] = torch.tensor(colour)[:, None]
    return image[None]


def place_of_arm(front: str, *, carve: bool = True) -> float:
    bar = torch.ones(32, 32)  # drawn down to 0.2: the disc's place is part of it
    model, boxes = TwoThings(bar), torch.tensor([ARM, PUCK])
    rows, what = torch.zeros(2, dtype=torch.int64), torch.tensor([[0.0], [1.0]])
    masks = model(what)[1]
    if carve:
        masks = own_masks(model, rows, what, boxes, masks, scene(front))
    place, _ = extent_of(masks, boxes)
    torch.testing.assert_close(place[1], torch.tensor(PUCK[2:]), atol=0.02, rtol=0)
    return float(place[0, 1])


def test_a_puck_drawn_as_the_end_of_the_arm_does_not_move_the_arm():
    drawn, carved = place_of_arm("puck", carve=False), place_of_arm("puck")
    assert drawn > 0.0  # the lowest part of what is drawn is where the puck is
    assert carved < drawn - 0.1


def test_an_arm_before_the_puck_keeps_what_hides_it():
    assert place_of_arm("arm") == place_of_arm("arm", carve=False)
