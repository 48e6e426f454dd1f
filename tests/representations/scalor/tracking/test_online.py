"""Tracking without painting and judging infers what a training step infers."""

from dataclasses import replace

import pytest
import torch

from smorl.representations.perceptions import load_perception
from smorl.representations.scalor.model.compose import coverage, layers
from smorl.representations.scalor.model.distributions import Sampler
from smorl.representations.scalor.model.geometry import crop, paste_sum
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.tracking.online import paint, track
from smorl.representations.scalor.tracking.pictures import as_images
from smorl.representations.video import collect
from tests.representations.scalor.small import SMALL, make_model, noise, videos

PAPER = replace(SMALL, networks="paper", background="decoded", window=0.0)


def model_of(size: str) -> Scalor:
    """A small model of either size with random weights; the fast one sees a background."""
    if size == "fast":
        return make_model(background=noise(32, 32, 3, seed=5).numpy()).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Scalor(PAPER, 2).eval()


@pytest.mark.parametrize("size", ["fast", "paper"])
@torch.no_grad()
def test_tracking_equals_a_step_without_noise(size):
    model = model_of(size)
    images, actions = videos(3, 5)
    annealed, sampler = model.schedule(10**9), Sampler(None)
    ours = theirs = model.init(3)
    for t in range(5):
        first, action = t == 0, actions[:, t]
        image = images[:, t]
        ours, sketch = track(model, ours, image, model.encode(image), action, first=first)
        theirs, frame = model.step(theirs, image, action, sampler, annealed, first=first)
        alive = theirs.slots.alive
        for name, value in vars(theirs.slots).items():
            found = getattr(ours.slots, name)
            if name not in ("alive", "ids"):  # what an empty slot holds means nothing
                found, value = found[alive], value[alive]
            torch.testing.assert_close(found, value, msg=f"{name}, frame {t}")
        for name in ("new", "next_id", "memory", "background", "background_memory", "started"):
            torch.testing.assert_close(getattr(ours, name), getattr(theirs, name))
        picture, foreground = paint(model, sketch)
        close = {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(picture, frame.picture, **close)
        torch.testing.assert_close(foreground, frame.foreground, **close)
        torch.testing.assert_close(sketch.background, frame.background, **close)
        torch.testing.assert_close(sketch.alpha, frame.alpha, **close)
    assert theirs.slots.alive.any()
    assert sketch.alpha.amax() > 0.5


@pytest.mark.parametrize("size", ["fast", "paper"])
def test_masks_alone_are_the_masks_of_the_decoder(size):
    model = model_of(size)
    what = noise(2, 4, model.config.what, seed=3) * 4 - 2
    expected = model.decoder(what)[1]
    torch.testing.assert_close(model.decoder.masks(what), expected)
    assert expected.std() > 1e-3


def test_coverage_is_the_alpha_of_the_layers():
    shape = (2, 3)
    colours, masks = noise(*shape, 8, 3, 8), noise(*shape, 8, 1, 8, seed=1)
    presence, depth = noise(*shape, 1, seed=2), noise(*shape, 1, seed=3)
    where = torch.cat([0.2 + 0.3 * noise(*shape, 2, seed=4), noise(*shape, 2, seed=5) - 0.5], -1)
    expected = layers(colours, masks, presence, depth, where, 32).alpha
    torch.testing.assert_close(coverage(masks, presence, where, 32), expected)


@torch.no_grad()
def test_layout_in_memory_changes_nothing():
    pictures, where = noise(2, 3, 32, 32), noise(2, 4, 4, seed=1) * 0.5 + 0.1
    last = pictures.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(crop(last, where, 8), crop(pictures, where, 8))


def test_pasting_without_gradients_equals_pasting_with_them():
    glimpses, where = noise(2, 4, 8, 3, 8), noise(2, 4, 4, seed=1) * 0.5 + 0.1
    with_gradients = paste_sum(glimpses, where.requires_grad_(), 32).detach()
    with torch.no_grad():
        assert paste_sum(glimpses, where, 32).equal(with_gradients)


@pytest.mark.parametrize("name", ["shipped:scalor-1", "shipped:scalor-2"])
@torch.no_grad()
def test_real_frames_are_tracked_as_by_the_whole_model(name):
    """From the state the tracker is in, frame by frame: same objects, same IDs, same places."""
    perception = load_perception(name)
    tracker = perception.tracker()
    model, annealed = tracker.model, tracker.model.schedule(10**9)
    data = collect(perception.env, episodes=6, steps=15, seed=11, num_envs=6)
    carry = tracker.init(6)
    for t in range(16):
        pictures, moves = data.images[:, t], data.actions[:, t]
        image = as_images(pictures, tracker.image_size, tracker.device)
        action = torch.from_numpy(moves)
        first, state = t == 0, carry.state
        ours, sketch = track(model, state, image, model.encode(image), action, first=first)
        theirs, frame = model.step(state, image, action, Sampler(None), annealed, first=first)
        assert ours.slots.alive.equal(theirs.slots.alive)
        assert ours.slots.ids.equal(theirs.slots.ids)
        assert ours.next_id.equal(theirs.next_id)
        alive = ours.slots.alive
        for part in ("what", "where", "depth", "presence", "bias", "state", "prior", "absence"):
            found, expected = getattr(ours.slots, part)[alive], getattr(theirs.slots, part)[alive]
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-5, msg=part)
        # Proposals that are next to certainly nothing are left out.
        torch.testing.assert_close(sketch.alpha, frame.alpha, rtol=0, atol=5e-3)
        carry, _ = tracker.step(carry, pictures, moves)
