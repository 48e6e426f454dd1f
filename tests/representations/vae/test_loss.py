"""Every term of the loss against another way to compute it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from smorl.representations.vae.loss import beta_elbo, kl_standard, log_normal, sample
from smorl.representations.vae.model import BetaVae
from tests.representations.vae.small import SMALL, dots


def test_log_normal_is_the_density_of_a_diagonal_normal():
    rng = np.random.default_rng(0)
    value, mean, variance = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 2, 3)), 0.3
    found = log_normal(torch.from_numpy(value), torch.from_numpy(mean), variance)
    expected = stats.norm(mean, math.sqrt(variance)).logpdf(value).sum((1, 2))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


def test_kl_agrees_with_the_library_and_with_monte_carlo():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    log_variance = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    q = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    p = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    found = kl_standard(mean, log_variance)
    expected = torch.distributions.kl_divergence(q, p).sum(-1)
    torch.testing.assert_close(found, expected)
    noise = torch.randn(200_000, 3, 4, generator=generator, dtype=torch.float64)
    z = mean + q.stddev * noise
    torch.testing.assert_close(
        (q.log_prob(z) - p.log_prob(z)).sum(-1).mean(0), found, rtol=0.02, atol=0.02
    )
    assert kl_standard(torch.zeros(1, 5), torch.zeros(1, 5)).item() == 0


def test_samples_have_the_asked_moments():
    mean, log_variance = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.4, -3.0]])
    many = (mean.expand(50_000, 2), log_variance.expand(50_000, 2))
    z = sample(*many, torch.Generator().manual_seed(1))
    torch.testing.assert_close(z.mean(0), mean[0], rtol=0, atol=0.02)
    torch.testing.assert_close(z.var(0), log_variance[0].exp(), rtol=0.03, atol=0)


def test_beta_weighs_only_the_kl():
    terms = beta_elbo(torch.tensor([-10.0, -20.0]), torch.tensor([1.0, 3.0]), 0.2)
    assert terms["reconstruction"].item() == 15
    assert terms["kl"].item() == 2
    assert terms["loss"].item() == pytest.approx(15.4)
    assert terms["elbo"].item() == -17


def test_the_released_loss_is_that_of_variance_one_half():
    # Sum of squared errors over the batch size, plus 0.2 KL, up to a constant.
    model = BetaVae(SMALL, seed=1)
    pictures = model.prepare(dots(8))
    terms = model.loss(pictures, torch.Generator().manual_seed(5))
    mean, log_variance = model.posterior(pictures)
    decoded = model.decode(sample(mean, log_variance, torch.Generator().manual_seed(5)))
    released = (pictures - decoded).square().sum() / 8 + 0.2 * kl_standard(
        mean, log_variance
    ).mean()
    constant = 0.5 * 3 * 16 * 16 * math.log(2 * math.pi * 0.5)
    assert terms["loss"].item() - constant == pytest.approx(released.item(), rel=1e-5)


def test_beta_and_variance_trade_off_exactly():
    # Loss of (variance, beta) has the gradient of (c variance, beta / c), times c.
    gradients = []
    for variance, beta in ((0.5, 0.2), (0.1, 1.0)):
        model = BetaVae(replace(SMALL, variance=variance, beta=beta), seed=1)
        terms = model.loss(model.prepare(dots(8)), torch.Generator().manual_seed(5))
        (variance * terms["loss"]).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
