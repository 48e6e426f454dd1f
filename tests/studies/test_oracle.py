"""The twins of perception's parts: each corrects its own part and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.envs.factory import make_envs
from smorl.errors import InvalidInput
from smorl.studies.oracle import PARTS, OracleEncoder, Prototypes, identify
from smorl.types import ObjectLayout, ObjectSet

ROWS, PUCKS, SLOTS = 3, 2, 5
ARM = PUCKS
PIXEL = 2 / 64


class Clumsy:
    """Sees both pucks and the arm, each a pixel off, in slots 1, 2, 3, and a ghost in slot 0."""

    layout = ObjectLayout(slots=SLOTS, what=2, position=2, scale=2, depth=2, motion=2)

    def __init__(self, envs, lost: int | None = None) -> None:
        self.truth, self.lost = envs.truth, lost

    def init(self, batch):
        return None

    def step(self, carry, observation, actions):
        return carry, self._see(self.truth.places())

    def encode_goal(self, observation):
        return self._see(self.truth.goal_places())

    def _see(self, truth):
        what = np.zeros((ROWS, SLOTS, 2), np.float32)
        what[:, 1:4, 0] = [1, 2, 3]
        what[..., 1] = 0.25  # never quite the usual look
        position = np.full((ROWS, SLOTS, 2), 0.9, np.float32)
        position[:, 1:4] = truth + PIXEL
        scale = np.full((ROWS, SLOTS, 2), 0.1, np.float32)
        scale[:, 3] = 0.4
        present = np.ones((ROWS, SLOTS), bool)
        present[:, 4] = False
        if self.lost is not None:
            present[:, 1 + self.lost] = False
        shown = present[..., None]
        ids = np.where(present, np.arange(SLOTS), -1)
        parts = (part * shown for part in (what, position, scale, scale))
        return ObjectSet(*parts, present, ids, motion=7 * scale * shown)


@pytest.fixture
def envs():
    envs = make_envs("smorl/VisualRearrange2-v0", ROWS, 1)
    envs.reset(seed=[3, 4, 5])
    yield envs
    envs.close()


USUAL = Prototypes(
    what=np.float32([[1, 0], [2, 0], [3, 0]]),
    scale=np.full((3, 2), 0.2, np.float32),
    depth=np.zeros((3, 2), np.float32),
    offset=np.float32([[0, 0], [0, 0], [0, -0.1]]),
)


def look(envs, parts, lost=None):
    twin = OracleEncoder(Clumsy(envs, lost), envs, parts, USUAL)
    _, found = twin.step(twin.init(ROWS), np.zeros(0), np.zeros(0))
    return found


def places(envs):
    return envs.truth.places().astype(np.float32)


def test_without_parts_nothing_changes(envs):
    plain = Clumsy(envs).step(None, None, None)[1]
    for (name, a), (_, b) in zip(plain.arrays(), look(envs, ()).arrays(), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)


def test_identities_are_told_by_place_and_the_arm_by_size(envs):
    found = Clumsy(envs).step(None, None, None)[1]
    found = replace(found, present=found.present & (np.arange(SLOTS) > 0))
    assert identify(found, places(envs), 64).tolist() == [[-1, 0, 1, ARM, -1]] * ROWS


def test_detection_drops_ghosts_and_finds_what_was_missed(envs):
    found = look(envs, ("detection",), lost=0)
    assert found.present.sum(1).tolist() == [3] * ROWS
    who = identify(found, places(envs), 64)
    slot = (who == 0).argmax(1)
    rows = np.arange(ROWS)
    np.testing.assert_allclose(found.position[rows, slot], places(envs)[:, 0], atol=1e-6)
    np.testing.assert_allclose(found.what[rows, slot], [[1, 0]] * ROWS)
    assert found.what[who == 1][:, 1] == pytest.approx(0.25)  # its look is not touched


def test_occlusion_alone_finds_only_what_nobody_could_see(envs):
    """Here everything is in view, so the lost puck stays lost."""
    found = look(envs, ("occlusion",), lost=0)
    assert not (identify(found, places(envs), 64) == 0).any()
    assert found.present[:, 0].all()  # and the ghost stays


def test_places_and_appearance_correct_just_that(envs):
    found = look(envs, ("places",))
    np.testing.assert_allclose(found.position[:, 1:3], places(envs)[:, :2], atol=1e-6)
    np.testing.assert_allclose(found.position[:, 3], places(envs)[:, 2] + [0, -0.1], atol=1e-6)
    assert found.what[:, 1, 1] == pytest.approx(0.25)
    found = look(envs, ("appearance",))
    np.testing.assert_allclose(found.what[:, 1:4], np.tile(USUAL.what, (ROWS, 1, 1)))
    np.testing.assert_allclose(found.position[:, 1], places(envs)[:, 0] + PIXEL, atol=1e-6)


def test_the_goal_image_is_corrected_only_when_asked(envs):
    plain = Clumsy(envs).encode_goal(None)
    twin = OracleEncoder(Clumsy(envs), envs, set(PARTS) - {"goal image"}, USUAL)
    np.testing.assert_array_equal(twin.encode_goal(np.zeros(0)).position, plain.position)
    twin = OracleEncoder(Clumsy(envs), envs, ("goal image",), USUAL)
    found = twin.encode_goal(np.zeros(0))
    truth = envs.truth.goal_places()
    assert found.present.sum(1).tolist() == [3] * ROWS
    np.testing.assert_allclose(found.position[:, 1:3], truth[:, :2], atol=1e-6)


def test_an_unknown_part_is_refused(envs):
    with pytest.raises(InvalidInput, match="smell"):
        OracleEncoder(Clumsy(envs), envs, ("smell",), USUAL)


@pytest.mark.parametrize("parts", [("places",), ("detection",)])
def test_motion_is_true_where_places_are(envs, parts):
    twin = OracleEncoder(Clumsy(envs), envs, parts, USUAL)
    carry, first = twin.step(twin.init(ROWS), np.zeros(0), np.zeros(0))
    before = places(envs)
    envs.step(np.ones((ROWS, 2), np.float32))
    _, found = twin.step(carry, np.zeros(0), np.zeros(0))
    seen = np.broadcast_to(7 * found.scale[:, 1:4], (ROWS, 3, 2))
    np.testing.assert_allclose(first.motion[:, 1:4], seen)  # no frame before: as it was
    moved = places(envs) - before
    assert np.abs(moved[:, ARM]).max() > 0.01
    np.testing.assert_allclose(found.motion[:, 1:4], moved if parts == ("places",) else seen)
