"""Contracts over every perception preset."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.config import from_json, paths, to_json
from smorl.errors import InvalidInput
from smorl.presets.perception import (
    PAPER_PROVENANCE,
    PERCEPTION_PRESETS,
    get_perception_preset,
)
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.training.step import train_step
from smorl.representations.video import Sequences

NAMES = sorted(PERCEPTION_PRESETS)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_through_json(name):
    config = get_perception_preset(name).build()
    assert from_json(ScalorTrainingConfig, json.loads(json.dumps(to_json(config)))) == config


def noise_sequences(config: ScalorTrainingConfig) -> Sequences:
    rng = np.random.default_rng(0)
    size = config.scalor.image_size
    images = rng.integers(0, 256, (2, 5, size, size, 3), dtype=np.uint8)
    return Sequences(config.env, 0, images, rng.uniform(-1, 1, (2, 5, 2)).astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_makes_one_update(name):
    config = get_perception_preset(name).build()
    config = replace(config, optimise=replace(config.optimise, batch=2, lengths=(2,)))
    size = config.scalor.image_size
    state = PerceptionState.create(config, 0, np.full((size, size, 3), 0.5, np.float32), 2)
    before = [p.detach().clone() for p in state.model.parameters()]
    terms = train_step(config, state, noise_sequences(config))
    assert all(np.isfinite(value) for value in terms.values())
    after = state.model.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "change",
    [{"optimizer": "rmsprop"}, {"rotations": True}, {"clip": 0.01}, {"decay": "cosine"}],
)
def test_every_way_to_optimise_makes_an_update(change):
    config = get_perception_preset("debug-scalor").build()
    config = replace(config, optimise=replace(config.optimise, **change))
    state = PerceptionState.create(config, 0, np.full((64, 64, 3), 0.5, np.float32), 2)
    before = [p.detach().clone() for p in state.model.parameters()]
    terms = train_step(config, state, noise_sequences(config))
    assert np.isfinite(terms["loss"])
    after = state.model.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_attempts_start_from_different_weights_and_the_same_attempt_from_the_same():
    config, background = get_perception_preset("debug-scalor").build(), np.zeros((64, 64, 3))
    one, same, other = (PerceptionState.create(config, a, background, 2) for a in (0, 0, 1))
    pairs = list(zip(one.model.parameters(), same.model.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b in pairs)
    pairs = list(zip(one.model.parameters(), other.model.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in pairs)
    assert one.batches.random() == same.batches.random() != other.batches.random()


def test_the_paper_presets_carry_the_table_of_the_paper():
    config = get_perception_preset("paper-scalor-1").build()
    o, s = config.optimise, config.scalor
    assert (o.optimizer, o.iterations, o.lr, o.batch) == ("adam", 5000, 1e-4, 11)
    assert (s.explained, s.cells, s.size, s.size_range) == (0.1, 4, 0.22, 0.12)
    assert (s.ratio, s.ratio_range, s.what) == (1.0, 0.3, 8)
    assert get_perception_preset("paper-scalor-2").build().scalor.what == 4
    known = set(paths(ScalorTrainingConfig, to_json(config)))
    assert set(PAPER_PROVENANCE) <= known


def test_unknown_names_get_a_hint():
    with pytest.raises(InvalidInput, match="Did you mean 'scalor-2'"):
        get_perception_preset("scaler-2")
