"""Divergences against Monte Carlo and closed forms; samples have the distributions they claim."""

import math

import pytest
import torch

from smorl.representations.scalor.model.distributions import (
    Normal,
    Sampler,
    bernoulli_kl,
    log_normal,
)
from tests.representations.scalor.small import generator

DRAWS = 200_000


def agrees(estimates: torch.Tensor, expected: torch.Tensor) -> None:
    """The mean of the estimates (DRAWS, ...) lies within 5 standard errors of `expected`."""
    error = estimates.std(0) / math.sqrt(len(estimates))
    assert ((estimates.mean(0) - expected).abs() < 5 * error + 1e-6).all()


def two_normals() -> tuple[Normal, Normal]:
    posterior = Normal(torch.tensor([[0.3, -1.2], [2.0, 0.0]]), torch.tensor([[0.5, 1.7], [1, 1]]))
    prior = Normal(torch.tensor([[0.1, 0.4], [2.0, 0.0]]), torch.tensor([[0.9, 0.6], [1, 1]]))
    return posterior, prior


def test_normal_kl_against_monte_carlo():
    posterior, prior = two_normals()
    draws = torch.distributions.Normal(posterior.mean, posterior.std)
    values = posterior.mean + posterior.std * torch.randn(DRAWS, 2, 2, generator=generator())
    other = torch.distributions.Normal(prior.mean, prior.std)
    log_ratio = (draws.log_prob(values) - other.log_prob(values)).sum(-1)
    agrees(log_ratio, posterior.kl(prior))


def test_normal_kl_against_the_closed_form():
    posterior, prior = two_normals()
    distributions = [torch.distributions.Normal(n.mean, n.std) for n in (posterior, prior)]
    expected = torch.distributions.kl_divergence(*distributions).sum(-1)
    torch.testing.assert_close(posterior.kl(prior), expected)
    assert posterior.kl(prior)[1] == 0  # the second rows are the same distribution
    standard = Normal(torch.zeros(2, 2), torch.ones(2, 2))
    torch.testing.assert_close(posterior.kl_standard(), posterior.kl(standard))
    assert (posterior.kl(prior)[0] - prior.kl(posterior)[0]).abs() > 0.1  # it has a direction


def test_bernoulli_kl_against_monte_carlo():
    logit, prior = torch.tensor([0.7, -2.0, 3.0]), torch.tensor([-1.0, -2.0, 0.5])
    p, q = torch.sigmoid(logit), torch.sigmoid(prior)
    on = torch.rand(DRAWS, 3, generator=generator()) < p
    log_ratio = torch.where(on, (p / q).log(), ((1 - p) / (1 - q)).log())
    agrees(log_ratio, bernoulli_kl(logit, prior))
    assert bernoulli_kl(logit, prior)[1] == 0


def test_bernoulli_kl_at_the_ends_is_finite_and_right():
    """Presence logits reach +-8.8 and the prior of rejected proposals is 1e-8."""
    logit = torch.tensor([8.8, -8.8, 60.0, -60.0], requires_grad=True)
    prior = torch.logit(torch.tensor(1e-8, dtype=torch.float64)).float()
    kl = bernoulli_kl(logit, prior)
    p = torch.sigmoid(logit.detach().double())
    expected = torch.special.xlogy(p, p / 1e-8) + torch.special.xlogy(1 - p, (1 - p) / (1 - 1e-8))
    torch.testing.assert_close(kl.double(), expected, rtol=1e-5, atol=1e-6)
    (gradient,) = torch.autograd.grad(kl.sum(), logit)
    assert gradient.isfinite().all()


def test_normal_of_network_output():
    normal = Normal.of(torch.tensor([1.0, -2.0, 0.0, 3.0]), shift=-2.0)
    torch.testing.assert_close(normal.mean, torch.tensor([1.0, -2.0]))
    expected = torch.tensor([math.log1p(math.exp(-2)), math.log1p(math.exp(1))]) + 1e-4
    torch.testing.assert_close(normal.std, expected)
    assert (Normal.of(torch.full((2,), -200.0)).std > 0).all()


def test_without_a_generator_latents_take_their_means():
    sampler = Sampler(None, temperature=0.01)
    mean = torch.tensor([1.0, -2.0])
    assert sampler.normal(mean, torch.tensor([5.0, 5.0])).equal(mean)
    logit = torch.tensor([0.3, -4.0])
    torch.testing.assert_close(sampler.presence(logit), torch.sigmoid(logit))


def test_normal_samples_have_their_moments_and_gradients():
    mean = torch.full((DRAWS,), 0.7, requires_grad=True)
    std = torch.full((DRAWS,), 1.9, requires_grad=True)
    sample = Sampler(generator()).normal(mean, std)
    agrees(sample.detach(), torch.tensor(0.7))
    agrees((sample.detach() - 0.7) ** 2, torch.tensor(1.9**2))
    by_mean, by_std = torch.autograd.grad(sample.sum(), (mean, std))
    assert (by_mean == 1).all()
    torch.testing.assert_close(by_std, (sample - mean).detach() / 1.9, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_presence_samples_exceed_a_half_with_their_probability(temperature):
    logit = torch.tensor([1.2, -3.0]).expand(DRAWS, 2)
    sample = Sampler(generator(), temperature).presence(logit)
    assert ((sample >= 0) & (sample <= 1)).all()
    agrees((sample > 0.5).float(), torch.sigmoid(logit[0]))


def test_low_temperature_makes_presence_binary():
    def undecided(temperature: float) -> float:
        sample = Sampler(generator(), temperature).presence(torch.zeros(DRAWS))
        return ((sample > 0.1) & (sample < 0.9)).float().mean().item()

    assert undecided(0.3) < undecided(1.0)
    assert undecided(0.01) < 0.02


def test_the_same_generator_gives_the_same_samples():
    mean, std = torch.zeros(5), torch.ones(5)
    one, two, other = (Sampler(generator(s)).normal(mean, std) for s in (3, 3, 4))
    assert one.equal(two)
    assert not one.equal(other)


def test_log_likelihood_against_torch():
    value, mean = (torch.rand(2, 3, 4, 4, generator=generator(s)) for s in (0, 1))
    expected = torch.distributions.Normal(mean, 0.1).log_prob(value).sum((1, 2, 3))
    torch.testing.assert_close(log_normal(value, mean, 0.1), expected)
