"""Attention folded into feature space equals the textbook; sets are sets."""

import numpy as np
import pytest
import torch
from torch import nn

from smorl.learners.networks import Inputs, NetworkConfig, TorsoConfig, TwinCritic, build_torso
from smorl.learners.set_encoders import GoalAttention
from smorl.types import ObjectLayout

F, B, N = 9, 5, 6
TORSOS = [
    TorsoConfig(embedding=48, heads=3),
    TorsoConfig(embedding=32, heads=1, queries=3),
    TorsoConfig(embedding=32, heads=0, free_heads=2, queries=2),
    TorsoConfig(kind="deepsets", embedding=16),
]


def random_inputs(seed=0, absent=2):
    generator = torch.Generator().manual_seed(seed)
    objects = torch.randn(B, N, F, generator=generator)
    present = torch.ones(B, N, dtype=torch.bool)
    if absent:
        present[:, -absent:] = False
    return objects * present[..., None], present, torch.randn(B, F, generator=generator)


def randomise(module, seed=1):
    torch.manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)  # biases too, so that dropping one would show


def textbook(encoder: GoalAttention, member: int, objects, present, goal):
    """The same computation with nn.Linear-style embedding and nn.MultiheadAttention."""

    def embed(x):
        return x @ encoder.embed.weight[member] + encoder.embed.bias[member, 0]

    def attend(heads, query):
        reference = nn.MultiheadAttention(heads.size, heads.heads, batch_first=True)
        weights = (heads.query.weight, heads.key, heads.value.weight)
        biases = (heads.query.bias, torch.randn(2, 1, heads.size), heads.value.bias)
        with torch.no_grad():
            reference.in_proj_weight.copy_(torch.cat([w[member].T for w in weights]))
            reference.in_proj_bias.copy_(torch.cat([b[member, 0] for b in biases]))
            reference.out_proj.weight.copy_(heads.out.weight[member].T)
            reference.out_proj.bias.copy_(heads.out.bias[member, 0])
        keys = embed(objects)
        out, weights = reference(
            query, keys, keys, key_padding_mask=~present, average_attn_weights=False
        )
        return out.flatten(1), weights

    parts, found = [], {}
    if encoder.conditional is not None:
        out, found["conditional"] = attend(encoder.conditional, embed(goal)[:, None])
        parts.append(out)
    if encoder.free is not None:
        query = encoder.queries[member][None].expand(len(goal), -1, -1)
        out, found["unconditional"] = attend(encoder.free, query)
        parts.append(out)
    return torch.cat([*parts, embed(goal)], dim=-1), found


@pytest.mark.parametrize("config", TORSOS[:3])
@pytest.mark.parametrize("member", [0, 1])
def test_folded_attention_equals_multihead_attention(config, member):
    encoder = build_torso(config, F, 2)
    randomise(encoder)
    inputs = random_inputs()
    expected, weights = textbook(encoder, member, *inputs)
    torch.testing.assert_close(encoder(*inputs)[member], expected, atol=1e-5, rtol=1e-5)
    for kind, w in encoder.attention(*inputs).items():  # (C, B, Q, h, N) against (B, h, Q, N)
        torch.testing.assert_close(w[member].transpose(1, 2), weights[kind], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", TORSOS[:2])
def test_folded_attention_has_the_same_gradients(config):
    encoder = build_torso(config, F, 1)
    randomise(encoder)
    inputs = random_inputs()
    projection = torch.randn(encoder.size)
    (encoder(*inputs)[0] @ projection).sum().backward()
    folded = encoder.embed.weight.grad.clone(), encoder.embed.bias.grad.clone()
    encoder.zero_grad()
    expected, _ = textbook(encoder, 0, *inputs)
    (expected @ projection).sum().backward()
    for ours, theirs in zip(folded, (encoder.embed.weight, encoder.embed.bias), strict=True):
        torch.testing.assert_close(ours, theirs.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("config", TORSOS)
def test_order_of_slots_and_absent_slots_change_nothing(config):
    encoder = build_torso(config, F, 2)
    randomise(encoder)
    objects, present, goal = random_inputs()
    before = encoder(objects, present, goal)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(encoder(objects[:, order], present[:, order], goal), before)
    more = torch.cat([objects, torch.zeros(B, 3, F)], 1)
    mask = torch.cat([present, torch.zeros(B, 3, dtype=torch.bool)], 1)
    torch.testing.assert_close(encoder(more, mask, goal), before)


def test_the_released_padded_deepsets_does_depend_on_empty_slots():
    encoder = build_torso(TorsoConfig(kind="deepsets-padded", embedding=16), F, 1)
    randomise(encoder)
    objects, present, goal = random_inputs()
    more = torch.cat([objects, torch.zeros(B, 3, F)], 1)
    mask = torch.cat([present, torch.zeros(B, 3, dtype=torch.bool)], 1)
    before = encoder(objects, present, goal)
    assert not torch.allclose(encoder(more, mask, goal), before)


@pytest.mark.parametrize("config", TORSOS)
def test_an_empty_set_is_defined(config):
    encoder = build_torso(config, F, 2)
    randomise(encoder)
    objects, present, goal = random_inputs(absent=N)
    assert torch.isfinite(encoder(objects, present, goal)).all()


@pytest.mark.parametrize("options", [{}, {"matched": True, "relative": True}])
def test_critics_ignore_slot_order_with_every_input_option(options):
    config = NetworkConfig(torso=TORSOS[1], normalise_positions=True, critic_norm=True, **options)
    layout = ObjectLayout(slots=N, what=4, position=2, scale=2, depth=1)
    inputs = Inputs(config, layout, (0.1, 0.5), (0.2, 0.1))
    critic = TwinCritic(config, inputs, 2)
    objects, present, goal = random_inputs()
    action = torch.rand(B, 2)
    before = critic(inputs(objects, present, goal), action)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(4))
    after = critic(inputs(objects[:, order], present[:, order], goal), action)
    torch.testing.assert_close(after, before)
    assert before.shape == (2, B)
    assert not torch.allclose(before[0], before[1])


def test_matched_input_is_the_nearest_present_object():
    config = NetworkConfig(matched=True)
    layout = ObjectLayout(slots=3, what=2, position=2)
    inputs = Inputs(config, layout, (0.0, 0.0), (1.0, 1.0))
    objects = torch.tensor([[[1.0, 0, 5, 5], [0.9, 0, 6, 6], [0, 1, 7, 7]]])
    goal = torch.tensor([[1.0, 0, 0, 0]])
    present = torch.tensor([[False, True, True]])
    matched = inputs(objects * present[..., None], present, goal).matched
    np.testing.assert_allclose(matched[0], [0.9, 0, 6, 6])
