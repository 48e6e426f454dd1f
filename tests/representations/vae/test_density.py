"""The VAE as Skew-Fit's density model: rare pictures weigh more, and the bound is its ELBO."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.goals.skew import SkewConfig, log_importance, skewed_weights
from smorl.representations.vae.fit import make_optimizer, train_vae
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import VaeTraining
from tests.representations.vae.small import SMALL, dots


def test_the_bound_is_the_elbo_of_the_loss():
    model, images = BetaVae(SMALL, seed=1), dots(6)
    config = SkewConfig(samples=300, estimator="bound")
    bound = log_importance(model, images, config, torch.Generator().manual_seed(0))
    generator, pictures = torch.Generator().manual_seed(1), model.prepare(images)
    with torch.no_grad():
        elbo = np.mean([float(model.loss(pictures, generator)["elbo"]) for _ in range(300)])
    assert bound.mean() == pytest.approx(elbo, abs=0.2)
    tighter = replace(config, estimator="importance")
    assert np.all(log_importance(model, images, tighter, torch.Generator().manual_seed(0)) >= bound)


def test_a_model_that_ignores_its_latent_has_a_known_density():
    # Then p(x) is Normal(constant picture, variance), whatever the posterior says.
    model, images = BetaVae(SMALL, seed=1), dots(5)
    with torch.no_grad():
        model.decoder[0].weight.zero_()
        model.spread.bias.fill_(-math.log(1e-3))  # log-variance near 0, the prior's
        model.spread.weight.zero_()
        model.mean.weight.zero_()
        model.mean.bias.zero_()
        constant = model.decode(torch.zeros(1, 3)).numpy()
    squares = ((model.prepare(images).numpy() - constant) ** 2).sum((1, 2, 3))
    for variance in (None, 2.0):
        used = 0.5 if variance is None else variance
        expected = -squares / (2 * used) - 0.5 * 768 * math.log(2 * math.pi * used)
        config = SkewConfig(variance=variance, samples=3)
        found = log_importance(model, images, config, torch.Generator())
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_rare_pictures_weigh_more():
    # One picture in ten is the mirror image of what the model was trained on.
    images = dots(100)
    images[:, :, 8:] = 60  # the square is in the left half
    images[::10] = images[::10, :, ::-1]
    model, training = BetaVae(SMALL, seed=1), VaeTraining(batch=16, lr=3e-3)
    generator, shares = torch.Generator().manual_seed(0), []
    common = np.delete(images, np.s_[::10], 0)
    optimizer = make_optimizer(model, training)
    for batches in (0, 180):
        train_vae(model, optimizer, common, training, batches, generator)
        weights = skewed_weights(model, images, SkewConfig(), generator)
        assert weights.sum() == pytest.approx(1)
        shares.append(weights[::10].sum())
    assert shares[0] < 0.1
    assert shares[1] > 0.3
