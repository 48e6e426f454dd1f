"""Every loss of the learner against a straight-line version."""

import copy
import math

import pytest
import torch
from torch.distributions import Normal

from smorl.learners.gradients import squashed_log_prob
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.types import Batch, ObjectLayout

LAYOUT = ObjectLayout(slots=3, what=3)
NETS = NetworkConfig(torso=TorsoConfig(embedding=12, heads=3, queries=1), policy_hidden=(16,))


def make_batch(size=32, seed=0):
    g = torch.Generator().manual_seed(seed)

    def r(*shape):
        return torch.randn(*shape, generator=g)

    present = torch.rand(size, 3, generator=g) < 0.8
    present[:, 0] = True
    shape = (size, 3, LAYOUT.features)
    return Batch(
        r(*shape) * present[..., None],
        present,
        r(size, LAYOUT.features),
        r(size, 2).tanh(),
        -r(size).abs(),
        r(*shape) * present[..., None],
        present,
    )


def make_sac(**changes):
    return Sac(SacConfig(batch_size=32, **changes), NETS, LAYOUT, 2, seed=5)


def test_log_probability_of_a_squashed_gaussian():
    mean, log_std = torch.tensor([[0.3, -0.2]]), torch.tensor([[-0.5, 0.1]])
    noise = torch.tensor([[0.7, -1.1]])
    x = mean + log_std.exp() * noise
    expected = Normal(mean, log_std.exp()).log_prob(x) - torch.log(1 - torch.tanh(x) ** 2)
    ours = squashed_log_prob(torch.tanh(x), log_std, noise)
    torch.testing.assert_close(ours, expected.sum(-1), atol=1e-4, rtol=1e-4)


def test_density_integrates_to_one():
    log_std = torch.full((20001, 1), -0.3)
    action = torch.linspace(-1 + 1e-5, 1 - 1e-5, 20001)[:, None]
    noise = (torch.atanh(action) - 0.4) / log_std.exp()
    density = squashed_log_prob(action, log_std, noise).exp()
    assert torch.trapezoid(density, action[:, 0]).item() == pytest.approx(1.0, abs=2e-3)


def member(sac, q_index, state, action):
    return sac.critic(state, action)[q_index]


def test_one_update_equals_the_straight_line_version():
    """Temperature, policy and critic steps with separate textbook losses and optimisers."""
    sac, batch = make_sac(reward_scale=2.0), make_batch()
    noise = torch.randn(2, 32, 2, generator=torch.Generator().manual_seed(9))
    twin = copy.deepcopy(sac)
    info = sac.update(batch, noise)

    state = twin.inputs(batch.objects, batch.present, batch.goal)
    following = twin.inputs(batch.next_objects, batch.next_present, batch.goal)
    action, logp = twin.policy.sample(state, noise[0])
    temperature_loss = -(twin.log_temperature * (logp - 2.0).detach()).mean()
    (gradient,) = torch.autograd.grad(temperature_loss, [twin.log_temperature])
    new_log = twin.log_temperature.detach() - 1e-3 * gradient.sign()  # first Adam step
    torch.testing.assert_close(sac.log_temperature.detach(), new_log, atol=1e-6, rtol=1e-5)

    with torch.no_grad():
        action2, logp2 = twin.policy.sample(following, noise[1])
        q2 = torch.minimum(*twin.target(following, action2))
        target = 2.0 * batch.reward + 0.95 * (q2 - new_log.exp() * logp2)
    q_a, q_b = member(twin, 0, state, batch.action), member(twin, 1, state, batch.action)
    critic_loss = ((q_a - target) ** 2).mean() + ((q_b - target) ** 2).mean()
    critic_grads = torch.autograd.grad(critic_loss, list(twin.critic.parameters()))
    torch.testing.assert_close(info["critic/loss"], critic_loss.detach())

    q = torch.minimum(*twin.critic(state, action))
    policy_loss = (new_log.exp() * logp - q).mean()
    policy_grads = torch.autograd.grad(policy_loss, list(twin.policy.parameters()))
    torch.testing.assert_close(info["policy/loss"], policy_loss.detach())
    for module, old, grads in (
        (sac.policy, twin.policy, policy_grads),
        (sac.critic, twin.critic, critic_grads),
    ):
        for new, before, grad in zip(module.parameters(), old.parameters(), grads, strict=True):
            torch.testing.assert_close(new.grad, grad, atol=1e-6, rtol=1e-4)
            assert torch.isfinite(new).all()
            step = (new - before).abs().max()
            assert step <= 1e-3 * 1.01  # Adam's first step is the learning rate at most
    for new, before, t in zip(
        sac.critic.parameters(), twin.target.parameters(), sac.target.parameters(), strict=True
    ):
        torch.testing.assert_close(t, before + 0.05 * (new.detach() - before))


def test_policy_loss_leaves_no_gradient_in_the_critic():
    sac, batch = make_sac(), make_batch()
    now = sac.inputs(batch.objects, batch.present, batch.goal)
    action, log_prob = sac.policy.sample(now, torch.randn(32, 2))
    sac.policy_loss(sac.critic.encode(now), action, log_prob).backward()
    assert all(p.grad is None for p in sac.critic.parameters())
    assert all(p.requires_grad for p in sac.critic.parameters())
    assert any(p.grad.abs().sum() > 0 for p in sac.policy.parameters())


@pytest.mark.parametrize(
    ("pessimism", "expected"), [(1.0, [-3, 1]), (0.0, [-2, 2]), (0.5, [-2.5, 1.5])]
)
def test_pessimism_goes_from_the_mean_to_the_smaller_critic(pessimism, expected):
    q = torch.tensor([[-1.0, 1.0], [-3.0, 3.0]])
    together = make_sac(pessimism=pessimism).combine_critics(q)
    torch.testing.assert_close(together, torch.tensor(expected, dtype=torch.float32))


@pytest.mark.parametrize("pessimism", [0.0, 0.6, 1.0])
def test_targets_hold_the_asked_share_of_disagreement_against_an_action(pessimism):
    sac, batch = make_sac(pessimism=pessimism), make_batch()
    noise = torch.randn(32, 2, generator=torch.Generator().manual_seed(1))
    following = sac.inputs(batch.next_objects, batch.next_present, batch.goal)
    with torch.no_grad():
        action, log_prob = sac.policy.sample(following, noise)
        one, two = sac.target(following, action)
    mixed = (1 - pessimism) * (one + two) / 2 + pessimism * torch.minimum(one, two)
    expected = batch.reward + 0.95 * (mixed - sac.temperature * log_prob)
    torch.testing.assert_close(sac.critic_target(following, batch.reward, noise), expected)


def test_temperature_falls_when_entropy_is_above_target_and_rises_below():
    for target, sign in ((-50.0, -1), (50.0, 1)):
        sac = make_sac(target_entropy=target)
        before = sac.temperature
        sac.update(make_batch(), torch.randn(2, 32, 2))
        assert math.copysign(1, sac.temperature - before) == sign


@pytest.mark.parametrize("actions", [2, 7])
def test_without_a_target_the_entropy_goes_to_minus_the_number_of_actions(actions):
    derived = Sac(SacConfig(), NETS, LAYOUT, actions, seed=5)
    given = Sac(SacConfig(target_entropy=-float(actions)), NETS, LAYOUT, actions, seed=5)
    for sac in (derived, given):
        sac.step_temperature(torch.full((4,), actions - 0.5))  # half a nat more random than asked
        sac.step_temperature(torch.full((4,), actions - 0.5))
    assert derived.temperature == given.temperature < 1.0
    derived.step_temperature(torch.full((4,), actions + 9.0))
    assert derived.temperature > given.temperature


def test_policy_every_skips_policy_updates():
    sac, batch = make_sac(policy_every=2), make_batch()
    sac.update(batch, torch.randn(2, 32, 2))
    before = [p.clone() for p in sac.policy.parameters()]
    sac.update(batch, torch.randn(2, 32, 2))
    assert all(torch.equal(a, b) for a, b in zip(before, sac.policy.parameters(), strict=True))
    sac.update(batch, torch.randn(2, 32, 2))
    changed = zip(before, sac.policy.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in changed)


def test_same_seed_same_networks_and_the_global_stream_is_untouched():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    a, b = make_sac(), make_sac()
    assert torch.equal(torch.rand(1), expected)
    assert all(
        torch.equal(x, y) for x, y in zip(a.policy.parameters(), b.policy.parameters(), strict=True)
    )


def test_learning_rate_falls_linearly():
    sac = make_sac(lr_end=0.1)
    found = []
    for share in (0.0, 0.5, 1.0, 1.2):
        sac.set_progress(share)
        found.append(sac.optimizers["networks"].param_groups[0]["lr"])
    assert found == pytest.approx([1e-3, 5.5e-4, 1e-4, 1e-4])


def test_the_best_candidate_is_never_worse_than_the_mode_and_is_deterministic():
    sac, batch = make_sac(), make_batch()
    state = (batch.objects, batch.present, batch.goal)
    seen = sac.inputs(*state)
    best, mode = sac.act_best(*state), sac.act(*state)
    q_best, q_mode = (sac.critic(seen, a).min(0).values for a in (best, mode))
    assert (q_best >= q_mode - 1e-6).all()
    assert (q_best > q_mode).any()
    assert torch.equal(best, sac.act_best(*state))
