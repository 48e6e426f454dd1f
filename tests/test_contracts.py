"""One test per contract over all its implementations, those of examples/ included."""

from pathlib import Path

import numpy as np
import pytest
import torch

from smorl.goals.base import GoalConfig, GoalSpace
from smorl.goals.priors import NormalPrior, UniformPrior
from smorl.goals.space import make_goal_space
from smorl.learners.base import LearnerConfig
from smorl.learners.networks import NetworkConfig
from smorl.learners.set_encoders import TorsoConfig
from smorl.plugins import load
from smorl.representations.base import Fixed, Perception, PictureEncoder, Representation
from smorl.representations.ground_truth import GroundTruthObjects, GroundTruthVector
from smorl.representations.perceptions import load_perception
from smorl.representations.slices import SlicedObjects
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.training.online_vae import OnlineVae
from smorl.types import Batch, ObjectLayout, ObjectSet, Spaces
from tests.representations.vae.small import SMALL

EXAMPLES = Path(__file__).parents[1] / "examples"
ACTIONS, ROWS = 3, 2


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


def test_perceptions_answer_all_that_is_asked():
    perception = load_perception("shipped:scalor-1")
    tracker = perception.tracker()
    for protocol, given in ((Perception, perception), (PictureEncoder, tracker)):
        for name in [name for name in vars(protocol) if not name.startswith("_")]:
            assert hasattr(given, name), name
    size = perception.image_size
    assert tracker.image_size == size
    actions = np.zeros((ROWS, perception.actions), np.float32)
    carry, objects = tracker.step(tracker.init(ROWS), pictures(size), actions)
    slots = objects.present.shape
    drawn = tracker.draw(carry)
    assert drawn.reconstruction.shape == (ROWS, size, size, 3)
    assert drawn.masks.shape == (*slots, size, size)
    assert tracker.seen_now(carry).shape == slots
    assert tracker.raw_appearance(carry).shape[:2] == slots
    ahead = tracker.imagine(carry, np.zeros((ROWS, 3, perception.actions), np.float32))
    assert ahead.shape == (ROWS, 3, size, size, 3)
    assert 0 <= ahead.min() <= ahead.max() <= 1
    film = np.repeat(pictures(2 * size)[:1], 4, axis=0)  # of any size
    assert perception.track(film).present.shape == (4, slots[1])


def test_representations_answer_all_that_the_loop_asks():
    asked = [name for name in vars(Representation) if not name.startswith("_")]
    assert len(asked) > 10
    for name in asked:
        assert hasattr(Fixed(), name), name
        assert hasattr(OnlineVae, name) or name in OnlineVae.__annotations__, name
    assert Fixed().refresh(None, "space", 0) == "space"


BOX = UniformPrior(np.float32([-1, -1]), np.float32([1, 1]))
GOAL_SPACES = {
    "matched": (GoalConfig(match_threshold=0.5), BOX, ObjectLayout(slots=4, what=3)),
    "tracked": (GoalConfig(reward="tracking"), BOX, ObjectLayout(slots=4, what=3)),
    "vector": (GoalConfig(), NormalPrior.standard(5), ObjectLayout(slots=1, what=0, position=5)),
}


def random_objects(layout, rows, rng):
    """Sets whose objects look unlike each other; the first of each is there."""
    shape = (rows, layout.slots)
    what = np.tile(np.eye(layout.slots, layout.what, dtype=np.float32), (rows, 1, 1))
    present = np.concatenate([np.ones((rows, 1), bool), rng.random(shape)[:, 1:] < 0.7], 1)
    present[:, layout.what or 1 :] = False  # what looks like nothing is not there
    position = rng.uniform(-1, 1, (*shape, layout.position)).astype(np.float32)
    nothing, ids = np.zeros((*shape, 0), np.float32), np.tile(np.arange(shape[1]), (rows, 1))
    return ObjectSet(
        what * present[..., None], position * present[..., None], nothing, nothing, present,
        np.where(present, ids, -1),
    )  # fmt: skip


def test_goal_spaces_are_told_apart_and_answer_all_that_is_asked():
    spaces = [make_goal_space(*given) for given in GOAL_SPACES.values()]
    assert len({type(space) for space in spaces}) == 3
    for name in [name for name in vars(GoalSpace) if not name.startswith("_")]:
        assert all(hasattr(space, name) for space in spaces), name


@pytest.mark.parametrize("name", GOAL_SPACES)
def test_goal_spaces_pay_for_what_they_call_reached(name):
    config, prior, layout = GOAL_SPACES[name]
    space, rng = make_goal_space(config, prior, layout), np.random.default_rng(0)
    now, later = (random_objects(layout, 64, rng) for _ in range(2))
    goal = space.propose(now, rng)
    assert goal.position.shape == (64, layout.position)
    reward = space.reward(later, goal)
    assert reward.shape == (64,)
    assert (reward <= 0).all()
    assert (space.transition_reward(now, later, goal) <= reward).all()
    # What is achieved is reached: the reward is 0, it is solved, and it is the goal's object.
    own, there = space.achieved(later, goal)
    assert there.any()
    assert not space.reward(later, own)[there].any()
    assert space.solved(later, own)[there].all()
    np.testing.assert_array_equal(own.what[there], goal.what[there])
    found = space.find(later, goal)
    np.testing.assert_array_equal(found.matched, there)
    rows = np.flatnonzero(there)
    np.testing.assert_array_equal(own.position[rows], later.position[rows, found.index[rows]])
    # The nearer the better.
    half = own.map(np.copy)
    half.position[:] = (own.position + goal.position) / 2
    moved = there & (np.abs(own.position - goal.position).max(-1) > 0.01)
    assert (space.reward(later, half)[moved] > reward[moved]).all()


@pytest.mark.parametrize("name", GOAL_SPACES)
def test_goal_spaces_draw_from_their_prior_and_their_generator_alone(name):
    config, prior, layout = GOAL_SPACES[name]
    space, rng = make_goal_space(config, prior, layout), np.random.default_rng(0)
    objects = random_objects(layout, 64, rng)
    picked = space.pick(objects, np.random.default_rng(1))
    assert space.achieved(objects, picked)[1].all()
    assert space.solved(objects, picked).all()
    one, two = (space.imagine(picked, np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(one.position, two.position)
    np.testing.assert_array_equal(one.what, picked.what)
    assert not np.array_equal(one.position, picked.position)
    assert space.lots(objects, rng).shape == objects.present.shape
    # Another idea of near enough, another prior: the space itself stays as it is.
    assert space.judging(1e6).solved(objects, one).all()
    assert not space.judging(0.0).solved(objects, one).any()
    point = UniformPrior(np.full(layout.position, 0.5), np.full(layout.position, 0.500001))
    assert np.allclose(space.fitted(point, None).imagine(picked, rng).position, 0.5, atol=1e-3)
    assert space.prior is prior
    assert space.config is config


LEARNERS = ["sac", f"{EXAMPLES / 'own_learner.py'}:Td3Config"]
LAYOUT = ObjectLayout(slots=4, what=3, position=2)


def make_learner(kind, seed=0, **options):
    settings = LearnerConfig.of_kind(kind)(kind=kind, **options)
    networks = NetworkConfig(
        torso=TorsoConfig(embedding=12, heads=3), policy_hidden=(16,), critic_hidden=(16,)
    )
    where = {"centre": (0.0, 0.0), "spread": (1.0, 1.0), "device": torch.device("cpu")}
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
