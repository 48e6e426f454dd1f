"""The VAE of a run: what it trains on, what it encodes anew, and which goals follow from it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.goals.priors import EmpiricalPrior, NormalPrior
from smorl.goals.skew import SkewConfig, skewed_weights
from smorl.methods import EncoderInputs
from smorl.presets import get_preset
from smorl.replay.relabel import sample_batch
from smorl.representations.vae.settings import Phase, VaeTraining
from smorl.training.online_vae import CHUNK
from smorl.training.train_state import TrainState
from smorl.types import Episode, ObjectGoal, ObjectSet, Spaces
from tests.representations.vae.small import dots

RARE = 0  # the episode that shows something else


def make_state(preset="debug-skewfit", **latent):
    config = get_preset(preset).build()
    training = VaeTraining(batch=16, initial=20, phases=(Phase(40, 10),))
    config = replace(
        config,
        latent=replace(config.latent, **{"training": training, **latent}),
        collect=replace(config.collect, horizon=4, replay_steps=40),
    )
    state = TrainState.create(config, EncoderInputs(Spaces((48, 48, 3), 2)))
    state.counters.env_steps = config.collect.initial_steps  # the random data is complete
    return config, state


def fill(state, episodes=6, seed=0, pursued=False, rare=False):
    """Store episodes of a square that jumps about; if `rare`, one of them shows its negative."""
    steps = state.replay.horizon + 1
    frames = dots(episodes * steps, seed).reshape(episodes, steps, 16, 16, 3)
    if rare:
        frames[RARE] = 255 - frames[RARE]
    vectors = state.encoder.encode(frames.reshape(-1, 16, 16, 3))
    objects = ObjectSet.of_vectors(vectors)
    objects = objects.map(lambda a: a.reshape(episodes, steps, *a.shape[1:]))
    nothing = np.zeros((episodes, 0), np.float32)
    place = np.random.default_rng(seed).standard_normal((episodes, vectors.shape[1]), np.float32)
    actions = np.zeros((episodes, steps - 1, 2), np.float32)
    found = Episode(objects, actions, ObjectGoal(nothing, place, nothing))
    state.replay.add(found)
    state.representation.add(found, frames, pursued)
    return found, frames


def train_all(state, config):
    while state.representation.pending_batches:
        state.representation.advance()
    state.refresh(config)


def test_latents_of_the_replay_follow_the_vae():
    config, state = make_state()
    _, frames = fill(state)
    before = state.replay.episodes.objects.position[:6].copy()
    state.begin(config)
    assert state.representation.pending_batches == 20
    assert not state.representation.ready
    train_all(state, config)
    stored = state.replay.episodes.objects.position[:6, :, 0]
    now = state.encoder.encode(frames.reshape(-1, 16, 16, 3)).reshape(stored.shape)
    np.testing.assert_array_equal(stored, now)
    assert not np.array_equal(stored, before[:, :, 0])
    assert state.representation.ready


def test_goals_nobody_pursued_become_the_ends_of_other_episodes():
    config, state = make_state()
    _, frames = fill(state)
    state.begin(config)
    train_all(state, config)
    ends = state.encoder.encode(np.roll(frames[:, -1], 1, axis=0))
    np.testing.assert_array_equal(state.replay.episodes.goal.position[:6], ends)


def test_goals_that_were_pursued_are_encoded_from_what_they_looked_like():
    config, state = make_state()
    fill(state)
    state.begin(config)
    train_all(state, config)
    found, _ = fill(state, 4, seed=1, pursued=True)
    looks = state.encoder.draw(found.goal.position)
    state.representation.owe(0, 40)
    train_all(state, config)
    stored = state.replay.episodes.goal.position[6:]
    np.testing.assert_allclose(stored, state.encoder.encode(looks), atol=1e-5)
    assert np.abs(stored - found.goal.position).max() > 1e-3


def test_relabelled_goals_and_rewards_are_those_of_the_new_latents():
    """Future goals are later latents, imagined ones come from the prior; the reward is minus the
    distance of the next latent to the goal."""
    config, state = make_state()
    fill(state)
    state.begin(config)
    train_all(state, config)
    rng = np.random.default_rng(0)
    batch = sample_batch(
        state.replay.episodes, state.replay.size, 400, state.space, config.relabel, rng
    )
    distance = np.linalg.norm(batch.next_objects[:, 0] - batch.goal, axis=-1)
    np.testing.assert_allclose(batch.reward, -distance, rtol=1e-5, atol=1e-6)
    latents = state.replay.episodes.objects.position[: state.replay.size].reshape(-1, 3)
    rollout, future, _ = config.relabel.counts(400)
    known = {row.tobytes() for row in latents}
    assert all(row.tobytes() in known for row in batch.goal[rollout : rollout + future])
    prior = {row.tobytes() for row in state.space.prior.latents}
    assert all(row.tobytes() in prior for row in batch.goal[rollout + future :])


def test_rare_pictures_are_preferred_as_goals_and_to_train_on():
    """Importance weights end to end: one episode in eight looks different from the others."""
    skew = SkewConfig(power=-1.0, samples=4, after=0)
    shares, losses = {}, {}
    for name, used in (("skewed", skew), ("plain", None)):
        config, state = make_state(
            skew=used, training=VaeTraining(batch=16, initial=150, phases=(Phase(40, 100),))
        )
        _, frames = fill(state, 8, rare=True)
        state.begin(config)
        train_all(state, config)
        rare = state.replay.episodes.objects.position[RARE, :, 0]
        what = np.zeros((4000, 0), np.float32)
        goals = state.space.prior.sample(what, np.random.default_rng(0))
        shares[name] = (goals[:, None] == rare[None]).all(-1).any(1).mean()
        state.representation.owe(0, 40)
        train_all(state, config)
        model = state.encoder.model
        with torch.no_grad():
            pictures = model.prepare(frames[RARE])
            losses[name] = float(
                (model.decode(model.posterior(pictures)[0]) - pictures).square().sum()
            )
    assert shares["plain"] == pytest.approx(1 / 8, abs=0.03)
    assert shares["skewed"] > 3 * shares["plain"]
    assert losses["skewed"] < losses["plain"], "what is drawn more often is learned better"


def test_the_weights_of_a_phase_are_those_of_the_model_before_it():
    skew = SkewConfig(samples=2, after=0)
    config, state = make_state(skew=skew)
    fill(state)
    state.begin(config)
    train_all(state, config)
    clone = torch.Generator()
    clone.set_state(state.representation.generator.get_state())
    wanted = skewed_weights(state.encoder.model, state.representation.pictures.flat(), skew, clone)
    state.representation.owe(0, 40)
    train_all(state, config)
    prior = state.space.prior
    assert isinstance(prior, EmpiricalPrior)
    np.testing.assert_array_equal(prior.weights, wanted)
    np.testing.assert_array_equal(
        prior.latents, state.encoder.encode(state.representation.pictures.flat())
    )


def test_nothing_is_skewed_before_its_time():
    config, state = make_state(skew=SkewConfig(samples=2, after=100))
    fill(state, rare=True)
    state.begin(config)
    train_all(state, config)
    weights = state.space.prior.weights
    np.testing.assert_array_equal(weights, np.full(30, 1 / 30))
    state.representation.owe(80, 120)
    assert state.representation.draw.weights.std() > 0


def test_phases_are_owed_by_steps_and_paid_in_chunks():
    config, state = make_state(
        training=VaeTraining(batch=4, initial=CHUNK + 7, phases=(Phase(40, 10, 80), Phase(100, 30)))
    )
    fill(state)
    state.begin(config)
    terms = state.representation.advance()
    assert set(terms) == {"loss", "reconstruction", "kl", "elbo"}
    assert (state.representation.pending_batches, state.representation.trained) == (7, CHUNK)
    train_all(state, config)
    pending_batches = []
    for before in range(-20, 300, 40):
        state.representation.owe(before, before + 40)
        pending_batches.append(state.representation.pending_batches)
        train_all(state, config)
    # Ends of rounds: 20, 60, 100, ...; phases end at 40 and 80, then at 180 and 280.
    assert pending_batches == [0, 10, 10, 0, 30, 0, 0, 30]


def test_rig_freezes_and_forgets_its_pictures():
    config, state = make_state(
        "debug-rig", goals="prior", skew=None, training=VaeTraining(batch=16, initial=20)
    )
    fill(state)
    state.begin(config)
    train_all(state, config)
    assert state.representation.pictures is None
    assert isinstance(state.space.prior, NormalPrior)
    weights = [p.clone() for p in state.encoder.model.parameters()]
    fill(state, seed=2, pursued=True)
    state.representation.owe(0, 10**6)
    assert state.representation.pending_batches == 0
    after = state.encoder.model.parameters()
    assert all(torch.equal(a, b) for a, b in zip(weights, after, strict=True))


def test_without_initial_batches_goals_come_from_what_was_seen():
    config, state = make_state(skew=None, training=VaeTraining(phases=(Phase(40, 10),)))
    fill(state)
    state.begin(config)
    assert state.representation.ready
    assert isinstance(state.space.prior, EmpiricalPrior)
    assert len(state.space.prior.latents) == 30


def test_only_some_pictures_are_weighed():
    config, state = make_state(skew=SkewConfig(samples=1, after=0, pictures=11))
    _, frames = fill(state)
    state.begin(config)
    train_all(state, config)
    prior = state.space.prior
    assert prior.latents.shape == (11, 3)
    everything = {row.tobytes() for row in state.encoder.encode(frames.reshape(-1, 16, 16, 3))}
    assert all(row.tobytes() in everything for row in prior.latents)
