"""Where the own hand is, told by the whole picture: learned from places that may be wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from smorl.errors import DamagedFile
from smorl.goals.own_body import StillnessModel
from smorl.presets.perception import scalor
from smorl.representations.scalor.tracking.hand import Hand, HandFinder
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.training.hand import learn_places, sightings
from smorl.representations.scalor.training.own_body import Followed
from smorl.representations.scalor.training.settings import HandConfig
from smorl.representations.scalor.weights import load_weights, save_weights
from smorl.types import ObjectSet
from tests.representations.scalor.test_weights import CONFIG, make, rewrite

SIZE = 32
BODY, THING = [1.0, 0.0], [0.0, 1.0]
REST = StillnessModel(np.array([BODY, THING], np.float32), np.array([0.1, 0.9], np.float32))


def arms(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of a bright arm that reaches down to a hand, beside a puck; and the hands (M, 2)."""
    rng = np.random.default_rng(seed)
    images = np.full((count, SIZE, SIZE, 3), 60, np.uint8)
    x, y = rng.integers(4, SIZE - 4, count), rng.integers(8, SIZE - 4, count)
    pucks = rng.integers(2, SIZE - 6, (count, 2))
    for image, left, low, puck in zip(images, x, y, pucks, strict=True):
        image[puck[0] : puck[0] + 4, puck[1] : puck[1] + 4, 0] = 250
        image[:low, left - 1 : left + 2] = 200
    return images, (2 * np.stack([x, y], 1) + 1) / SIZE - 1


def test_what_is_wrong_now_and_then_is_outvoted():
    images, hands = arms(600, seed=0)
    told = hands.copy()
    wrong = np.random.default_rng(1).random(len(told)) < 0.1
    told[wrong, 1] -= 0.5  # a mask that ends far too high up
    finder = learn_places(images, told, HandConfig(iterations=400, batch=64), seed=0)
    fresh, truth = arms(200, seed=2)
    found = finder(torch.from_numpy(fresh).permute(0, 3, 1, 2) / 255).numpy()
    error = np.linalg.norm(found - truth, axis=-1) * SIZE / 2
    assert np.median(error) < 0.7, "pixels"
    assert (error < 2).mean() > 0.97, "nine of ten were right, and that is learned"


def test_the_same_seed_learns_the_same():
    images, hands = arms(60, seed=0)
    one, two = (learn_places(images, hands, HandConfig(3, 8), seed=5) for _ in range(2))
    assert all(v.equal(two.state_dict()[k]) for k, v in one.state_dict().items())


class Fixed(HandFinder):
    """Sees the hand where it is told."""

    def forward(self, images):
        return torch.tensor([[0.5, 0.5]]).expand(len(images), 2)


def put(what, present=(True, True, True)):
    place = torch.tensor([[[-0.9, -0.9], [0.4, 0.4], [0.6, 0.6]]])
    hand = Hand(Fixed(SIZE), REST)
    images = torch.zeros(1, 3, SIZE, SIZE)
    found = hand.put(images, torch.tensor([what]), torch.tensor([present]), place)
    return (found != place).any(-1)[0].tolist(), found


def test_only_the_nearest_part_of_the_body_is_put_there():
    moved, found = put([BODY, BODY, THING])
    assert moved == [False, True, False]
    assert found[0, 1].tolist() == [0.5, 0.5]


def test_things_and_empty_slots_stay_where_they_are():
    assert put([THING, THING, THING])[0] == [False] * 3
    assert put([BODY, BODY, THING], (True, False, True))[0] == [True, False, False]


def test_sightings_are_of_frames_that_show_a_body():
    what = np.array([[[THING, BODY], [THING, THING]]], np.float32)
    position = np.array([[[[0.1, 0.1], [0.2, 0.3]]] * 2], np.float32)
    empty = np.zeros((1, 2, 2, 0), np.float32)
    objects = ObjectSet(what, position, empty, empty, np.ones((1, 2, 2), bool))
    images = np.arange(2, dtype=np.uint8).reshape(1, 2, 1, 1, 1).repeat(3, -1)
    followed = Followed(objects, np.zeros((1, 2, 2), np.float32), images, REST, None)
    shown, places = sightings(followed)
    assert len(shown) == 1
    assert shown[0, 0, 0, 0] == 0
    np.testing.assert_allclose(places, [[0.2, 0.3]])


def with_hand():
    """A perception for which everything is its own body, and the hand in one place."""
    finder = HandFinder(CONFIG.image_size)
    torch.nn.init.zeros_(finder.head.weight)
    finder.head.bias.data[:] = torch.tensor([0.25, -0.25])
    rest = StillnessModel(np.zeros((1, CONFIG.what), np.float32), np.zeros(1, np.float32))
    return replace(make(), hand=Hand(finder.requires_grad_(False), rest))


def test_a_file_keeps_it_and_the_tracker_uses_it_unless_told_otherwise(tmp_path):
    loaded = load_weights(save_weights(tmp_path / "w.safetensors", with_hand()))
    images = np.random.default_rng(1).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    there = np.float32([0.25, -0.25])

    def at_hand(**settings) -> int:
        found = loaded.tracker(TrackerConfig(unique=False, **settings)).encode_goal(images)
        return int(((found.position == there).all(-1) & found.present).sum())

    assert at_hand() == 2, "one object of each picture"
    assert at_hand(hand=False) == 0
    assert TrackerConfig.plain().hand is False


def test_a_damaged_hand_is_named(tmp_path):
    path = save_weights(tmp_path / "w.safetensors", with_hand())
    arrays = load_file(path)
    rewrite(path, {k: v for k, v in arrays.items() if k != "hand/rest/centres"})
    with pytest.raises(DamagedFile, match="which appearances are the hand's"):
        load_weights(path)
    rewrite(path, {**arrays, "hand/rest/centres": np.zeros((1, 99), np.float32)})
    with pytest.raises(DamagedFile):
        load_weights(path)
    rewrite(path, {**arrays, "hand/finder/head.bias": np.full(2, np.nan, np.float32)})
    with pytest.raises(DamagedFile, match="finite"):
        load_weights(path)


def test_the_fast_presets_learn_it_where_pucks_hide_each_other():
    assert [scalor(n).hand.iterations > 0 for n in (1, 2, 3, 4)] == [False, True, True, True]
