"""Where hand and things are, told by the whole picture: learned from places that may be wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from smorl.errors import DamagedFile
from smorl.goals.own_body import StillnessModel
from smorl.presets.perception import scalor
from smorl.representations.scalor.tracking.finder import Finder
from smorl.representations.scalor.tracking.known import Known
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.training.finder import (
    Sightings,
    kinds_of_things,
    learn,
    sightings,
    usual,
)
from smorl.representations.scalor.training.own_body import Followed
from smorl.representations.scalor.training.settings import FinderConfig
from smorl.representations.scalor.weights import load_weights, save_weights
from smorl.types import ObjectSet
from tests.representations.scalor.test_weights import CONFIG, make, rewrite

SIZE = 32
BODY, THING = [1.0, 0.0], [0.0, 1.0]
REST = StillnessModel(np.array([BODY, THING], np.float32), np.array([0.1, 0.9], np.float32))
KINDS = np.array([-1, 0])


def arms(count: int, seed: int) -> Sightings:
    """Pictures of a bright arm that reaches down to a hand, beside a puck that it may cover."""
    rng = np.random.default_rng(seed)
    images = np.full((count, SIZE, SIZE, 3), 60, np.uint8)
    x, y = rng.integers(4, SIZE - 4, count), rng.integers(8, SIZE - 4, count)
    pucks = rng.integers(2, SIZE - 6, (count, 2))
    for image, left, low, puck in zip(images, x, y, pucks, strict=True):
        image[puck[0] : puck[0] + 4, puck[1] : puck[1] + 4, 0] = 250
        image[:low, left - 1 : left + 2] = 200
    hands = (2 * np.stack([x, y], 1) + 1) / SIZE - 1
    things = (2 * (pucks[:, None, ::-1] + 1.5) + 1) / SIZE - 1
    return Sightings(images, hands.astype(np.float32), things.astype(np.float32))


def find(finder: Finder, images: np.ndarray):
    return finder(torch.from_numpy(images).permute(0, 3, 1, 2) / 255)


@pytest.fixture(scope="module")
def taught():
    """A finder that was told wrong places in one picture of ten."""
    told = arms(600, seed=0)
    wrong = np.random.default_rng(1).random(len(told.hands)) < 0.1
    told.hands[wrong, 1] -= 0.5  # a mask that ends far too high up
    told.things[wrong, 0] = told.hands[wrong]  # the arm, taken for the puck
    return learn(told, FinderConfig(iterations=400, batch=64), seed=0)


def test_what_is_wrong_now_and_then_is_outvoted(taught):
    fresh = arms(200, seed=2)
    found = find(taught, fresh.images)
    for places, truth in ((found.hand, fresh.hands), (found.place[:, 0], fresh.things[:, 0])):
        error = np.linalg.norm(places.numpy() - truth, axis=-1) * SIZE / 2
        assert np.median(error) < 0.7, "pixels"
        assert (error < 2).mean() > 0.95, "nine of ten were right, and that is learned"


def test_a_thing_that_is_not_there_is_not_seen(taught):
    with_puck, without = arms(100, seed=3).images, arms(100, seed=3).images
    without[..., 0] = without[..., 1]  # only the puck is coloured
    assert (find(taught, with_puck).chance > 0.2).float().mean() > 0.9
    assert (find(taught, without).chance < 0.5).float().mean() > 0.97


def test_the_same_seed_learns_the_same():
    told = arms(60, seed=0)
    one, two = (learn(told, FinderConfig(3, 8), seed=5) for _ in range(2))
    assert all(v.equal(two.state_dict()[k]) for k, v in one.state_dict().items())


def test_no_things_is_nothing_to_be_afraid_of():
    told = arms(60, seed=0)
    finder = learn(replace(told, things=told.things[:, :0]), FinderConfig(3, 8), seed=5)
    assert find(finder, told.images).place.shape == (60, 0, 2)


def test_clusters_that_look_alike_are_one_thing():
    centres = np.array([[0, 0], [0.1, 0], [5, 0], [9, 9]], np.float32)
    rest = StillnessModel(centres, np.array([0.9, 0.8, 0.7, 0.2], np.float32))
    assert kinds_of_things(rest, np.full(4, 0.5), 0.5).tolist() == [0, 0, 1, -1]


def test_what_is_seldom_seen_is_a_look_of_a_thing_or_nothing():
    centres = np.array([[0, 0], [5, 0], [5.4, 0], [9, 9]], np.float32)
    rest = StillnessModel(centres, np.full(4, 0.9, np.float32))
    often = np.array([0.1, 0.9, 0.1, 0.4])
    assert kinds_of_things(rest, often, 0.5).tolist() == [-1, 0, 0, 1]


def test_nothing_that_rests_is_no_thing():
    rest = StillnessModel(np.zeros((2, 2), np.float32), np.zeros(2, np.float32))
    assert kinds_of_things(rest, np.ones(2), 0.5).tolist() == [-1, -1]


def followed() -> Followed:
    """Three frames: a thing and the body; the thing remembered only; the thing seen twice."""
    what = np.array([[[THING, BODY], [THING, BODY], [THING, THING]]], np.float32)
    position = np.tile(np.array([[0.1, 0.1], [0.2, 0.3]], np.float32), (1, 3, 1, 1))
    depth = np.zeros((1, 3, 2, 2), np.float32)
    depth[0, 1, 0, 1] = 0.5
    scale = np.full((1, 3, 2, 2), 0.1, np.float32)
    objects = ObjectSet(what, position, scale, depth, np.ones((1, 3, 2), bool))
    images = np.arange(3, dtype=np.uint8).reshape(1, 3, 1, 1, 1).repeat(3, -1)
    return Followed(objects, np.zeros((1, 3, 2), np.float32), images, REST, None)


def test_sightings_are_of_what_is_seen_once_in_a_frame():
    seen = sightings(followed(), KINDS)
    assert seen.images[:, 0, 0, 0].tolist() == [0, 1, 2]
    np.testing.assert_allclose(seen.hands[:2], [[0.2, 0.3]] * 2)
    assert np.isnan(seen.hands[2]).all(), "no body there"
    np.testing.assert_allclose(seen.things[0, 0], [0.1, 0.1])
    assert np.isnan(seen.things[1:]).all()


def test_a_usual_sighting_looks_like_most_of_them():
    looks, extents, depths = usual(followed(), KINDS)
    np.testing.assert_allclose(looks, [THING, BODY])
    np.testing.assert_allclose(extents, 0.1)
    assert depths.shape == (2, 1)


def with_known():
    """A perception for which everything is its own body, and the hand in one place."""
    finder = Finder(CONFIG.image_size, 0)
    torch.nn.init.zeros_(finder.head.weight)
    finder.head.bias.data[:] = torch.tensor([0.25, -0.25])
    rest = StillnessModel(np.zeros((1, CONFIG.what), np.float32), np.zeros(1, np.float32))
    looks, few = np.zeros((1, CONFIG.what), np.float32), np.zeros((1, 2), np.float32)
    known = Known(finder.requires_grad_(False), rest, np.array([-1]), looks, few, few[:, :1])
    return replace(make(), known=known)


def test_a_file_keeps_it_and_the_tracker_uses_it_unless_told_otherwise(tmp_path):
    loaded = load_weights(save_weights(tmp_path / "w.safetensors", with_known()))
    images = np.random.default_rng(1).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    there = np.float32([0.25, -0.25])

    def at_hand(**settings) -> int:
        found = loaded.tracker(TrackerConfig(unique=False, **settings)).encode_goal(images)
        return int(((found.position == there).all(-1) & found.present).sum())

    assert at_hand() == 2, "one object of each picture"
    assert at_hand(hand=False) == 0
    assert TrackerConfig.plain().hand is TrackerConfig.plain().known is False


@pytest.mark.parametrize("name", ["rest/centres", "kinds", "looks", "finder/cells.2.bias"])
def test_a_file_that_lacks_a_part_is_named(tmp_path, name):
    path = save_weights(tmp_path / "w.safetensors", with_known())
    arrays = load_file(path)
    rewrite(path, {k: v for k, v in arrays.items() if k != f"known/{name}"})
    with pytest.raises(DamagedFile, match="how hand and things look"):
        load_weights(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rest/centres", np.zeros((1, 99), np.float32)),
        ("kinds", np.array([3])),
        ("kinds", np.array([0.5])),
        ("looks", np.zeros((7, 2), np.float32)),
        ("extents", np.zeros((7, 2), np.float32)),
        ("depths", np.zeros((7, 2), np.float32)),
        ("finder/cells.2.bias", np.zeros(300, np.float32)),
        ("finder/head.bias", np.full(2, np.nan, np.float32)),
    ],
)
def test_a_damaged_part_is_refused(tmp_path, name, value):
    path = save_weights(tmp_path / "w.safetensors", with_known())
    rewrite(path, {**load_file(path), f"known/{name}": value})
    with pytest.raises(DamagedFile):
        load_weights(path)


def test_a_file_with_parts_nobody_knows_is_refused(tmp_path):
    path = save_weights(tmp_path / "w.safetensors", make())
    rewrite(path, {**load_file(path), "hand/finder/head.bias": np.zeros(2, np.float32)})
    with pytest.raises(DamagedFile, match="does not know"):
        load_weights(path)


def test_all_fast_presets_learn_it():
    assert [scalor(n).finder.iterations > 0 for n in (1, 2, 3, 4)] == [True] * 4
