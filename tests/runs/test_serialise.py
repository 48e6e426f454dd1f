"""Optimisers whose parameters do not lie in memory as they are written."""

import torch

from smorl.runs.serialise import load_optimizer, optimizer_tensors


def make_learner():
    torch.manual_seed(0)
    network = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    return network, torch.optim.Adam(network.parameters(), lr=0.1, fused=True)


def step(network, optimizer, seed):
    picture = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(seed))
    optimizer.zero_grad()
    network(picture).square().mean().backward()
    optimizer.step()


def test_channels_that_lie_last_continue_bit_for_bit():
    with torch.random.fork_rng():
        one, first = make_learner()
        other, second = make_learner()
    step(one, first, 0)
    tensors, rest = optimizer_tensors("adam", first)
    # As a file has them: in the order of their indices.
    tensors = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    other.load_state_dict(one.state_dict())
    load_optimizer("adam", second, tensors, rest)
    for seed in (1, 2, 3):
        step(one, first, seed)
        step(other, second, seed)
    assert torch.equal(one.weight, other.weight)
