"""The kernels compute what whole-array formulas compute."""

import numpy as np
import pytest
import torch

from smorl.representations.scalor.kernels import births, boxes, colours, shapes
from smorl.representations.scalor.model.geometry import crop, paste_sum
from smorl.representations.scalor.model.slots import Slots, merge
from tests.representations.scalor.kernels import formulas
from tests.representations.scalor.small import SMALL, noise

BATCH, EACH, GLIMPSE, SIZE = 3, 4, 16, 32
COUNT = BATCH * EACH
ROWS = np.arange(BATCH).repeat(EACH)


def scene(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Smooth masks (M, G, G), and boxes (M, 4) of which some leave the picture."""
    coarse = noise(COUNT, 1, 4, 4, seed=seed)
    masks = torch.nn.functional.interpolate(coarse, GLIMPSE, mode="bilinear")[:, 0]
    raw = noise(COUNT, 4, seed=seed + 1)
    return masks, torch.cat([0.1 + 0.6 * raw[:, :2], 2.4 * raw[:, 2:] - 1.2], 1)


def close(found, expected, atol=1e-5) -> None:
    np.testing.assert_allclose(found, expected.numpy(), atol=atol, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_are_cut_and_pasted_as_for_batches(seed):
    masks, where = scene(seed)
    pictures, slots = noise(BATCH, 5, SIZE, SIZE, seed=9), where.view(BATCH, EACH, 4)
    cut = boxes.cut(pictures.numpy(), ROWS, where.numpy(), 8)
    close(cut, crop(pictures, slots, 8).flatten(0, 1))
    presence, alpha = noise(COUNT, 1, seed=4), np.zeros((BATCH, 1, SIZE, SIZE), np.float32)
    boxes.cover(alpha, ROWS, masks.numpy(), presence.numpy(), where.numpy())
    seen = (masks * presence[..., None]).view(BATCH, EACH, GLIMPSE, 1, GLIMPSE)
    close(alpha, paste_sum(seen, slots, SIZE))


@pytest.mark.parametrize("seed", range(5))
def test_what_lies_behind_another_is_hidden(seed):
    masks, where = scene(seed)
    where[:, 2:] *= 0.2  # many overlap
    depth, alive = noise(COUNT, 1, seed=seed + 2), noise(COUNT, seed=seed + 3) > 0.2
    dense = (x.unflatten(0, (BATCH, EACH)) for x in (masks[:, :, None], where, depth, alive))
    expected = formulas.behind(*dense, SIZE // 2, 0.4).flatten().numpy()
    flat = (x.numpy() for x in (masks, where, depth, alive))
    assert (boxes.behind(ROWS, *flat, SIZE // 2, 0.4) == expected).all()


@pytest.mark.parametrize("overlap", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_proposals_are_judged(seed, overlap):
    masks, where = scene(seed)
    where[:, 2:] *= 0.3
    sure = noise(BATCH, EACH, seed=seed + 2)
    alpha, free = noise(BATCH, 1, SIZE, SIZE, seed=7) * 0.18, torch.tensor([0, 2, 4])
    dense = (x.unflatten(0, (BATCH, EACH)) for x in (masks[:, :, None], where))
    expected = formulas.judge(*dense, sure, alpha, free, 0.5, overlap)
    order = (sure.argsort(1, descending=True) + EACH * torch.arange(BATCH)[:, None]).flatten()
    flat = (x.numpy() for x in (order, masks, where, alpha, free))
    for found, wanted in zip(
        boxes.judge(ROWS, *flat, (0.3, 0.1), 0.5, overlap), expected, strict=True
    ):
        assert (found == wanted.flatten().numpy()).all()
    assert expected[0].any()


@pytest.mark.parametrize("seed", range(5))
def test_slots_are_arranged_as_in_training(seed):
    config, empty = SMALL, Slots.empty(SMALL, BATCH)
    alive = noise(BATCH, config.slots, seed=seed) > 0.5
    ids = torch.where(alive, torch.arange(config.slots).expand_as(alive), -1)
    tracked = Slots(**{**vars(empty), "alive": alive, "ids": ids})
    room = config.slots - alive.sum(1, keepdim=True)
    born = torch.arange(config.slots).expand_as(alive) < room * (seed > 0)
    presence = noise(BATCH, config.slots, seed=3).sort(1, descending=True).values
    found = Slots(**{**vars(empty), "alive": born, "presence": presence[..., None]})
    next_id = torch.tensor([5, 6, 7])
    slots, new, following = merge(tracked, found, next_id)
    rows = [part.nonzero()[:, 0].numpy() for part in (alive, born)]
    flags = [np.ones(len(part), bool) for part in rows]
    _, names, fresh, after = births.arrange(
        rows[0], flags[0], ids[alive].numpy(), rows[1], flags[1], config.slots, next_id.numpy()
    )
    assert (names == slots.ids.numpy()).all()
    assert (fresh == new.numpy()).all()
    assert (after == following.numpy()).all()


@pytest.mark.parametrize("seed", range(5))
def test_masks_tell_place_extent_and_pixels(seed):
    masks, where = scene(seed)
    if seed == 1:
        masks[:, 4:12, 3:12] = 0  # a ring: its middle is beside it
    shape, box = masks.numpy(), where.numpy()
    for found, expected in zip(
        shapes.extents(shape, box, 0.32), formulas.extent_of(masks, where, 0.32), strict=True
    ):
        close(found, expected)
    close(shapes.pixels(shape, box, 64), formulas.visible_pixels(masks, where, 64), atol=1e-3)


def test_colours_are_means_over_the_mask():
    masks, _ = scene()
    paint = noise(COUNT, GLIMPSE, 3, GLIMPSE, seed=8)
    expected = (paint * masks[:, :, None]).sum((1, 3)) / masks.sum((1, 2))[:, None]
    close(shapes.mean_colours(paint.numpy(), masks.numpy()), expected)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_are_fitted_to_points(seed):
    value = (3 * noise(colours.POINTS, colours.POINTS, seed=seed)).floor() - 1
    extent = torch.tensor([0.08, 0.15])
    found = colours.fit(value.long().numpy(), extent.numpy(), 0.3)
    close(found, formulas.fit(value, extent, 0.3, colours.POINTS, colours.HALF))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_drawn_twice_is_taken_from_the_larger_one(seed):
    masks, where = scene(seed)
    where[:, 2:] *= 0.2
    masks = masks + 0.3
    images = 0.5 + 0.2 * (noise(BATCH, 3, SIZE, SIZE, seed=2) - 0.5)
    place, extent = formulas.extent_of(masks, where, 0.32)
    parts = (masks, where, place, extent)
    shape, box, at, half = (part.numpy() for part in parts)
    pairs = colours.overlaps(ROWS, box, at, half, 1.2)
    assert len(pairs)
    grey = torch.full((len(pairs), 3), 0.5)
    large = pairs[:, 0]
    views = boxes.cut(images.numpy(), ROWS[large], box[large], GLIMPSE)
    found = colours.carve(views, shape, box, at, half, pairs, grey.numpy(), 0.2)
    rows, pairs = torch.from_numpy(ROWS), torch.from_numpy(pairs)
    close(found, formulas.carve(images, rows, *parts, pairs, grey, 0.2))
    assert (found != shape).any()
