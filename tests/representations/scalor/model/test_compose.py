"""Compositing: disjoint objects are painted, of overlapping ones the nearer wins."""

import pytest
import torch

from smorl.representations.scalor.model.compose import Layers, blend, layers
from tests.representations.scalor.small import noise

SIZE, GLIMPSE = 32, 8
RED, BLUE = torch.tensor([1.0, 0.1, 0.0]), torch.tensor([0.0, 0.2, 0.9])


def block(column: int, row: int) -> torch.Tensor:
    """The box of the GLIMPSE x GLIMPSE pixels from (row, column)."""
    x, y = ((2 * start + GLIMPSE) / SIZE - 1 for start in (column, row))
    return torch.tensor([GLIMPSE / SIZE, GLIMPSE / SIZE, x, y])


def squares(places, colours, depths, presences=None, masks=1.0) -> Layers:
    """Plain squares in one row of a batch."""
    count = len(places)
    colour = torch.stack(colours)[None, :, None, :, None].expand(1, count, GLIMPSE, 3, GLIMPSE)
    mask = torch.full((1, count, GLIMPSE, 1, GLIMPSE), masks)
    presence = torch.tensor([1.0] * count if presences is None else presences)[None, :, None]
    depth = torch.tensor(depths)[None, :, None]
    where = torch.stack([block(*place) for place in places])[None]
    return layers(colour, mask, presence, depth, where, SIZE)


def test_disjoint_objects_are_painted():
    background = noise(1, 3, SIZE, SIZE)
    picture, foreground, alpha = blend(
        squares([(2, 4), (18, 20)], [RED, BLUE], [0.0, 3.0]), background
    )
    painted, mask = background.clone(), torch.zeros(1, 1, SIZE, SIZE)
    for (column, row), colour in (((2, 4), RED), ((18, 20), BLUE)):
        part = (..., slice(row, row + GLIMPSE), slice(column, column + GLIMPSE))
        painted[part], mask[part] = colour[:, None, None], 1
    torch.testing.assert_close(picture, painted, rtol=0, atol=5e-4)
    torch.testing.assert_close(alpha, mask)
    torch.testing.assert_close(foreground, painted * mask, rtol=0, atol=5e-4)


def test_half_transparent_object_lets_the_background_through():
    background = noise(1, 3, SIZE, SIZE)
    picture, _, _ = blend(squares([(8, 8)], [RED], [0.0], masks=0.25), background)
    part = (0, slice(None), 10, 10)
    torch.testing.assert_close(
        picture[part], 0.25 * RED + 0.75 * background[part], rtol=0, atol=5e-4
    )


@pytest.mark.parametrize(("depths", "winner"), [((-9.0, 9.0), RED), ((9.0, -9.0), BLUE)])
def test_the_nearer_of_two_overlapping_objects_is_seen(depths, winner):
    picture, _, _ = blend(
        squares([(8, 8), (12, 12)], [RED, BLUE], list(depths)), torch.zeros(1, 3, SIZE, SIZE)
    )
    torch.testing.assert_close(picture[0, :, 14, 14], winner, rtol=0, atol=2e-3)


def test_overlap_is_the_mean_weighted_by_importance():
    picture, _, alpha = blend(
        squares([(8, 8), (12, 12)], [RED, BLUE], [0.0, 1.0], presences=[1.0, 0.5]),
        torch.zeros(1, 3, SIZE, SIZE),
    )
    one, two = torch.sigmoid(torch.tensor(0.0)), 0.5 * torch.sigmoid(torch.tensor(-1.0))
    expected = (one * RED + two * BLUE) / (one + two)
    assert alpha[0, 0, 14, 14] == 1  # two masks add up to 1.5 and are cut
    torch.testing.assert_close(picture[0, :, 14, 14], expected, rtol=0, atol=1e-4)


def test_absent_objects_change_nothing_at_all():
    background = noise(1, 3, SIZE, SIZE)
    alone = blend(squares([(8, 8)], [RED], [0.0]), background)
    joined = squares([(8, 8), (12, 12)], [RED, BLUE], [0.0, -9.0], presences=[1.0, 0.0])
    for one, two in zip(alone, blend(joined, background), strict=True):
        torch.testing.assert_close(one, two)


def test_groups_of_objects_add_up():
    """Tracked and new objects are pasted apart and composed together."""
    together = squares([(8, 8), (12, 12)], [RED, BLUE], [0.5, -0.5])
    apart = squares([(8, 8)], [RED], [0.5]) + squares([(12, 12)], [BLUE], [-0.5])
    for name in ("colour", "weight", "alpha"):
        torch.testing.assert_close(getattr(together, name), getattr(apart, name))


def test_order_of_objects_does_not_matter():
    one = squares([(8, 8), (12, 12)], [RED, BLUE], [0.5, -0.5])
    two = squares([(12, 12), (8, 8)], [BLUE, RED], [-0.5, 0.5])
    torch.testing.assert_close(one.colour, two.colour)


def test_cut_alpha_still_has_a_gradient():
    """Where masks add up to more than 1, the loss can still tell them to make room."""
    alpha = torch.full((1, 1, 2, 2), 1.5, requires_grad=True)
    whole = Layers(torch.full((1, 3, 2, 2), 0.4), torch.ones(1, 1, 2, 2), alpha)
    picture, _, cut = blend(whole, torch.ones(1, 3, 2, 2))
    assert (cut == 1).all()
    (gradient,) = torch.autograd.grad(picture.sum(), alpha)
    torch.testing.assert_close(gradient, torch.full_like(alpha, 3 * (0.4 - 1)), rtol=1e-4, atol=0)
