"""The network's shapes and start, and its training: it learns, resumes and repeats exactly."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from smorl.config import from_json, to_json
from smorl.errors import Diverged, InvalidInput
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.fit import make_optimizer, train_vae
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import (
    Phase,
    VaeConfig,
    VaeTraining,
    batches_due,
    fast_rig,
    fast_skewfit,
    fast_vae,
    paper_rig,
    paper_skewfit,
    paper_vae,
)
from tests.representations.vae.small import SMALL, dots

TRAINING = VaeTraining(batch=16, lr=3e-3)


def parameters(model) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_the_released_architecture():
    model = BetaVae(paper_vae(2))
    pictures = torch.rand(2, 3, 48, 48)
    assert model.encoder[:7](pictures).shape == (2, 576)
    assert model.decoder[:5](torch.zeros(2, 16)).shape == (2, 32, 12, 12)
    mean, log_variance = model.posterior(pictures)
    assert mean.shape == log_variance.shape == (2, 16)
    assert model.decode(mean).shape == (2, 3, 48, 48)
    # Encoder convolutions and linear, two heads, decoder linears and deconvolutions.
    encoder = (3 * 256 + 16) + 2 * (16 * 256 + 16) + 577 * 512 + 2 * 513 * 16
    decoder = 17 * 256 + 257 * 4608 + (32 * 128 * 9 + 128) + (128 * 3 * 9 + 3)
    assert len(parameters(model)) == encoder + decoder


def test_the_released_start():
    model = BetaVae(paper_vae(1), seed=3)
    kernel = model.encoder[2].weight.detach().reshape(16, -1)
    torch.testing.assert_close(kernel @ kernel.T, torch.eye(16), atol=1e-5, rtol=0)
    assert model.encoder[2].bias.abs().max() == 0
    assert 0.9e-3 < model.decoder[2].weight.abs().max() <= 1e-3


def test_the_posterior_variance_has_a_floor():
    model = BetaVae(SMALL)
    _, log_variance = model.posterior(torch.rand(64, 3, 16, 16))
    assert log_variance.exp().min() >= 1e-3 * (1 - 1e-5)
    with torch.no_grad():
        model.spread.weight.zero_()
        model.spread.bias.fill_(-2.0)
    torch.testing.assert_close(
        model.posterior(torch.rand(1, 3, 16, 16))[1].exp(), torch.full((1, 3), 1e-3 * np.e**2)
    )


def test_clamped_output_stays_in_the_unit_interval():
    latents = 50 * torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    linear = BetaVae(SMALL, seed=1).decode(latents)
    clamped = BetaVae(replace(SMALL, output="clamp"), seed=1).decode(latents)
    assert linear.min() < 0
    torch.testing.assert_close(clamped, linear.clamp(0, 1))


def test_pictures_keep_rows_columns_and_channels():
    image = np.zeros((1, 16, 16, 3), np.uint8)
    image[0, 2, 5, 1] = 255
    pictures = BetaVae(SMALL).prepare(image)
    assert pictures.shape == (1, 3, 16, 16)
    assert pictures[0, 1, 2, 5] == 1
    assert pictures.sum() == 1


@pytest.mark.parametrize(
    "bad", [np.zeros((1, 16, 16, 3)), np.zeros((1, 64, 64, 3), np.uint8), np.zeros((16, 16), "u1")]
)
def test_other_pictures_are_refused(bad):
    with pytest.raises(InvalidInput, match=r"uint8 pictures of shape \(B, 16, 16, 3\)"):
        BetaVae(SMALL).prepare(bad)


def test_building_leaves_the_global_random_state_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    a, b, c = BetaVae(SMALL, seed=1), BetaVae(SMALL, seed=1), BetaVae(SMALL, seed=2)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(parameters(a), parameters(b))
    assert not torch.equal(parameters(a), parameters(c))


def trained(parts, weights=None, seed=0):
    """Train by several calls; between them everything goes through saved state."""
    model = BetaVae(SMALL, seed=1)
    optimizer, generator = make_optimizer(model, TRAINING), torch.Generator().manual_seed(seed)
    for batches in parts:
        saved = {k: v.clone() for k, v in model.state_dict().items()}
        model = BetaVae(SMALL, seed=99)
        model.load_state_dict(saved)
        state, position = optimizer.state_dict(), generator.get_state().clone()
        optimizer = make_optimizer(model, TRAINING)
        optimizer.load_state_dict(state)
        generator = torch.Generator()
        generator.set_state(position)
        train_vae(model, optimizer, dots(64), TRAINING, batches, generator, weights)
    return parameters(model)


@pytest.mark.parametrize("weighted", [False, True])
def test_training_repeats_and_resumes_bit_for_bit(weighted):
    weights = np.arange(64) / np.arange(64).sum() if weighted else None
    whole = trained([6], weights)
    assert torch.equal(whole, trained([6], weights))
    assert torch.equal(whole, trained([2, 1, 3], weights))
    assert not torch.equal(whole, trained([6], weights, seed=1))


def test_it_learns_where_the_square_is():
    images, model = dots(200), BetaVae(replace(SMALL, channels=8, hidden=32), seed=1)
    optimizer, generator = make_optimizer(model, TRAINING), torch.Generator().manual_seed(0)
    seen = []
    first = train_vae(model, optimizer, images, TRAINING, 20, generator)
    last = train_vae(
        model, optimizer, images, TRAINING, 280, generator, progress=lambda *a: seen.append(a)
    )
    assert seen[0] == (1, 280)
    assert seen[-1] == (280, 280)
    assert last["loss"] < first["loss"]
    encoder, held_out = VaeEncoder(model), dots(100, seed=9)
    drawn = encoder.draw(encoder.encode(held_out)) / 255
    blank = ((held_out / 255 - (images / 255).mean(0)) ** 2).sum((1, 2, 3)).mean()
    assert ((held_out / 255 - drawn) ** 2).sum((1, 2, 3)).mean() < 0.5 * blank


def test_weights_decide_which_pictures_are_learned():
    # Only the last picture has weight: it is drawn well, the others are not.
    images = dots(10, seed=3)
    model = BetaVae(SMALL, seed=1)
    optimizer, generator = make_optimizer(model, TRAINING), torch.Generator().manual_seed(0)
    train_vae(model, optimizer, images, TRAINING, 100, generator, np.eye(10)[9])
    encoder = VaeEncoder(model)
    errors = ((encoder.draw(encoder.encode(images)) / 255 - images / 255) ** 2).sum((1, 2, 3))
    others = (images != images[9]).any((1, 2, 3))
    assert errors[9] < 0.2 * errors[others].min()


@pytest.mark.parametrize(
    ("images", "weights", "message"),
    [
        (dots(0), None, "at least one picture"),
        (dots(4), np.full(3, 1 / 3), "4 probabilities"),
        (dots(4), np.ones(4), "sum 4"),
        (dots(4), np.array([2.0, -1, 0, 0]), "4 probabilities"),
    ],
)
def test_bad_data_is_refused(images, weights, message):
    model = BetaVae(SMALL)
    with pytest.raises(InvalidInput, match=message):
        train_vae(
            model,
            make_optimizer(model, TRAINING),
            images,
            TRAINING,
            1,
            torch.Generator(),
            weights,
        )


def test_a_loss_that_is_not_finite_stops_training():
    model = BetaVae(SMALL)
    with torch.no_grad():
        model.mean.bias.fill_(float("nan"))
    before = parameters(model)
    with pytest.raises(Diverged, match="after 0 batches"):
        train_vae(model, make_optimizer(model, TRAINING), dots(4), TRAINING, 3, torch.Generator())
    assert torch.equal(before.nan_to_num(), parameters(model).nan_to_num())


def test_phases_add_up_however_rounds_are_cut():
    phases = paper_skewfit().phases
    epochs = [batches_due(phases, 500 * e, 500 * (e + 1)) for e in range(104)]
    assert epochs[:10] == [2_000] * 10
    assert epochs[10:100] == [200] * 90
    assert epochs[100:] == [0, 200, 0, 200]
    rng = np.random.default_rng(0)
    cuts = np.unique([0, *rng.integers(1, 60_000, 40), 60_000]).tolist()
    pieces = [batches_due(phases, a, b) for a, b in pairwise(cuts)]
    assert sum(pieces) == batches_due(phases, 0, 60_000) == 20_000 + 18_000 + 2_000
    assert batches_due((), 0, 10**6) == 0


def test_settings_are_checked_and_survive_json():
    for config in (paper_vae(1), fast_vae(2), paper_rig(2), fast_rig(1), paper_skewfit()):
        assert from_json(type(config), to_json(config)) == config
    assert from_json(VaeTraining, to_json(fast_skewfit(2))) == fast_skewfit(2)
    assert (paper_vae(1).latent, paper_vae(2).latent) == (4, 16)
    assert paper_rig(2) == VaeTraining(initial=40_000)
    with pytest.raises(InvalidInput, match="image_size = 50"):
        VaeConfig(image_size=50)
    with pytest.raises(InvalidInput, match=r"variance = 0.0"):
        VaeConfig(variance=0.0)
    with pytest.raises(InvalidInput, match="phases"):
        VaeTraining(phases=(Phase(100, 10), Phase(100, 10, 500)))
