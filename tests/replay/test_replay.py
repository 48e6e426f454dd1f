"""The episode ring and relabelling, checked on episodes whose every number is recognisable."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.goals.base import GoalConfig
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals, TrackedGoals
from smorl.replay.buffer import Replay
from smorl.replay.relabel import RelabelConfig, future_goals, relabel, sample_batch, sample_batches
from smorl.types import Episode, ObjectGoal, ObjectLayout
from tests.conftest import make_set

HORIZON, ITEMS = 6, 3
LAYOUT = ObjectLayout(slots=ITEMS, what=ITEMS)
FAR = UniformPrior(np.float32([100, 100]), np.float32([101, 101]))
SPACE = MatchedGoals(GoalConfig(match_threshold=0.5, no_match_reward=-9.0), FAR)


def make_episodes(first: int, count: int, present=None) -> Episode:
    """Object n of episode e at step t is at (1000 e + t, n); the goal is object e % 3."""
    e = np.arange(first, first + count)
    t, n = np.arange(HORIZON + 1), np.arange(ITEMS)
    x = np.broadcast_to(1000.0 * e[:, None, None] + t[:, None], (count, HORIZON + 1, ITEMS))
    y = np.broadcast_to(n, x.shape)
    what = np.broadcast_to(np.eye(ITEMS), (*x.shape, ITEMS))
    objects = make_set(what, np.stack([x, y], -1), present)
    actions = np.broadcast_to(e[:, None, None] + 0.1 * t[:-1, None], (count, HORIZON, 2))
    goal = ObjectGoal(
        np.eye(ITEMS, dtype=np.float32)[e % ITEMS],
        np.stack([e + 0.5, e * 0 - 7.0], 1).astype(np.float32),
        np.zeros((count, 0), np.float32),
    )
    return Episode(objects, actions.astype(np.float32), goal)


def filled(count=4, capacity=10):
    replay = Replay(capacity * HORIZON, HORIZON, LAYOUT, 2)
    replay.add(make_episodes(0, count))
    return replay


def test_the_ring_overwrites_the_oldest():
    replay = Replay(4 * HORIZON, HORIZON, LAYOUT, 2)
    for first in (0, 3):
        replay.add(make_episodes(first, 3))
    stored = sorted((replay.episodes.objects.position[:, 0, 0, 0] / 1000).astype(int).tolist())
    assert stored == [2, 3, 4, 5]
    assert (replay.size, replay.next) == (4, 2)
    replay.add(make_episodes(10, 9))  # more than fit: the last ones stay
    stored = sorted((replay.episodes.objects.position[:, 0, 0, 0] / 1000).astype(int).tolist())
    assert stored == [15, 16, 17, 18]


def test_state_round_trip():
    replay = filled()
    arrays, pointers = replay.state()
    assert all(len(array) == 4 for array in arrays.values())
    other = Replay(10 * HORIZON, HORIZON, LAYOUT, 2)
    other.load({k: v.copy() for k, v in arrays.items()}, pointers)
    again, _ = other.state()
    assert all(np.array_equal(arrays[k], again[k]) for k in arrays)
    assert (other.size, other.next) == (replay.size, replay.next)


def test_wrong_sizes_are_refused():
    with pytest.raises(InvalidInput, match="cannot hold"):
        Replay(3, HORIZON, LAYOUT, 2)
    with pytest.raises(InvalidInput, match="do not fit"):
        Replay(100, 5, LAYOUT, 2).add(make_episodes(0, 1))
    with pytest.raises(InvalidInput, match="sum to 1"):
        RelabelConfig(0.5, 0.5, 0.5)


def test_release_batch_split():
    assert RelabelConfig().counts(2048) == (204, 820, 1024)


def draw(config, batch=3000, replay=None, seed=0):
    replay = replay or filled()
    rng = np.random.default_rng(seed)
    return sample_batch(replay.episodes, replay.size, batch, SPACE, config, rng), replay


def test_each_part_of_a_batch_has_its_kind_of_goal():
    config = RelabelConfig(0.2, 0.3, 0.5)
    batch, _ = draw(config)
    episode, step = np.divmod(batch.objects[:, 0, 3], 1000)
    what, place = batch.goal[:, :3].argmax(1), batch.goal[:, 3:5]
    np.testing.assert_array_equal(what, episode % 3)  # the object never changes
    rollout, future, imagined = slice(0, 600), slice(600, 1500), slice(1500, None)
    np.testing.assert_array_equal(place[rollout, 1], -7)
    later = place[future, 0] - 1000 * episode[future]
    assert (later > step[future]).all()
    assert (later <= HORIZON).all()
    np.testing.assert_array_equal(place[future, 1], what[future])  # that object's own place
    assert (place[imagined] >= 100).all()
    np.testing.assert_array_equal(batch.next_objects[:, 0, 3], batch.objects[:, 0, 3] + 1)
    np.testing.assert_allclose(batch.action[:, 0], episode + 0.1 * step, rtol=1e-5)


def test_of_batches_drawn_together_each_has_every_kind_of_goal():
    config, replay = RelabelConfig(0.2, 0.3, 0.5), filled()
    rng = np.random.default_rng(0)
    batches = sample_batches(replay.episodes, replay.size, 100, 3, SPACE, config, rng)
    assert [len(batch.reward) for batch in batches] == [100] * 3
    for batch in batches:
        place = batch.goal[:, 3:5]
        assert (place[:20, 1] == -7).all()
        assert (place[50:] >= 100).all()
        assert (batch.action[:, 0] // 1 == batch.objects[:, 0, 3] // 1000).all()
    one, two = (batch.objects[:, 0, 3] for batch in batches[:2])
    assert not np.array_equal(one, two)


def test_rewards_follow_the_new_goals():
    batch, _ = draw(RelabelConfig(0.0, 1.0, 0.0))
    what = batch.goal[:, :3].argmax(1)
    reached = batch.next_objects[np.arange(len(what)), what, 3:5]
    distance = np.linalg.norm(reached - batch.goal[:, 3:5], axis=1)
    np.testing.assert_allclose(batch.reward, -distance)
    assert (distance == 0).any()  # Release: the own next observation is a candidate


def test_paper_variant_starts_strictly_later():
    batch, _ = draw(RelabelConfig(0.0, 1.0, 0.0, future_includes_next=False))
    step = batch.objects[:, 0, 3] % 1000
    relabelled = batch.goal[:, 4] != -7
    later = batch.goal[:, 3] % 1000
    assert (later[relabelled] > step[relabelled] + 1).all()
    assert (step[~relabelled] == HORIZON - 1).all()  # the last transition has no later step


def test_future_steps_are_uniform_over_candidates():
    replay = filled()
    count = 20000
    episode, step = np.zeros(count, int), np.full(count, 2)
    goal, exists = future_goals(
        replay.episodes.objects,
        episode,
        step,
        replay.episodes.goal[episode],
        SPACE,
        RelabelConfig(),
        np.random.default_rng(0),
    )
    assert exists.all()
    chosen, times = np.unique(goal.position[:, 0], return_counts=True)
    assert chosen.tolist() == [3, 4, 5, 6]
    assert np.abs(times / count - 0.25).max() < 0.02


def test_without_a_matching_future_the_goal_is_kept():
    present = np.ones((1, HORIZON + 1, ITEMS), bool)
    present[0, 3:, 0] = False  # the goal's object is never seen again after step 2
    replay = Replay(10 * HORIZON, HORIZON, LAYOUT, 2)
    replay.add(make_episodes(0, 1, present))
    batch, _ = draw(RelabelConfig(0.0, 1.0, 0.0), 500, replay)
    step = batch.objects[:, 1, 3]
    kept = batch.goal[:, 4] == -7
    np.testing.assert_array_equal(kept, step >= 2)
    assert (batch.goal[~kept, 3] <= 2).all()
    assert (batch.reward[step >= 2] == -9).all()


def test_any_object_trains_on_every_object_of_the_frame():
    batch, _ = draw(RelabelConfig(0.1, 0.4, 0.5, any_object=1.0))
    episode = batch.objects[:, 0, 3] // 1000
    what, place = batch.goal[:, :3].argmax(1), batch.goal[:, 3:5]
    np.testing.assert_array_equal(what[:300], episode[:300] % 3)
    assert np.abs(np.bincount(what[300:]) / 2700 - 1 / 3).max() < 0.05
    np.testing.assert_array_equal(place[300:1500, 1], what[300:1500])
    assert (place[1500:] >= 100).all()


def test_future_goals_of_any_object_take_one_that_moves():
    replay = filled(1)
    replay.episodes.objects.position[0, :, :2] = 5.0  # objects 0 and 1 rest, 2 moves
    config = RelabelConfig(0.0, 1.0, 0.0, any_object=1.0, moved=0.01)
    batch, _ = draw(config, 200, replay)
    assert (batch.goal[:, :3].argmax(1) == 2).all()
    later, step = batch.goal[:, 3], batch.objects[:, 2, 3]
    assert (later > step).all()


def test_when_nothing_moves_a_place_is_imagined():
    replay = filled(1)
    replay.episodes.objects.position[0] = 5.0
    config = RelabelConfig(0.0, 1.0, 0.0, any_object=1.0, moved=0.01)
    batch, _ = draw(config, 600, replay)
    assert (batch.goal[:, 3] >= 100).all()
    assert np.abs(np.bincount(batch.goal[:, :3].argmax(1)) / 600 - 1 / 3).max() < 0.08


def test_objects_that_vanish_are_no_moved_goals():
    present = np.ones((1, HORIZON + 1, ITEMS), bool)
    present[0, 1:, 0] = False
    replay = Replay(10 * HORIZON, HORIZON, LAYOUT, 2)
    replay.add(make_episodes(0, 1, present))
    batch, _ = draw(RelabelConfig(0.0, 1.0, 0.0, any_object=1.0), 300, replay)
    assert set(batch.goal[:, :3].argmax(1)) == {1, 2}


def test_relabelling_changes_nothing_in_replay_and_is_reproducible():
    replay = filled()
    before = [array.copy() for array in replay.state()[0].values()]
    config = RelabelConfig(any_object=0.5, moved=0.5)
    one, _ = draw(config, 200, replay, seed=4)
    two, _ = draw(config, 200, replay, seed=4)
    after = replay.state()[0].values()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    pairs = zip(one.arrays(), two.arrays(), strict=True)
    assert all(np.array_equal(a, b) for (_, a), (_, b) in pairs)


def test_vectors_relabel_with_any_later_state():
    layout = ObjectLayout(slots=1, what=0, position=4)
    replay = Replay(5 * HORIZON, HORIZON, layout, 2)
    t = np.arange(HORIZON + 1.0)
    position = np.tile(t[None, :, None, None], (2, 1, 1, 4))
    objects = make_set(np.zeros((2, HORIZON + 1, 1, 0)), position)
    goal = ObjectGoal(np.zeros((2, 0)), np.full((2, 4), -1.0), np.zeros((2, 0)))
    replay.add(Episode(objects, np.zeros((2, HORIZON, 2)), goal))
    rng, config = np.random.default_rng(0), RelabelConfig(0.0, 1.0, 0.0)
    episode, step = rng.integers(0, 2, 300), rng.integers(0, HORIZON, 300)
    now = replay.episodes.objects[episode, step]
    box = UniformPrior(np.full(4, 100, np.float32), np.full(4, 101, np.float32))
    space = MatchedGoals(SPACE.config, box)
    found = relabel(replay.episodes, episode, step, now, space, config, rng)
    assert (found.position[:, 0] > step).all()
    config = RelabelConfig(0.0, 0.0, 1.0)
    found = relabel(replay.episodes, episode, step, now, space, config, rng)
    assert (found.position >= 100).all()


TRACKING = TrackedGoals(SPACE.config, SPACE.prior)


def with_ids(stolen_from: int) -> Replay:
    """Two episodes; object n has ID 10 + n, but from a step on objects 0 and 1 swap IDs."""
    episodes = make_episodes(0, 2)
    ids = np.tile(10 + np.arange(ITEMS), (2, HORIZON + 1, 1))
    ids[:, stolen_from:, :2] = ids[:, stolen_from:, 1::-1]
    goal = replace(episodes.goal, id=np.array([10, 11]))
    replay = Replay(5 * HORIZON, HORIZON, LAYOUT, 2)
    replay.add(Episode(replace(episodes.objects, ids=ids), episodes.actions, goal))
    return replay


def test_ids_are_stored_and_restored():
    replay = with_ids(stolen_from=4)
    arrays, pointers = replay.state()
    assert arrays["objects.ids"][0, :, 0].tolist() == [10] * 4 + [11] * 3
    assert arrays["goal.id"].tolist() == [10, 11]
    other = Replay(5 * HORIZON, HORIZON, LAYOUT, 2)
    other.load({k: v.copy() for k, v in arrays.items()}, pointers)
    assert all(np.array_equal(array, other.state()[0][name]) for name, array in arrays.items())


@pytest.mark.parametrize("config", [
    RelabelConfig(1.0, 0.0, 0.0),
    RelabelConfig(0.0, 1.0, 0.0),
    RelabelConfig(0.0, 0.0, 1.0),
    RelabelConfig(0.0, 1.0, 0.0, any_object=1.0),
    RelabelConfig(0.0, 0.0, 1.0, any_object=1.0),
])  # fmt: skip
def test_relabelled_goals_have_the_id_of_their_detection(config):
    replay, rng = with_ids(stolen_from=HORIZON + 1), np.random.default_rng(0)
    episode, step = rng.integers(0, 2, 200), rng.integers(0, HORIZON, 200)
    now = replay.episodes.objects[episode, step]
    for space in (SPACE, TRACKING):
        goal = relabel(replay.episodes, episode, step, now, space, config, rng)
        np.testing.assert_array_equal(goal.id, 10 + goal.what.argmax(1))


def test_future_goals_by_id_follow_the_id_to_another_object():
    replay = with_ids(stolen_from=4)
    count = 200
    episode, step = np.zeros(count, int), np.full(count, 3)
    goal = replay.episodes.goal[episode]
    rng = np.random.default_rng(0)
    arguments = (replay.episodes.objects, episode, step, goal)
    for space, own, identity in ((SPACE, 0, 11), (TRACKING, 1, 10)):
        found, exists = future_goals(*arguments, space, RelabelConfig(), rng)
        assert exists.all()
        assert (found.position[:, 1] == own).all()  # y names the object
        assert (found.id == identity).all()


def test_training_rewards_follow_the_ids():
    replay, config = with_ids(stolen_from=4), RelabelConfig(1.0, 0.0, 0.0)
    draws = [
        sample_batch(replay.episodes, 2, 400, space, config, np.random.default_rng(1))
        for space in (SPACE, TRACKING)
    ]
    step = draws[0].objects[:, 0, 3] % 1000
    differ = draws[0].reward != draws[1].reward
    np.testing.assert_array_equal(differ, step >= 3)  # the following frame is the fourth or later
    np.testing.assert_array_equal(draws[0].objects, draws[1].objects)
    assert draws[0].objects.shape[-1] == LAYOUT.features  # the network sees no IDs
