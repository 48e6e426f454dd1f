"""Findings on made-up statistics, and the statistics of made-up trackers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from smorl.representations.scalor.tracking.diagnostics import Statistics, diagnose, measure
from smorl.types import ObjectLayout, ObjectSet

GOOD = Statistics(
    objects=3.1,
    limit=5,
    blobs=3.0,
    covered=0.9,
    found=0.95,
    phantoms=0.02,
    overlap=0.03,
    appearance=1.4,
    distinct=0.95,
    what_kl=9.0,
    mse=0.001,
    residual=0.02,
)


def test_a_good_model_gets_no_finding():
    assert diagnose(GOOD) == []


@pytest.mark.parametrize(
    ("change", "words", "fatal"),
    [
        ({"objects": 0.0, "covered": 0.0, "found": 0.0}, "background took everything", True),
        ({"covered": 0.05, "found": 0.0}, "background took everything", True),
        ({"found": 0.4}, "missed", True),
        ({"objects": 4.9, "phantoms": 0.6}, "All cells are on", True),
        ({"objects": 2.0, "phantoms": 0.6}, "Too many cells are on", True),
        ({"objects": 4.9}, "Almost all slots", False),
        ({"overlap": 0.5}, "split", True),
        ({"what_kl": 0.01}, "collapsed", True),
        ({"appearance": 0.001}, "collapsed", True),
        ({"distinct": 0.1}, "collapsed", True),
        ({"finite": False, "objects": 0.0}, "NaN", True),
        ({"blobs": 0.0, "found": 0.0, "covered": 0.0}, "next to nothing", False),
    ],
)
def test_every_way_to_fail_has_its_sentence_and_remedy(change, words, fatal):
    findings = diagnose(replace(GOOD, **change))
    assert len(findings) == 1
    assert words in findings[0].sentence
    assert findings[0].fatal is fatal
    assert findings[0].remedy.endswith(".")
    assert findings[0].remedy in str(findings[0])


def test_early_in_training_less_is_expected():
    young = replace(GOOD, found=0.4)
    assert diagnose(young, share=0.3) == []
    assert diagnose(young, share=1.0)[0].fatal


SIZE = 64


class Painter:
    """A tracker that returns given boxes, with masks that fill them."""

    def __init__(self, boxes, what=None, present=None, age=0):
        self.boxes = np.asarray(boxes, np.float32).reshape(-1, 4)
        slots = len(self.boxes)
        self.what = np.arange(slots * 2.0).reshape(slots, 2) if what is None else what
        self.present = np.ones(slots, bool) if present is None else np.array(present)
        self.age, self.layout = age, ObjectLayout(slots, 2, 2, 2, 1)

    def init(self, batch):
        slots = len(self.boxes)
        ids = np.broadcast_to(np.arange(slots), (batch, slots))
        return SimpleNamespace(age=np.full((batch, slots), self.age), ids=ids)

    def step(self, carry, images, actions):
        self.images = images

        def rows(array):
            return np.broadcast_to(array, (len(images), *array.shape))

        boxes = rows(self.boxes)
        depth = np.zeros((*boxes.shape[:2], 1))
        what, present = rows(self.what), rows(self.present)
        return carry, ObjectSet(what, boxes[..., :2], boxes[..., 2:], depth, present)

    def draw(self, carry):
        centre = (np.arange(SIZE) + 0.5) / SIZE * 2 - 1
        inside = [
            (np.abs(centre[:, None] - y) < sy) & (np.abs(centre[None] - x) < sx)
            for x, y, sx, sy in self.boxes
        ]
        masks = np.broadcast_to(np.array(inside, float), (len(self.images), *np.shape(inside)))
        return SimpleNamespace(masks=masks, reconstruction=self.images / 255)


def squares(*places):
    """Two frames of two episodes, black, with 8x8 white squares at pixel places (x, y)."""
    images = np.zeros((2, 2, SIZE, SIZE, 3), np.uint8)
    for x, y in places:
        images[:, :, y : y + 8, x : x + 8] = 255
    return images, np.zeros((2, 2, 2), np.float32), np.zeros((SIZE, SIZE, 3), np.float32)


def box(x, y, half=4):
    """The box of a square at a pixel place, in image coordinates."""
    return [(x + 4) / 32 - 1, (y + 4) / 32 - 1, half / 32, half / 32]


def test_a_tracker_that_finds_all_squares():
    images, actions, background = squares((8, 8), (40, 40))
    found = measure(Painter([box(8, 8), box(40, 40)]), images, actions, background, 3.0)
    assert (found.objects, found.blobs, found.limit) == (2, 2, 2)
    assert found.covered == found.found == 1
    assert found.phantoms == found.overlap == found.mse == 0
    assert found.residual == pytest.approx(2 * 64 / SIZE**2)
    assert found.appearance > 1
    assert found.distinct == pytest.approx(1)
    assert found.what_kl == 3.0


def test_missed_phantom_and_doubled_boxes_are_counted():
    images, actions, background = squares((8, 8), (40, 40))
    tracker = Painter([box(8, 8), box(9, 8), box(40, 8)])
    found = measure(tracker, images, actions, background, 3.0)
    assert found.found == 0.5
    assert found.covered == pytest.approx(0.5)
    assert found.phantoms == pytest.approx(1 / 3)
    assert found.overlap == pytest.approx(2 / 3)


def test_absent_and_hidden_slots_do_not_count():
    images, actions, background = squares((8, 8))
    boxes = [box(8, 8), box(40, 40)]
    found = measure(Painter(boxes, present=[True, False]), images, actions, background, 3.0)
    assert (found.objects, found.phantoms) == (1, 0)
    found = measure(Painter(boxes, age=2), images, actions, background, 3.0)
    assert (found.objects, found.covered) == (0, 0)
    assert "background took everything" in diagnose(found)[0].sentence


def test_appearance_that_changes_within_objects_is_not_distinct():
    class Flickering(Painter):
        def step(self, carry, images, actions):
            self.what = -self.what
            return super().step(carry, images, actions)

    images, actions, background = squares((8, 8), (40, 40))
    what = np.array([[1.0, 1.0], [1.1, 1.0]])
    tracker = Flickering([box(8, 8), box(40, 40)], what)
    found = measure(tracker, images, actions, background, 3.0)
    assert found.distinct < 0.01
    assert found.appearance > 1
