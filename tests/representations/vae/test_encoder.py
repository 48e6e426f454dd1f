"""The encoder's contract: a picture is a set of one object whose position is the latent mean."""

import numpy as np
import torch

from smorl.goals.base import GoalConfig
from smorl.goals.priors import NormalPrior
from smorl.goals.space import VectorGoals
from smorl.representations.base import Encoder
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.types import ObjectLayout
from tests.representations.vae.small import SMALL, dots


def make() -> VaeEncoder:
    return VaeEncoder(BetaVae(SMALL, seed=4))


def test_a_picture_is_one_object_without_appearance():
    encoder: Encoder = make()
    images = dots(5)
    assert encoder.layout == ObjectLayout(slots=1, what=0, position=3)
    carry, objects = encoder.step(encoder.init(5), images, np.zeros((5, 2), np.float32))
    assert carry is None
    assert objects.what.shape == objects.scale.shape == objects.depth.shape == (5, 1, 0)
    assert objects.position.shape == (5, 1, 3)
    assert objects.position.dtype == np.float32
    assert objects.present.tolist() == [[True]] * 5
    goals = encoder.encode_goal(images)
    np.testing.assert_array_equal(goals.position, objects.position)


def test_position_is_the_posterior_mean_and_rows_do_not_mix():
    encoder, images = make(), dots(6)
    mean, _ = encoder.model.posterior(encoder.model.prepare(images))
    np.testing.assert_array_equal(encoder.encode(images), mean.detach().numpy())
    alone = np.concatenate([encoder.encode(images[i : i + 1]) for i in range(6)])
    np.testing.assert_allclose(alone, encoder.encode(images), atol=1e-6)


def test_many_pictures_are_encoded_in_chunks():
    encoder, images = make(), dots(1030)
    found = encoder.encode(images)
    np.testing.assert_allclose(found[510:515], encoder.encode(images[510:515]), atol=1e-6)
    np.testing.assert_allclose(found[1029:], encoder.encode(images[1029:]), atol=1e-6)
    assert encoder.encode(images[:0]).shape == (0, 3)
    assert encoder.draw(found[:3]).shape == (3, 16, 16, 3)


def test_it_follows_the_model_and_leaves_it_trainable():
    encoder, images = make(), dots(2)
    before = encoder.encode(images)
    with torch.no_grad():
        encoder.model.mean.bias.add_(1.0)
    np.testing.assert_allclose(encoder.encode(images), before + 1, atol=1e-5)
    assert all(p.requires_grad for p in encoder.model.parameters())


def test_reward_is_the_distance_of_latents():
    encoder, rng = make(), np.random.default_rng(0)
    space = VectorGoals(GoalConfig(solved_threshold=0.5), NormalPrior.standard(3))
    objects = encoder.encode_goal(dots(4))
    goal = space.propose(objects, rng)
    expected = -np.linalg.norm(objects.position[:, 0] - goal.position, axis=-1)
    np.testing.assert_allclose(space.reward(objects, goal), expected, rtol=1e-5)
    own = objects.goals()[:, 0]
    np.testing.assert_array_equal(space.reward(objects, own), np.zeros(4))
    assert space.solved(objects, own).all()
