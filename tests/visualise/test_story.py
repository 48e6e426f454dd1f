"""The film for newcomers: what its captions say, and which tables it shows."""

from dataclasses import fields

import numpy as np
import pytest

from smorl.cli.stories import choose, summary
from smorl.evaluation.evaluate import Evaluation
from smorl.visualise.story import (
    GREEN,
    RED,
    Moment,
    banner,
    card,
    colour_names,
    doing,
    ending,
    standing,
)

NAMES = ["blue", "green"]
JARGON = ("sub-goal", "object", "slot", "episode", "policy", "solved", "agent", "match")


def evaluation(distances) -> Evaluation:
    distances = np.array(distances)
    count = len(distances)
    values = {field.name: np.zeros(count) for field in fields(Evaluation)}
    values |= {
        "distances": distances,
        "distance": distances.mean(1),
        "passive": np.full(count, 0.2),
    }
    return Evaluation(**{**values, "success": (distances < 0.05).all(1)})


def test_pucks_are_called_by_their_colours_and_alike_ones_by_numbers():
    assert colour_names(np.array([[0.1, 0, 0.8], [0, 0.9, 0.1]])) == NAMES
    assert colour_names(np.array([[1, 0, 0], [0, 0, 1], [0.9, 0, 0]])) == ["red 1", "blue", "red 2"]


def test_captions_say_which_puck_is_moved_and_when_it_is_done():
    far, near = np.array([0.2, 0.01]), np.array([0.04, 0.01])
    assert doing(Moment(far, 0), NAMES) == "moving puck 1 of 2: the blue one"
    assert doing(Moment(far[:1], 0), ["red"]) == "moving the puck"
    assert "arm" in doing(Moment(far, None), NAMES)
    assert doing(Moment(near, 1, finished=True), NAMES) == "done"
    assert doing(Moment(far, 1, finished=True), NAMES) == "stops here"
    assert standing(Moment(far, 0), NAMES) == [
        ("blue: 20 cm to go", False),
        ("green: in place", True),
    ]


def test_an_end_is_called_what_it_is():
    assert ending(np.array([0.049, 0.0]), NAMES) == ("Success: both pucks are in place", True)
    assert ending(np.array([0.14, 0.0]), NAMES) == ("Failure: blue 14 cm from its ring", False)
    text, good = ending(np.array([0.14, 0.2]), NAMES)
    assert (text, good) == ("Failure: blue 14 cm, green 20 cm from their rings", False)


@pytest.mark.parametrize(
    ("ends", "count", "shown"),
    [
        ([0.1, 0.01, 0.1, 0.02, 0.03], 3, [0, 1, 3]),  # two successes and the first failure
        ([0.01, 0.01, 0.01], 2, [0, 1]),  # nothing failed
        ([0.1, 0.2, 0.3], 2, [0, 1]),  # nothing succeeded
        ([0.1, 0.01], 1, [1]),  # one film: a success
        ([0.1, 0.2], 1, [0]),
    ],
)
def test_successes_are_shown_and_a_failure(ends, count, shown):
    assert choose(evaluation([[end, end] for end in ends]), count) == shown


def test_the_closing_card_has_the_numbers():
    lines = summary(evaluation([[0.01, 0.02], [0.3, 0.01]]), 101120)
    assert lines[0].startswith("1 of 2 tables: every puck within 5 cm")
    assert "8.5 cm" in lines[1]
    assert "20.0 cm" in lines[2]
    assert "101,120" in lines[3]
    assert not [word for word in JARGON for line in lines if word in line]


def test_bands_and_cards_have_the_size_of_a_frame():
    frame = np.full((300, 400, 3), 120, np.uint8)
    good, bad = banner(frame, "x", True), banner(frame, "x", False)
    assert tuple(good[150, 5]) == GREEN
    assert tuple(bad[150, 5]) == RED
    assert (good[0] == frame[0]).all()
    page = card(frame.shape, "Title", ["a", "b"])
    assert page.shape == frame.shape
    assert (page < 100).any(), "there is ink on it"
