"""The hand-written gradients against the same formulas differentiated automatically."""

from dataclasses import replace

import pytest
import torch

from smorl.learners import layers, networks, sac, set_encoders
from smorl.learners.gradients import squashed_log_prob
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.types import Batch, ObjectLayout

LAYOUT = ObjectLayout(slots=4, what=3, position=2, scale=2, depth=1, motion=2)
NETS = NetworkConfig(
    torso=TorsoConfig(embedding=12, heads=3, queries=0),
    policy_hidden=(16, 16),
    critic_hidden=(16, 16, 16),
)
SIZE = 24


def torso(**changes) -> NetworkConfig:
    return replace(NETS, torso=replace(NETS.torso, **changes))


OURS = {"normalise_positions": True, "relative": True, "matched": True}
OPTIONS = {
    "conditional heads": (NETS, {}),
    "learned queries": (torso(heads=0, queries=2, free_heads=2), {}),
    "both": (torso(heads=2, queries=3), {"pessimism": 0.4}),
    "deep sets": (torso(kind="deepsets"), {}),
    "padded deep sets": (torso(kind="deepsets-padded"), {"policy_every": 2}),
    "flat": (torso(kind="flat"), {"reward_scale": 3.0}),
    "one hidden layer": (replace(NETS, policy_hidden=(16,), critic_hidden=(16,)), {}),
    "elu": (replace(NETS, activation="elu"), {}),
    "silu": (replace(NETS, activation="silu"), {"target_rate": 0.3}),
    "norms": (replace(NETS, critic_norm=True, policy_norm=True), {}),
    "from pixels": (replace(NETS, **OURS, body=True), {"pessimism": 0.0, "policy_every": 2}),
    "motion": (replace(NETS, **OURS, motion=True), {"lr_end": 0.1, "discount": 0.9}),
    "sure of itself": (replace(NETS, initial_std=1e-9), {"target_entropy": -9.0}),
}


def plain_mlp(begun, rest, rest_weight, weights, biases):
    x = begun if rest is None else begun + rest @ rest_weight
    for weight, bias in zip(weights, biases, strict=True):
        x = torch.relu(x) @ weight + bias
    return x


def plain_attend(queries, objects, mask, goal, tail, members):
    seen = (goal @ queries[:-1] + queries[-1]).view(len(goal), -1, objects.shape[2])
    weights = (torch.einsum("bnf,brf->bnr", objects, seen) + mask).softmax(1)
    pooled = torch.einsum("bnr,bnf->brf", weights, objects)
    parts = pooled.reshape(len(goal), members, -1).transpose(0, 1), tail.expand(members, -1, -1)
    return torch.cat(parts, dim=-1)


def plain_sample(output, noise, offset, log_std_range):
    mean, log_std = output.chunk(2, dim=-1)
    log_std = (log_std + offset).clamp(*log_std_range)
    action = torch.tanh(mean + log_std.exp() * noise)
    return action, squashed_log_prob(action, log_std, noise)


def make_batch(generator: torch.Generator) -> Batch:
    def random(*shape):
        return torch.randn(*shape, generator=generator)

    def objects():
        present = torch.rand(SIZE, LAYOUT.slots, generator=generator) < 0.7
        return random(SIZE, LAYOUT.slots, LAYOUT.features) * present[..., None], present

    (now, present), (following, next_present) = objects(), objects()
    return Batch(
        now,
        present,
        random(SIZE, LAYOUT.features),
        random(SIZE, 2).tanh(),
        -random(SIZE).abs(),
        following,
        next_present,
    )


def after_updates(option: str, count: int = 20) -> tuple[dict, list[dict]]:
    """Everything learned in some updates, and what they reported."""
    nets, changes = OPTIONS[option]
    config = SacConfig(batch_size=SIZE, engine="torch", **changes)
    learner = Sac(config, nets, LAYOUT, 2, seed=5)
    generator, reports = torch.Generator().manual_seed(0), []
    for step in range(count):
        learner.set_progress(step / count)
        noise = torch.randn(2, SIZE, 2, generator=generator)
        reports.append(learner.update(make_batch(generator), noise))
    modules = {"policy": learner.policy, "critic": learner.critic, "target": learner.target}
    found = {f"{m}.{k}": v for m, x in modules.items() for k, v in x.state_dict().items()}
    return {**found, "temperature": learner.log_temperature.detach()}, reports


@pytest.fixture
def differentiated_automatically(monkeypatch):
    def use():
        monkeypatch.setattr(layers, "relu_mlp", plain_mlp)
        monkeypatch.setattr(set_encoders, "attend", plain_attend)
        monkeypatch.setattr(networks, "squashed_sample", plain_sample)
        monkeypatch.setattr(sac, "adam_step", lambda optimizer: optimizer.step())

    return use


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def compare(option, differentiated_automatically, tolerance):
    ours, our_reports = after_updates(option)
    differentiated_automatically()
    theirs, their_reports = after_updates(option)
    moved = 0.0
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, atol=tolerance, rtol=0, msg=name)
        moved = max(moved, float(value.abs().max()))
    assert moved > 0
    for one, two in zip(our_reports, their_reports, strict=True):
        assert one.keys() == two.keys()
        for name in one:
            torch.testing.assert_close(one[name], two[name], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("option", OPTIONS)
def test_twenty_updates_are_the_same(option, double, differentiated_automatically):
    """In double precision, where nothing but a wrong formula makes a difference."""
    compare(option, differentiated_automatically, 1e-9)


@pytest.mark.parametrize("option", ["both", "from pixels"])
def test_twenty_updates_are_the_same_in_single_precision(option, differentiated_automatically):
    compare(option, differentiated_automatically, 1e-5)
