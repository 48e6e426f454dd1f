"""The reconstruction figure: right colours in right places."""

from types import SimpleNamespace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.types import ObjectLayout, ObjectSet
from smorl.visualise.reconstructions import (
    FOUND,
    RECOGNISED,
    REMEMBERED,
    ROWS,
    Trace,
    film,
    panel,
    trace,
)

BOX = np.array((0.25, 0.25), np.float32)


def make_trace(frames=4) -> Trace:
    """Slots 0 and 1 are new in frame 0; slot 1 is remembered from frame 2 on; slot 2 is empty."""
    shape = (frames, 3)
    masks = np.zeros((*shape, 64, 64), np.float32)
    masks[:, 0, 8:24, 8:24] = 1
    masks[:, 2] = 1  # an empty slot's mask must not be drawn
    seen = np.ones(shape, bool)
    seen[2:, 1] = False
    picture = np.full((frames, 64, 64, 3), 0.5, np.float32)
    return Trace(
        images=np.full((frames, 64, 64, 3), 100, np.uint8),
        position=np.tile(np.array([(-0.5, -0.5), (0.5, 0.5), (0, 0)], np.float32), (frames, 1, 1)),
        scale=np.tile(BOX, (*shape, 1)),
        present=np.tile([True, True, False], (frames, 1)),
        seen=seen,
        ids=np.tile([0, 1, -1], (frames, 1)),
        reconstruction=picture,
        foreground=0 * picture,
        masks=masks,
    )


def colours_of(picture) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}


def test_boxes_are_red_when_found_green_when_recognised_grey_when_hidden():
    originals = [picture[-192:, :192] for picture in film(make_trace())]
    assert FOUND in colours_of(originals[0])
    assert RECOGNISED not in colours_of(originals[0])
    assert RECOGNISED in colours_of(originals[1])
    assert REMEMBERED not in colours_of(originals[1])
    assert {RECOGNISED, REMEMBERED} <= colours_of(originals[2])


def test_a_box_covers_position_plus_minus_scale():
    first = next(film(make_trace()))[-192:, :192]
    rows, columns = np.nonzero((first == FOUND).all(-1))
    upper = rows < 96
    # Image coordinates -0.75 to -0.25 of 192 pixels.
    assert (rows[upper].min(), rows[upper].max()) == (24, 72)
    assert (columns[upper].min(), columns[upper].max()) == (24, 72)


def test_masks_show_present_objects_only():
    masks = next(film(make_trace()))[-192:, -192:]
    assert masks[:20].max() == 0
    assert masks[40, 40].max() > 200
    assert masks[120:, 120:].max() == 0


def test_panel_has_five_rows_and_every_kth_frame():
    picture = panel(make_trace(frames=7), every=3, zoom=2)
    cell = 128
    assert picture.shape[1] > 3 * cell
    assert picture.shape[1] < 3 * cell + 40
    assert len(ROWS) * cell < picture.shape[0] < len(ROWS) * cell + 50
    assert panel(make_trace(), every=1, columns=2).shape[1] < 2 * 192 + 40
    with pytest.raises(InvalidInput, match="every=0"):
        panel(make_trace(), every=0)


class Seer:
    """An encoder that sees one object wherever it looks and draws what it was shown."""

    layout = ObjectLayout(slots=1, what=1, scale=2, depth=1)

    def init(self, batch):
        return SimpleNamespace(seen=0)

    def step(self, carry, observation, actions):
        seen = carry.seen + 1
        one = np.ones((1, 1, 1), np.float32)
        objects = ObjectSet(
            one, 0 * BOX[None, None], BOX[None, None], one, one[..., 0] > 0, np.array([[0]])
        )
        return SimpleNamespace(seen=seen, picture=observation / 255), objects

    def encode_goal(self, observation):
        return self.step(self.init(1), observation, None)[1]

    def seen_now(self, carry):
        return np.array([[carry.seen != 3]])  # hidden for one frame

    def draw(self, carry):
        masks = np.ones((1, 1, 64, 64), np.float32)
        return SimpleNamespace(reconstruction=carry.picture, foreground=carry.picture, masks=masks)


def test_trace_follows_one_episode():
    episode = trace(Seer(), "smorl/VisualRearrange1-v0", steps=3, seed=2)
    assert len(episode) == 4
    assert [episode.new(t, 0) for t in range(4)] == [True, False, False, True]
    assert episode.seen[:, 0].tolist() == [True, True, False, True]
    assert np.allclose(episode.reconstruction * 255, episode.images)
    assert not np.array_equal(episode.images[0], episode.images[3])
