"""The tracking study, with an encoder that knows the truth and a theft of IDs on command."""

from dataclasses import dataclass

import numpy as np
import pytest

from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.evaluation.detection import known as known_now
from smorl.goals.base import GoalConfig
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.studies import tracking
from smorl.studies.tracking import Paid, study_tracking
from smorl.studies.tracking_film import filmstrip
from smorl.types import ObjectLayout, ObjectSet

ENV, HORIZON = "smorl/VisualRearrange1-v0", 4
PUCK, ARM = 0, 1
BOX = UniformPrior(np.float32([-0.9, -0.9]), np.float32([0.9, 0.9]))
SPACE = MatchedGoals(GoalConfig(match_threshold=0.5, no_match_reward=-3.0), BOX)


@dataclass(frozen=True)
class Carry:
    frame: int
    age: np.ndarray


class Oracle:
    """Slot 0 is the puck (ID 5), slot 1 the arm (ID 6), at their true places in the picture.

    From frame `stolen` on the arm has the puck's ID and the puck a new one. From frame `hidden` on
    the puck is only remembered, from `lost` on it is not there.
    """

    def __init__(self, truth, stolen=99, hidden=99, lost=99, first=True):
        self.truth, self.stolen, self.hidden, self.lost = truth, stolen, hidden, lost
        self.first = first
        self.layout = ObjectLayout(slots=2, what=2, scale=2)

    def init(self, batch):
        return Carry(-1, np.zeros((batch, 2), int))

    def step(self, carry, observation, actions):
        known, frame = known_now(self.truth()), carry.frame + 1
        rows = len(observation)
        size = observation.shape[1]
        points = [np.argwhere(mask).mean(0) for mask in known["arm"]]
        nearest = [
            np.argwhere(mask)[np.linalg.norm(np.argwhere(mask) - p, axis=1).argmin()]
            for mask, p in zip(known["arm"], points, strict=True)
        ]
        arm = (2 * np.stack(nearest)[:, ::-1] + 1) / size - 1
        position = np.stack([known["centres"][:, 0], arm], 1).astype(np.float32)
        present = np.ones((rows, 2), bool)
        present[:, PUCK] = (self.first or frame > 0) and frame < self.lost
        ids = np.tile([7, 5] if frame >= self.stolen else [5, 6], (rows, 1))
        age = np.zeros((rows, 2), int)
        age[:, PUCK] = max(0, frame + 1 - self.hidden)
        what = np.tile(np.eye(2, dtype=np.float32), (rows, 1, 1))
        half = np.full((rows, 2, 2), 0.15, np.float32)
        nothing = np.zeros((rows, 2, 0), np.float32)
        return Carry(frame, age), ObjectSet(
            what, position, half, nothing, present, np.where(present, ids, -1)
        )

    def encode_goal(self, observation):
        raise AssertionError("the study sets its own goals")


def still(objects, goal):
    """Do nothing, so that the puck stays."""
    return np.zeros((len(objects.present), 2), np.float32)


def study(monkeypatch, episodes=3, **oracle):
    made = []

    def make(*args):
        made.append(make_visual_envs(*args))
        return made[-1]

    monkeypatch.setattr(tracking, "make_visual_envs", make)
    encoder = Oracle(lambda: made[-1].truth, **oracle)
    return study_tracking(encoder, still, SPACE, ENV, episodes=episodes, horizon=HORIZON, seed=3)


def test_without_theft_both_ways_pay_for_the_own_puck_and_truly(monkeypatch):
    played = study(monkeypatch)
    assert len(played) == 3
    assert (played.goal.id == 5).all()  # goals are for pucks only
    numbers = played.numbers()
    for way in ("by_id", "by_matching"):
        assert numbers[way]["own_puck"] == 1
        assert numbers[way]["arm"] == numbers[way]["arm_at_end"] == 0
        assert numbers[way]["unearned"] == pytest.approx(0, abs=1e-6)
        assert numbers[way]["unearned_while_arm"] is None
        assert numbers[way]["reward"] == pytest.approx(numbers["true_reward"])
    assert played.most_exploited()[1] == 0


def test_a_stolen_id_is_paid_for_the_arm_and_matching_is_not_fooled(monkeypatch):
    played = study(monkeypatch, stolen=3)
    assert played.paid["id"].tolist() == [[Paid.OWN_PUCK] * 2 + [Paid.ARM] * 2] * 3
    assert (played.paid["matching"] == Paid.OWN_PUCK).all()
    numbers = played.numbers()
    assert numbers["by_id"]["arm"] == 0.5
    assert numbers["by_id"]["arm_at_end"] == numbers["by_id"]["episodes_with_arm"] == 1
    assert numbers["by_matching"]["arm"] == 0
    arm = played.objects.position[:, 1:, ARM]
    expected = -np.linalg.norm(arm - played.goal.position[:, None], axis=-1)
    np.testing.assert_allclose(played.reward["id"][:, 2:], expected[:, 2:], rtol=1e-6)
    unearned = (expected - played.reward["true"])[:, 2:].mean()
    assert numbers["by_id"]["unearned_while_arm"] == pytest.approx(unearned, rel=1e-5)
    assert played.most_exploited()[1] == 2


def test_hidden_and_lost_objects_are_told_apart(monkeypatch):
    played = study(monkeypatch, hidden=2, lost=4)
    expected = [Paid.OWN_PUCK, Paid.HIDDEN, Paid.HIDDEN, Paid.NOBODY]
    for way in ("id", "matching"):
        assert played.paid[way].tolist() == [expected] * 3
        assert (played.reward[way][:, -1] == -3).all()


def test_episodes_without_a_detected_puck_are_left_out(monkeypatch):
    played = study(monkeypatch, first=False)
    assert len(played) == 0
    numbers = played.numbers()
    assert numbers["true_reward"] is None
    assert set(numbers["by_id"].values()) == {None}
    assert played.most_exploited() == (0, 0)
    with pytest.raises(InvalidInput, match="not one of the 0"):
        filmstrip(played, 0)


def test_sets_of_episodes_are_joined_and_starts_are_fixed(monkeypatch):
    whole = study(monkeypatch, episodes=3, stolen=2)
    monkeypatch.setattr(tracking, "ROWS", 2)
    parts = study(monkeypatch, episodes=3, stolen=2)
    np.testing.assert_array_equal(whole.images, parts.images)
    np.testing.assert_array_equal(whole.paid["id"], parts.paid["id"])


def test_the_filmstrip_marks_the_thief(monkeypatch):
    played = study(monkeypatch, episodes=1, stolen=2)
    strip = filmstrip(played, 0, every=2, zoom=4, columns=2)
    cell = filmstrip(played, 0, every=9, zoom=4)
    height, width = cell.shape[:2]
    assert strip.shape == (2 * height + 4, 2 * width + 4, 3)
    orange = np.array([255, 140, 0])
    place = ((played.objects.position[0, -1, ARM] + 0.15 + 1) / 2 * 256).astype(int)
    last = strip[height + 4 :, :width][height - width :]
    assert (last[place[1] - 3 : place[1] + 3, place[0] - 20 : place[0]] == orange).all(-1).any()
    with pytest.raises(InvalidInput, match="every=0"):
        filmstrip(played, 0, every=0)


def test_there_must_be_something_to_play(monkeypatch):
    with pytest.raises(InvalidInput, match="episodes=0"):
        study(monkeypatch, episodes=0)
