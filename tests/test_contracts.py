"""One test per contract over all its implementations, those of examples/ included."""

from pathlib import Path

import numpy as np
import pytest
import torch

from smorl.learners.base import LearnerConfig
from smorl.learners.networks import NetworkConfig
from smorl.learners.set_encoders import TorsoConfig
from smorl.plugins import load
from smorl.representations.base import Fixed, Representation
from smorl.representations.ground_truth import GroundTruthObjects, GroundTruthVector
from smorl.representations.scalor.weights import load_perception
from smorl.representations.slices import SlicedObjects
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.training.online_vae import OnlineVae
from smorl.types import Batch, ObjectLayout, Spaces
from tests.representations.vae.small import SMALL

EXAMPLES = Path(__file__).parents[1] / "examples"
ROWS, ACTIONS = 2, 3


def pictures(size):
    return np.random.default_rng(0).integers(0, 255, (ROWS, size, size, 3), np.uint8)


def state(size):
    return np.random.default_rng(0).normal(size=(ROWS, size)).astype(np.float32)


def tracker():
    weights = load_perception("shipped:scalor-1")
    return weights.tracker(), pictures(64), weights.actions


ENCODERS = {
    "ground truth": lambda: (GroundTruthObjects(3), state(6), ACTIONS),
    "vector": lambda: (GroundTruthVector(6), state(6), ACTIONS),
    "slices": lambda: (SlicedObjects("0:2=0:2, 3:5", Spaces((6,), 2, (6,))), state(6), ACTIONS),
    "vae": lambda: (VaeEncoder(BetaVae(SMALL)), pictures(SMALL.image_size), ACTIONS),
    "scalor": tracker,
    "example": lambda: (load(f"{EXAMPLES / 'own_encoder.py'}:ByColour")(), pictures(32), ACTIONS),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_keep_their_layout_and_their_carry_is_explicit(name):
    encoder, observation, length = ENCODERS[name]()
    actions = np.zeros((ROWS, length), np.float32)
    carry = encoder.init(ROWS)
    carry, first = encoder.step(carry, observation, actions)
    assert first.layout == encoder.layout
    assert first.present.shape == (ROWS, encoder.layout.slots)
    assert first.present.dtype == bool
    _, second = encoder.step(carry, observation, actions)
    _, again = encoder.step(carry, observation, actions)  # nothing is remembered but the carry
    for (part, one), (_, two) in zip(second.arrays(), again.arrays(), strict=True):
        np.testing.assert_array_equal(one, two, err_msg=part)
    goal = encoder.encode_goal(observation)
    assert goal.what.shape == first.what.shape
    assert goal.position.shape == first.position.shape
    absent = ~goal.present
    assert not np.asarray(goal.what)[absent].any()


def test_representations_answer_all_that_the_loop_asks():
    asked = [name for name in vars(Representation) if not name.startswith("_")]
    assert len(asked) > 10
    for name in asked:
        assert hasattr(Fixed(), name), name
        assert hasattr(OnlineVae, name) or name in OnlineVae.__annotations__, name
    assert Fixed().refresh(None, "space", 0) == "space"


LEARNERS = ["sac", f"{EXAMPLES / 'own_learner.py'}:Td3Config"]
LAYOUT = ObjectLayout(slots=4, what=3, position=2)


def make_learner(kind, seed=0, **options):
    settings = LearnerConfig.of_kind(kind)(kind=kind, **options)
    networks = NetworkConfig(
        torso=TorsoConfig(embedding=12, heads=3), policy_hidden=(16,), critic_hidden=(16,)
    )
    where = {"centre": (0.0, 0.0), "spread": (1.0, 1.0)}
    return settings.build(networks, LAYOUT, ACTIONS, seed=seed, **where)


def make_batch(size=16):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    present = torch.ones(size, LAYOUT.slots, dtype=torch.bool)
    features = (size, LAYOUT.slots, LAYOUT.features)
    return Batch(
        normal(*features),
        present,
        normal(size, LAYOUT.features),
        normal(size, ACTIONS).tanh(),
        -normal(size).abs(),
        normal(*features),
        present,
    )


@pytest.mark.parametrize("kind", LEARNERS, ids=["sac", "td3"])
def test_learners_act_value_improve_and_come_back(kind):
    learner, batch = make_learner(kind), make_batch()
    seen = (batch.objects, batch.present, batch.goal)
    noise = torch.ones(16, ACTIONS)
    action = learner.act(*seen)
    assert action.shape == (16, ACTIONS)
    assert torch.equal(action, learner.act(*seen))
    assert not torch.equal(action, learner.act(*seen, noise))
    assert learner.act(*seen, 10 * noise).abs().max() <= 1
    assert learner.value(*seen).shape == (16,)
    learner.set_progress(0.5)
    losses = [learner.update(batch, torch.zeros(2, 16, ACTIONS)) for _ in range(60)]
    assert learner.updates == 60
    assert all("critic/q" in info for info in losses)
    assert losses[-1]["critic/loss"] < losses[0]["critic/loss"]
    other = make_learner(kind, seed=1)
    own, theirs = learner.tensors(), other.tensors()
    assert own.keys() == theirs.keys()
    with torch.no_grad():
        for name, tensor in theirs.items():
            tensor.copy_(own[name])
    assert torch.equal(other.act(*seen), learner.act(*seen))
    assert torch.equal(other.value(*seen), learner.value(*seen))


def test_an_unknown_learner_gets_a_remedy():
    with pytest.raises(ValueError, match="Did you mean 'sac'"):
        LearnerConfig.of_kind("sacc")
    with pytest.raises(ValueError, match="is no dataclass of learner settings"):
        LearnerConfig.of_kind(f"{EXAMPLES / 'own_learner.py'}:Td3")
