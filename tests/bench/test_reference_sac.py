"""The benchmark compares equals: same weights, same losses, same steps."""

import pytest
import torch

from smorl.bench.reference_sac import ReferenceSac
from smorl.bench.synthetic import LAYOUT, NETWORKS, random_batch
from smorl.learners.sac import Sac, SacConfig

BATCH = 64


def make_pair(seed=3, **changes):
    """Our learner and the straight line, with equal weights; biases random, so each one counts."""
    config = SacConfig(batch_size=BATCH, reward_scale=2.0, **changes)
    ours = Sac(config, NETWORKS, LAYOUT, 2, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        modules = (ours.policy, ours.critic, ours.target)
        for parameter in (p for module in modules for p in module.parameters()):
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    theirs = ReferenceSac(config, NETWORKS, LAYOUT, 2)
    theirs.copy_weights(ours)
    return ours, theirs


def noise(seed):
    return torch.randn(2, BATCH, 2, generator=torch.Generator().manual_seed(seed))


def test_same_weights_give_the_same_losses_and_gradients():
    ours, theirs = make_pair()
    batch = random_batch(BATCH, LAYOUT, seed=1)
    expected, found = theirs.update(batch, noise(0)), ours.update(batch, noise(0))
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, atol=1e-4, rtol=1e-4, msg=name)
    for member in range(2):
        torch.testing.assert_close(
            ours.critic.net.torso.embed.weight.grad[member].T,
            theirs.critics[member].torso.embed.weight.grad,
            atol=1e-4,
            rtol=1e-3,
        )
    torch.testing.assert_close(
        ours.policy.net.mlp.layers[0].weight.grad[0].T,
        theirs.policy.layers[0].weight.grad,
        atol=1e-5,
        rtol=1e-3,
    )


def test_they_stay_equal_over_several_updates():
    """Hence the optimisers and the soft update of the targets agree too."""
    ours, theirs = make_pair(lr=1e-4)
    for step in range(5):
        batch = random_batch(BATCH, LAYOUT, seed=step)
        expected, found = theirs.update(batch, noise(step)), ours.update(batch, noise(step))
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, atol=1e-3, rtol=1e-3, msg=name)


@pytest.mark.parametrize("part", ["policy", "critic", "target"])
def test_other_weights_give_other_losses(part):
    """The comparison can fail: every network matters to it."""
    ours, theirs = make_pair()
    with torch.no_grad():
        getattr(ours, part).net.torso.free.value.weight.mul_(1.5)
    batch = random_batch(BATCH, LAYOUT, seed=1)
    expected, found = theirs.update(batch, noise(0)), ours.update(batch, noise(0))
    assert not torch.allclose(found["critic/loss"], expected["critic/loss"], atol=1e-4, rtol=1e-4)
