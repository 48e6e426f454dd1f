"""Separable sampling equals `grid_sample`; cutting out and pasting in undo each other."""

import pytest
import torch

from smorl.representations.scalor.bench import grid_sampling
from smorl.representations.scalor.model.geometry import (
    box,
    cell_centres,
    crop,
    paste_each,
    paste_sum,
)

SIZE, GLIMPSE = 32, 8
# scale x, scale y, x, y. None of them puts a sample just on a kink, where gradients are a choice.
BOXES = {
    "inside": (0.30917, 0.23083, 0.12119, -0.17237),
    "over an edge": (0.30173, 0.21391, -0.93127, 0.13271),
    "over a corner": (0.27119, 0.35237, 0.88391, 0.97173),
    "outside": (0.11083, 0.13917, 1.52371, -1.61193),
    "tiny": (0.02119, 0.03371, 0.41237, 0.22391),
    "larger than the picture": (1.43083, 1.27173, 0.06391, -0.04237),
}


def where_of(name: str) -> torch.Tensor:
    """Two rows of three boxes; the named one is first."""
    others = [BOXES["inside"], BOXES["over an edge"]]
    rows = [[BOXES[name], *others], [BOXES[name], others[1], others[0]]]
    where = torch.tensor(rows, dtype=torch.float64)
    where[1, 0] += torch.tensor([0.013, -0.017, 0.019, 0.011], dtype=torch.float64)
    return where.requires_grad_()


def same_in_value_and_gradient(ours, theirs, leaves) -> None:
    torch.testing.assert_close(ours, theirs)
    seed = torch.Generator().manual_seed(1)
    weights = torch.randn(ours.shape, generator=seed, dtype=ours.dtype)
    mine = torch.autograd.grad((ours * weights).sum(), leaves)
    reference = torch.autograd.grad((theirs * weights).sum(), leaves, retain_graph=True)
    for one, two in zip(mine, reference, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", BOXES)
def test_crop_equals_grid_sample(name):
    where = where_of(name)
    pictures = torch.rand(
        2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).requires_grad_()
    ours = crop(pictures, where, GLIMPSE)
    assert ours.shape == (2, 3, GLIMPSE, 3, GLIMPSE)
    same_in_value_and_gradient(
        ours, grid_sampling.crop(pictures, where, GLIMPSE), (pictures, where)
    )


@pytest.mark.parametrize("name", BOXES)
def test_paste_equals_grid_sample(name):
    where = where_of(name)
    glimpses = torch.rand(
        2, 3, GLIMPSE, 4, GLIMPSE, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).requires_grad_()
    theirs = grid_sampling.paste_each(glimpses, where, SIZE)
    same_in_value_and_gradient(paste_each(glimpses, where, SIZE), theirs, (glimpses, where))
    same_in_value_and_gradient(paste_sum(glimpses, where, SIZE), theirs.sum(1), (glimpses, where))


def test_float32_agrees_with_float64():
    """What training computes is the same to the precision of its numbers."""
    where = where_of("over a corner").detach()
    glimpses = torch.rand(2, 3, GLIMPSE, 4, GLIMPSE, generator=torch.Generator().manual_seed(0))
    exact = grid_sampling.paste_each(glimpses.double(), where, SIZE).sum(1)
    ours = paste_sum(glimpses, where.float(), SIZE)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours.double(), exact, rtol=0, atol=2e-5)


def aligned(column: int, row: int, pixels: int = GLIMPSE, size: int = SIZE) -> torch.Tensor:
    """The box of the `pixels` x `pixels` block whose first pixel is (row, column)."""
    x, y = ((2 * start + pixels) / size - 1 for start in (column, row))
    return torch.tensor([pixels / size, pixels / size, x, y])


def test_paste_after_crop_is_the_identity_on_aligned_boxes():
    pictures = torch.rand(1, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    where = torch.stack([aligned(3, 10), aligned(20, 0), aligned(24, 24)])[None]
    cut = crop(pictures, where, GLIMPSE)
    block = pictures[0, :, 10 : 10 + GLIMPSE, 3 : 3 + GLIMPSE]
    torch.testing.assert_close(cut[0, 0].transpose(0, 1), block)
    expected = torch.zeros_like(pictures)
    for row, column in ((10, 3), (0, 20), (24, 24)):
        part = (..., slice(row, row + GLIMPSE), slice(column, column + GLIMPSE))
        expected[part] = pictures[part]
    torch.testing.assert_close(paste_sum(cut, where, SIZE), expected)


def test_crop_after_paste_is_the_identity_on_aligned_boxes():
    glimpses = torch.rand(1, 1, GLIMPSE, 2, GLIMPSE, generator=torch.Generator().manual_seed(0))
    where = aligned(5, 17)[None, None]
    torch.testing.assert_close(crop(paste_sum(glimpses, where, SIZE), where, GLIMPSE), glimpses)


def test_x_is_across_and_y_is_down():
    """A pixel right of and below the middle is cut out by a box with positive x and y."""
    picture = torch.zeros(1, 1, SIZE, SIZE)
    picture[0, 0, 28, 20] = 1
    x, y = (2 * torch.tensor([20, 28]) + 1) / SIZE - 1
    where = torch.tensor([[[1 / SIZE, 1 / SIZE, x, y], [1 / SIZE, 1 / SIZE, y, x]]])
    cut = crop(picture, where, 1)
    torch.testing.assert_close(cut.flatten(), torch.tensor([1.0, 0.0]))


def test_box_keeps_size_and_shape_within_their_ranges():
    raw = 6 * torch.randn(1000, 2, generator=torch.Generator().manual_seed(0))
    scale = box(raw, 0.22, 0.12, 1.0, 0.3)
    extent, ratio = scale.prod(-1).sqrt(), scale[:, 1] / scale[:, 0]
    assert 0.1 <= extent.min() < 0.101
    assert 0.339 < extent.max() <= 0.3401
    assert 0.6999 <= ratio.min() < 0.71
    assert 1.29 < ratio.max() <= 1.3001
    torch.testing.assert_close(box(torch.zeros(2), 0.22, 0.12, 1.0, 0.3), torch.full((2,), 0.22))


def test_cells_are_counted_row_by_row():
    expected = [[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]]
    torch.testing.assert_close(cell_centres(2), torch.tensor(expected))
