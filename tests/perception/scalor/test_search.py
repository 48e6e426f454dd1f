"""Fitting a half-hidden ellipse: what shows must lie inside it, and no background may."""

import pytest
import torch

from smorl.perception.scalor.search import _REACH, _fit, _offsets

AXES = (0.1, 0.13)
DOWN, ACROSS = _offsets(_REACH)
SPACING = float(ACROSS[0, 1] - ACROSS[0, 0])
PLACES = [(0.0, 0.0), (0.1, -0.05), (-0.13, 0.07)]


def ellipse(x: float, y: float) -> torch.Tensor:
    return ((ACROSS - x) / AXES[0]) ** 2 + ((DOWN - y) / AXES[1]) ** 2 <= 1


def fit(like: torch.Tensor, clear: torch.Tensor) -> torch.Tensor:
    return _fit(like[None, None], clear[None, None], torch.tensor([[AXES]]), _REACH)[0, 0]


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
