"""The second round of data: things are found, gone to and pushed, without anybody's help."""

from types import SimpleNamespace

import numpy as np
import pytest

from smorl.representations.scalor.training import own_body
from smorl.representations.scalor.training.contact import Stroke, Toucher, push
from smorl.types import ObjectSet

CODES = np.eye(3, dtype=np.float32)  # the hand and two things
WAY = np.array([[0.0, 0.06], [0.05, 0.0]])  # how actions move the hand in the picture
SHIFT = np.array([0.02, -0.05])  # the camera sees a hand here that is at (0, 0)
TOUCH = 0.09


class Table:
    """A hand and two things, seen by a camera that turns directions and shifts the hand."""

    def __init__(self, rows: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.hand = rng.uniform(-0.8, 0.8, (rows, 2))
        self.things = rng.uniform(-0.8, 0.8, (rows, 2, 2))
        self.touched = np.zeros((rows, 2), bool)

    def step(self, actions: np.ndarray) -> None:
        step = np.clip(actions, -1, 1) @ WAY
        self.hand = np.clip(self.hand + step, -1, 1)
        away = self.things - self.hand[:, None]
        far = np.linalg.norm(away, axis=-1, keepdims=True)
        self.touched = far[..., 0] < TOUCH
        pushed = self.hand[:, None] + TOUCH * away / np.maximum(far, 1e-6)
        self.things = np.clip(np.where(far < TOUCH, pushed, self.things), -1, 1)

    def seen(self) -> ObjectSet:
        place = np.concatenate([self.hand[:, None] + SHIFT, self.things], 1).astype(np.float32)
        shape = place.shape[:2]
        none = np.zeros((*shape, 0), np.float32)
        ids = np.tile(np.arange(3), (shape[0], 1))
        return ObjectSet(
            np.tile(CODES, (shape[0], 1, 1)), place, none, none, np.ones(shape, bool), ids
        )


def random_paths(rows: int = 200, steps: int = 40) -> tuple[ObjectSet, np.ndarray]:
    rng, table, seen = np.random.default_rng(1), Table(rows, 0), []
    actions = np.zeros((rows, steps + 1, 2), np.float32)
    actions[:, 1:] = rng.uniform(-1, 1, (rows, steps, 2))
    for t in range(steps + 1):
        if t:
            table.step(actions[:, t])
        seen.append(table.seen())
    names = [name for name, _ in seen[0].arrays()]
    return ObjectSet(**{n: np.stack([getattr(o, n) for o in seen], 1) for n in names}), actions


@pytest.fixture(scope="module")
def toucher() -> Toucher:
    patch = pytest.MonkeyPatch()
    patch.setattr(own_body, "tracked", lambda *_: (*random_paths(), None))
    weights = SimpleNamespace(prior={"centres": CODES}, threshold=0.5, tracker=lambda: None)
    found = Toucher.fit(weights, None)  # pyright: ignore[reportArgumentType]
    patch.undo()
    assert found is not None
    return found


def test_actions_steer_the_hand(toucher):
    """The action for a way moves the hand by just that way, in long steps."""
    way = np.array([0.3, -0.2])
    moved = (way @ toucher.steer) @ WAY @ toucher.contact.basis
    np.testing.assert_allclose(moved, way, atol=0.02)


def touches(act, rows: int = 40, steps: int = 40) -> float:
    table, touched = Table(rows, 7), []
    for _ in range(steps):
        table.step(act(table.seen()))
        touched.append(table.touched.copy())
    return float(np.mean(touched))


def test_things_are_touched_several_times_as_often_as_by_random_motion(toucher):
    strokes = [Stroke(np.random.default_rng(row), gentle=False) for row in range(40)]
    rng = np.random.default_rng(3)
    at_random = touches(lambda _: rng.uniform(-1, 1, (40, 2)))
    on_purpose = touches(lambda seen: push(toucher, strokes, seen))
    assert on_purpose > 0.12
    assert on_purpose > 3 * at_random


def test_gentle_rows_slow_down_at_things(toucher):
    table = Table(2, 0)
    table.hand[:], table.things[:] = 0.0, [[0.1, 0.0], [0.9, 0.9]]
    fast, slow = (
        [Stroke(np.random.default_rng(5), gentle=gentle) for _ in range(2)]
        for gentle in (False, True)
    )
    ratio = np.abs(push(toucher, slow, table.seen())) / np.abs(push(toucher, fast, table.seen()))
    assert (ratio < 0.7).all()


def test_without_things_the_hand_moves_on(toucher):
    seen = Table(3, 0).seen()
    seen.present[:, 1:] = False
    actions = push(
        toucher, [Stroke(np.random.default_rng(r), gentle=False) for r in range(3)], seen
    )
    assert np.isfinite(actions).all()
    assert (np.abs(actions) > 0).any()


def test_nothing_that_moves_things_gives_no_toucher(monkeypatch):
    objects, actions = random_paths(rows=20)
    objects.position[..., 1:, :] = 0.99  # out of the way
    monkeypatch.setattr(own_body, "tracked", lambda *_: (objects, actions, None))
    weights = SimpleNamespace(prior={"centres": CODES}, threshold=0.5, tracker=lambda: None)
    assert Toucher.fit(weights, None) is None  # pyright: ignore[reportArgumentType]
