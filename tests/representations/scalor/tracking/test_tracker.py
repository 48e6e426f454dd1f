"""The tracker: deterministic, every row on its own, nothing left over from other episodes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from smorl.errors import InvalidInput
from smorl.representations.scalor.model.slots import nearness
from smorl.representations.scalor.tracking import online
from smorl.representations.scalor.tracking.masks import extent_of
from smorl.representations.scalor.tracking.places import motion_of, settled
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from tests.representations.scalor.small import SMALL, centred, make_model
from tests.representations.scalor.tracking.test_memory import BLUE, RED, slots_of

SIZE, LENGTH = SMALL.image_size, 5


def make_tracker(**settings) -> ScalorTracker:
    """Random weights see everything alike, so that `unique` would leave one object."""
    config = TrackerConfig(**{"unique": False, **settings})
    return ScalorTracker(make_model(coexist=0.7), config=config)


def videos(batch: int, length: int = LENGTH, seed: int = 0):
    """Blobs that wander over a grey picture: images (T, B, S, S, 3) and actions (T, B, 2)."""
    rng = np.random.default_rng(seed)
    images = rng.integers(90, 110, (length, batch, SIZE, SIZE, 3), np.uint8)
    for row in range(batch):
        corner = rng.integers(2, SIZE - 12, 2)
        colour = rng.integers(0, 255, 3)
        for t in range(length):
            y, x = np.clip(corner + t, 0, SIZE - 8)
            images[t, row, y : y + 8, x : x + 8] = colour
    return images, rng.uniform(-1, 1, (length, batch, 2)).astype(np.float32)


def track(tracker, images, actions, carry=None):
    """Encode a video; return the last carry and the sets of all frames."""
    carry = tracker.init(images.shape[1]) if carry is None else carry
    found = []
    for image, action in zip(images, actions, strict=True):
        carry, objects = tracker.step(carry, image, action)
        found.append(objects)
    return carry, found


def same(one, two, row_one=..., row_two=...) -> None:
    assert (one.present[row_one] == two.present[row_two]).all()
    for name in ("what", "position", "scale", "depth", "motion"):
        np.testing.assert_allclose(
            getattr(one, name)[row_one], getattr(two, name)[row_two], atol=2e-4, err_msg=name
        )


def test_objects_have_the_promised_layout():
    tracker = make_tracker()
    images, actions = videos(2)
    carry, found = track(tracker, images, actions)
    layout, objects = tracker.layout, found[-1]
    assert objects.present.any()
    assert objects.present.shape == (2, layout.slots)
    assert objects.features().shape == (2, layout.slots, layout.features)
    assert objects.features().dtype == np.float32
    assert not objects.features()[~objects.present].any()
    assert np.isfinite(objects.features()).all()
    assert carry.ids.shape == carry.age.shape == carry.new.shape == (2, layout.slots)
    assert ((carry.ids >= 0) == objects.present).all()
    assert (np.abs(objects.position) < 1.5).all()


def test_tracking_is_deterministic():
    images, actions = videos(2)
    _, one = track(make_tracker(), images, actions)
    torch.manual_seed(99)
    _, two = track(make_tracker(), images, actions)
    for a, b in zip(one, two, strict=True):
        for (name, left), (_, right) in zip(a.arrays(), b.arrays(), strict=True):
            assert np.array_equal(left, right), name


def test_rows_are_independent():
    """A batch of three gives what three batches of one give."""
    tracker, (images, actions) = make_tracker(), videos(3)
    carry, together = track(tracker, images, actions)
    assert not np.allclose(together[-1].features()[0], together[-1].features()[1], atol=1e-3)
    for row in range(3):
        part = slice(row, row + 1)
        alone_carry, alone = track(tracker, images[:, part], actions[:, part])
        for t in range(LENGTH):
            same(together[t], alone[t], row, 0)
        assert (carry.ids[row] == alone_carry.ids[0]).all()
        assert (carry.age[row] == alone_carry.age[0]).all()


def test_reset_rows_leaves_nothing_of_the_old_episode():
    tracker = make_tracker()
    old, fresh = videos(2, seed=1), videos(2, seed=2)
    carry, _ = track(tracker, *old)
    carry = tracker.reset_rows(carry, np.array([True, True]))
    after_carry, after = track(tracker, *fresh, carry=carry)
    clean_carry, clean = track(tracker, *fresh)
    for t in range(LENGTH):
        for (name, one), (_, two) in zip(after[t].arrays(), clean[t].arrays(), strict=True):
            assert np.array_equal(one, two), name
    assert np.array_equal(after_carry.ids, clean_carry.ids)
    assert after_carry.state.memory.equal(clean_carry.state.memory)


def test_rows_that_begin_and_rows_that_go_on_do_not_mix():
    """Row 0 begins anew in the middle: each row gets what it gets alone."""
    tracker = make_tracker()
    images, actions = videos(3)
    carry, _ = track(tracker, images[:2], actions[:2])
    carry = tracker.reset_rows(carry, np.array([True, False, False]))
    carry, mixed = track(tracker, images[2:], actions[2:], carry)
    on, went_on = track(tracker, images[:, 1:], actions[:, 1:])
    began_carry, began = track(tracker, images[2:, :1], actions[2:, :1])
    for t in range(LENGTH - 2):
        same(mixed[t], went_on[2 + t], [1, 2], [0, 1])
        same(mixed[t], began[t], [0], [0])
    assert (carry.ids[1:] == on.ids).all()
    assert (carry.ids[0] == began_carry.ids[0]).all()


def test_goals_have_no_history_and_leave_none():
    tracker, (images, actions) = make_tracker(), videos(2)
    carry, _ = track(tracker, images[:3], actions[:3])
    one = tracker.encode_goal(images[4])
    _, expected = tracker.step(tracker.init(2), images[4], np.zeros((2, 2), np.float32))
    same(one, expected)
    _, interrupted = tracker.step(carry, images[3], actions[3])
    _, straight = track(tracker, images[:4], actions[:4])
    same(interrupted, straight[-1])
    same(tracker.encode_goal(images[4]), one)


@pytest.mark.parametrize("passes", [1, 5])
def test_first_frames_are_processed_several_times_later_ones_once(passes, monkeypatch):
    tracker, (images, actions) = make_tracker(first_passes=passes), videos(1)
    calls = []

    def counted(model, state, image, encoded, action, *, first):
        calls.append((bool(action.any()), first))
        return online.track(model, state, image, encoded, action, first=first)

    monkeypatch.setattr("smorl.representations.scalor.tracking.tracker.track", counted)
    carry, _ = track(tracker, images[:1], actions[:1])
    assert calls == [(True, True)] + [(False, False)] * (passes - 1)
    calls.clear()
    tracker.step(carry, images[1], actions[1])
    assert calls == [(True, False)]
    calls.clear()
    tracker.encode_goal(images[1])
    assert len(calls) == passes


def test_more_slots_than_objects_change_nothing():
    """Boxes that overlap, so that few are found; in 3 or in 7 slots."""
    images, actions = videos(2)
    results = []
    for slots in (3, 7):
        model = centred(make_model(slots=slots, overlap=0.01, size=0.8, size_range=0.05))
        config = TrackerConfig(unique=False)
        _, found = track(ScalorTracker(model, config=config), images, actions)
        results.append(found)
        assert all(objects.present.sum(1).max() < 3 for objects in found)
        assert all(objects.present.any(1).all() for objects in found)
    for few, many in zip(*results, strict=True):
        assert not many.present[:, 3:].any()
        for name in ("what", "position", "scale", "depth", "present"):
            np.testing.assert_allclose(
                getattr(few, name), getattr(many, name)[:, :3], atol=1e-5, err_msg=name
            )


def test_appearance_is_normalised():
    images, actions = videos(1)
    mean, basis = np.array([1.0, -2.0, 0.5]), np.random.default_rng(0).normal(size=(3, 3))
    plain = TrackerConfig(memory=0, unique=False)
    _, raw = track(ScalorTracker(make_model(), config=plain), images, actions)
    _, normal = track(ScalorTracker(make_model(), mean, basis, plain), images, actions)
    shown = raw[0].present
    expected = (raw[0].what[shown] - mean) @ basis
    np.testing.assert_allclose(normal[0].what[shown], expected, atol=1e-5)
    assert not normal[0].what[~shown].any()


def scripted(monkeypatch, frames):
    """Let every tracker see given objects, one entry per frame: (slots, ids just found, alpha)."""
    script = iter(frames)

    def step(model, state, image, encoded, action, *, first):
        slots, new, alpha = next(script)
        found = torch.isin(slots.ids, torch.tensor(new or [-2])) & slots.alive
        next_id = torch.maximum(state.next_id, slots.ids.amax(1) + 1)
        started = torch.ones_like(state.started)
        after = replace(state, slots=slots, new=found, started=started, next_id=next_id)
        picture = torch.zeros(1, 3, SIZE, SIZE)
        cover = torch.full((1, 1, SIZE, SIZE), alpha)
        parts = (slots.what, slots.where, slots.depth, slots.presence)
        return after, online.Sketch(*parts, picture, cover)

    monkeypatch.setattr("smorl.representations.scalor.tracking.tracker.track", step)


def test_a_hidden_object_is_reported_with_its_age_until_it_is_seen_again(monkeypatch):
    tracker = make_tracker(first_passes=1, memory=4)
    red, blue = (0, RED, 0.4, -0.2), (1, BLUE, -0.5, 0.5)
    scripted(
        monkeypatch,
        [
            (slots_of(red, blue), [0, 1], 1.0),
            (slots_of(blue), [], 1.0),
            (slots_of(blue), [], 1.0),
            (slots_of(blue, (2, RED, 0.6, 0.0)), [2], 1.0),
        ],
    )
    carry, found = tracker.init(1), []
    ids, ages = [], []
    for _ in range(4):
        image, action = np.zeros((1, SIZE, SIZE, 3), np.uint8), np.zeros((1, 2), np.float32)
        carry, objects = tracker.step(carry, image, action)
        found.append(objects)
        ids.append(carry.ids[0].tolist())
        ages.append(carry.age[0].tolist())
    assert ids == [[0, 1, -1], [1, 0, -1], [1, 0, -1], [1, 0, -1]]
    assert ages == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 0, 0]]
    # It stays where it was last seen, and the policy sees its age as a share of the memory.
    np.testing.assert_allclose(found[2].position[0, 1], found[0].position[0, 0])
    np.testing.assert_allclose(found[2].depth[0, :, 1], [0, 0.5, 0])
    assert found[2].present.tolist() == [[True, True, False]]
    assert found[3].position[0, 1, 0] > found[2].position[0, 1, 0]


def test_appearance_is_smoothed_per_object(monkeypatch):
    """Each frame keeps a share of the former appearance, wherever the object's slot is."""
    tracker = make_tracker(first_passes=1, smooth=0.75)
    red, blue = (0, RED, 0.4, -0.2), (1, BLUE, -0.5, 0.5)
    purple = [0.5, 0.5, 0.0]
    frames = [(slots_of(red, blue), [0, 1], 1.0), (slots_of((1, purple, -0.5, 0.5)), [], 0.0)]
    scripted(monkeypatch, frames)
    images, actions = np.zeros((2, 1, SIZE, SIZE, 3), np.uint8), np.zeros((2, 1, 2), np.float32)
    _, found = track(tracker, images, actions)
    np.testing.assert_allclose(found[0].what[0, :2], [RED, BLUE])
    np.testing.assert_allclose(found[1].what[0, 0], 0.25 * np.array(purple) + 0.75 * np.array(BLUE))


def test_a_slot_that_becomes_another_object_has_its_new_look_at_once(monkeypatch):
    """And the object it was is remembered as it looked."""
    tracker = make_tracker(first_passes=1, smooth=0.75)
    frames = [(slots_of((0, RED, 0.4, -0.2)), [0], 1.0), (slots_of((0, BLUE, 0.4, -0.2)), [], 1.0)]
    scripted(monkeypatch, frames)
    images, actions = np.zeros((2, 1, SIZE, SIZE, 3), np.uint8), np.zeros((2, 1, 2), np.float32)
    carry, found = track(tracker, images, actions)
    np.testing.assert_allclose(found[1].what[0, :2], [BLUE, RED])
    assert carry.age[0].tolist() == [0, 1, 0]


def stolen(monkeypatch, frames: int, **settings) -> list[list[float]]:
    """The looks of one slot whose object turns from red to blue after the first frame."""
    blue = (slots_of((0, BLUE, 0.4, -0.2)), [], 1.0)
    scripted(monkeypatch, [(slots_of((0, RED, 0.4, -0.2)), [0], 1.0), *[blue] * frames])
    shape = (frames + 1, 1)
    images, actions = np.zeros((*shape, SIZE, SIZE, 3), np.uint8), np.zeros((*shape, 2), np.float32)
    tracker = make_tracker(**settings)
    return [found.what[0, 0].tolist() for found in track(tracker, images, actions)[1]]


def test_a_stolen_slot_keeps_its_old_look_for_a_while_only(monkeypatch):
    """Without memory nobody notices the theft; matching by appearance must find out in the end."""
    looks = stolen(monkeypatch, 5, first_passes=1, memory=0, smooth=0.5, patience=3)
    assert looks == [RED] * 4 + [BLUE] * 2


def test_a_plain_tracker_reports_what_it_sees(monkeypatch):
    plain = vars(TrackerConfig.plain(first_passes=1))
    assert stolen(monkeypatch, 2, **plain) == [RED, BLUE, BLUE]


def test_a_place_at_rest_does_not_tremble():
    ids = torch.tensor([[7, 3, -1]])
    before = torch.tensor([[[0.5, 0.5], [0.0, 0.0], [0.9, 0.9]]])
    former = torch.tensor([[3, 7, -1]])
    place = torch.tensor([[[0.01, 0.0], [0.5, 0.6], [0.2, 0.2]]])
    found = settled(ids, place, former, before, 0.02)
    # 7 went half of the reach, so half of that counts; 3 was pushed; the last has no history.
    expected = torch.tensor([[[0.005, 0.0], [0.5, 0.6], [0.2, 0.2]]])
    torch.testing.assert_close(found, expected)
    assert settled(ids, place, former, before, 0.0) is place


def test_an_object_seen_twice_is_reported_once(monkeypatch):
    twice = slots_of((0, RED, 0.4, -0.2), (1, BLUE, -0.5, 0.5), (2, [0.9, 0.0, 0.0], 0.4, 0.2))
    images, actions = np.zeros((1, 1, SIZE, SIZE, 3), np.uint8), np.zeros((1, 1, 2), np.float32)
    counts = {}
    for unique in (False, True):
        tracker = make_tracker(first_passes=1, unique=unique)
        scripted(monkeypatch, [(twice, [0, 1, 2], 1.0)])
        carry, found = track(tracker, images, actions)
        counts[unique] = int(found[0].present.sum())
        assert ((carry.ids >= 0) == found[0].present).all()
        assert found[0].present[0, 1]  # the other one stays in any case
    assert counts == {False: 3, True: 2}


def test_memory_can_be_switched_off(monkeypatch):
    tracker = make_tracker(first_passes=1, memory=0)
    scripted(
        monkeypatch,
        [(slots_of((0, RED, 0.4, -0.2)), [0], 1.0), (slots_of(), [], 1.0)],
    )
    images, actions = np.zeros((2, 1, SIZE, SIZE, 3), np.uint8), np.zeros((2, 1, 2), np.float32)
    _, found = track(tracker, images, actions)
    assert found[0].present.sum() == 1
    assert not found[1].present.any()


def test_position_is_the_middle_of_the_mask_in_its_box():
    masks = torch.zeros(1, 1, 8, 1, 8)
    masks[0, 0, 2:4, 0, 4:8] = 1  # rows 2 to 3, columns 4 to 7
    where = torch.tensor([[[0.4, 0.15, 0.1, -0.3]]])
    place, extent = extent_of(masks, where)
    # In the box columns 4 to 7 span (0, 1), rows 2 to 3 span (-0.5, 0).
    torch.testing.assert_close(place[0, 0], torch.tensor([0.3, -0.3375]), rtol=0, atol=1e-3)
    assert extent[0, 0, 0] > extent[0, 0, 1]
    solid, whole = extent_of(torch.ones(1, 1, 8, 1, 8), where)
    torch.testing.assert_close(solid[0, 0], where[0, 0, 2:])
    torch.testing.assert_close(whole[0, 0], where[0, 0, :2])


def test_extent_of_a_disc_is_its_radius():
    grid = (2 * torch.arange(32) + 1) / 32 - 1
    disc = ((grid[:, None] ** 2 + grid**2) < 0.6**2).float()[None, None, :, None, :]
    place, extent = extent_of(disc, torch.tensor([[[0.25, 0.25, 0.2, 0.2]]]))
    torch.testing.assert_close(extent, torch.full((1, 1, 2), 0.15), rtol=0, atol=0.005)
    torch.testing.assert_close(place, torch.full((1, 1, 2), 0.2), rtol=0, atol=1e-4)


@pytest.mark.parametrize("height", [0.3, 0.45, 0.6])
def test_a_tall_object_stands_where_its_lower_end_is(height):
    """However much of it is in the picture, and although its upper part leans to the side."""
    tall = torch.zeros(1, 1, 16, 1, 16)
    tall[0, 0, :8, 0, 12:], tall[0, 0, 8:, 0, 6:10] = 1, 1
    lower = 0.4  # of the picture, image coordinates
    where = torch.tensor([[[0.3, height, 0.0, lower - height]]])
    place, _ = extent_of(tall, where)
    if height > 0.32:
        torch.testing.assert_close(
            place[0, 0], torch.tensor([0.0, lower - 0.16]), atol=2e-3, rtol=0
        )
    else:
        assert place[0, 0, 0] > 0.01  # the leaning part is low enough to count


def test_a_foot_moves_smoothly_with_its_object():
    """Rows of the mask are larger than a pixel; the place must not jump from row to row."""
    tall = torch.zeros(1, 1, 8, 1, 8)
    tall[0, 0, :, 0, 3:5] = 1
    heights = torch.linspace(0.4, 0.6, 41)
    where = torch.stack([torch.tensor([0.2, h, 0.0, 0.5 - h]) for h in heights])[None]
    place, _ = extent_of(tall.expand(1, 41, -1, -1, -1), where)
    steps = place[0, 1:, 1] - place[0, :-1, 1]
    assert steps.abs().max() < 0.01


def test_nearness_is_the_share_of_objects_behind():
    slots = slots_of((0, RED, 0.4, -0.2), (1, RED, 0.0, 0.0), (2, RED, -0.4, 0.0))
    depth = torch.tensor([-17.0, 3.0, -9.0])[None, :, None]  # smaller is nearer
    found = nearness(replace(slots, depth=depth))[0, :, 0]
    torch.testing.assert_close(found, torch.tensor([1.0, 0.0, 0.5]))
    absent = replace(slots, depth=depth, alive=torch.tensor([[True, True, False]]))
    torch.testing.assert_close(nearness(absent)[0, :2, 0], torch.tensor([1.0, 0.0]))


def test_the_place_of_a_bent_object_is_on_it_and_in_the_picture():
    """The mean of an L lies beside it."""
    bent = torch.zeros(1, 1, 16, 1, 16)
    bent[0, 0, :, 0, :2] = bent[0, 0, 14:, 0, :] = 1  # the left column and the bottom row
    place, _ = extent_of(bent, torch.tensor([[[1.0, 1.0, 0.0, 0.0]]]))
    column, row = ((place[0, 0] + 1) * 8).long().tolist()
    assert bent[0, 0, row, 0, column] == 1
    outside, _ = extent_of(torch.ones(1, 1, 8, 1, 8), torch.tensor([[[0.2, 0.2, 1.04, -1.04]]]))
    torch.testing.assert_close(outside[0, 0], torch.tensor([1.0, -1.0]))


def test_drawing_shows_the_last_frame():
    tracker, (images, actions) = make_tracker(), videos(2)
    with pytest.raises(InvalidInput, match="call step first"):
        tracker.draw(tracker.init(2))
    carry, found = track(tracker, images, actions)
    drawing = tracker.draw(carry)
    for picture in (drawing.reconstruction, drawing.foreground, drawing.background):
        assert picture.shape == (2, SIZE, SIZE, 3)
        assert picture.min() >= 0
        assert picture.max() <= 1
    assert drawing.masks.shape == (2, SMALL.slots, SIZE, SIZE)
    seen = found[-1].present & (carry.age == 0)
    assert (drawing.masks.any((2, 3)) == seen).all()


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((1, SIZE, SIZE, 3), np.float32),
        np.zeros((1, 3, SIZE, SIZE), np.uint8),
        np.zeros((1, SIZE + 1, SIZE, 3), np.uint8),
        np.zeros((1, 6), np.uint8),
    ],
)
def test_other_observations_are_refused(images):
    tracker = make_tracker()
    with pytest.raises(InvalidInput, match="uint8 pictures"):
        tracker.step(tracker.init(1), images, np.zeros((1, 2), np.float32))
    with pytest.raises(InvalidInput, match="Visual environment"):
        tracker.encode_goal(images)


@pytest.mark.parametrize("settings", [{"first_passes": 0}, {"memory": -1}, {"same": -0.1}])
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        TrackerConfig(**settings)


def test_step_does_not_change_the_carry_it_is_given():
    tracker, (images, actions) = make_tracker(), videos(2)
    carry, _ = track(tracker, images[:2], actions[:2])
    before = carry.state.slots.where.clone(), carry.ids.copy(), carry.state.memory.clone()
    _, one = tracker.step(carry, images[2], actions[2])
    _, two = tracker.step(carry, images[2], actions[2])
    same(one, two)
    assert carry.state.slots.where.equal(before[0])
    assert np.array_equal(carry.ids, before[1])
    assert carry.state.memory.equal(before[2])


def test_objects_carry_their_ids_and_goal_images_have_none():
    tracker, (images, actions) = make_tracker(), videos(2)
    carry, found = track(tracker, images, actions)
    assert (found[-1].ids == carry.ids).all()
    assert (found[-1].ids >= 0).any()
    goal = tracker.encode_goal(images[0])
    assert goal.present.any()
    assert (goal.ids == -1).all()


def test_motion_is_the_way_since_the_last_frame_of_what_keeps_its_id():
    _, found = track(make_tracker(), *videos(3))
    assert not found[0].motion.any()
    moved = False
    for before, now in pairwise(found):
        for row, slot in zip(*np.nonzero(now.present), strict=True):
            (old,) = np.nonzero(before.ids[row] == now.ids[row, slot])
            place = before.position[row, old[0]] if len(old) else now.position[row, slot]
            way = now.position[row, slot] - place
            np.testing.assert_allclose(now.motion[row, slot], way, atol=1e-6)
            moved |= bool(np.abs(way).max() > 1e-3)
    assert moved


def test_motion_follows_an_id_from_slot_to_slot():
    ids, former = torch.tensor([[4, 7, -1, 9]]), torch.tensor([[7, -1, 4, 3]])
    place = torch.arange(8.0).reshape(1, 4, 2)
    before = 10 * place
    expected = torch.stack([place[0, 0] - before[0, 2], place[0, 1] - before[0, 0]])
    motion = motion_of(ids, place, former, before)
    torch.testing.assert_close(motion[0, :2], expected)
    assert not motion[0, 2:].any()  # no ID now, and none before
