"""Start and goal distributions against the reference's rules and expectations."""

import numpy as np
import pytest

from smorl.envs.registration import env_ids
from smorl.envs.tabletop.tasks import make_task, sample_apart
from smorl.errors import InvalidInput

HAND = np.array((0.0, 0.414))
TASKS = [("push", n) for n in (1, 2, 3)] + [("rearrange", n) for n in range(1, 7)]


def gaps(points):
    i, j = np.triu_indices(len(points), 1)
    return np.linalg.norm(points[i] - points[j], axis=1)


@pytest.mark.parametrize(("name", "n"), TASKS)
def test_samples_keep_their_distances_and_boxes(name, n):
    task, rng = make_task(name, n), np.random.default_rng(1)
    for _ in range(30):
        start, goal = task.sample_starts(rng, HAND), task.sample_goals(rng, HAND)
        assert start.shape == goal.shape == (n, 2)
        assert (np.linalg.norm(start - HAND, axis=1) >= 0.06).all()
        assert (gaps(start) >= 0.10).all()
        assert (np.linalg.norm(goal - HAND, axis=1) >= 0.075).all()
        assert (gaps(goal) >= 0.125).all()
        assert ((goal >= task.goal_low) & (goal <= task.goal_high)).all()
        assert ((start >= task.start_low) & (start <= task.start_high)).all()


def test_push_starts_are_fixed_and_fresh():
    task, rng = make_task("push", 2), np.random.default_rng(0)
    first = task.sample_starts(rng, HAND)
    np.testing.assert_allclose(first, [(-0.1, 0.5), (0.1, 0.5)])
    first += 1
    np.testing.assert_allclose(task.sample_starts(rng, HAND), [(-0.1, 0.5), (0.1, 0.5)])


def test_goals_are_uniform_given_their_distances():
    """Compare with plain joint rejection, one set at a time."""
    task, rng = make_task("rearrange", 3), np.random.default_rng(2)
    ours = np.array([task.sample_goals(rng, HAND) for _ in range(3000)])
    plain = []
    while len(plain) < 3000:
        sets = rng.uniform((-0.2, 0.45), (0.2, 0.7), (3, 2))
        if (gaps(sets) >= 0.125).all() and (np.linalg.norm(sets - HAND, axis=1) >= 0.075).all():
            plain.append(sets)
    plain = np.array(plain)
    np.testing.assert_allclose(ours.mean(axis=0), plain.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(ours.std(axis=0), plain.std(axis=0), atol=0.006)


# Expectations of the facts sheet: mean and per-episode standard deviation.
PASSIVE = {
    ("push", 1): (0.1456, 0.054),
    ("push", 2): (0.1177, 0.036),
    ("rearrange", 1): (0.171, 0.087),
    ("rearrange", 2): (0.178, 0.064),
    ("rearrange", 3): (0.183, 0.054),
    ("rearrange", 4): (0.187, 0.048),
}


@pytest.mark.parametrize(("name", "n"), PASSIVE)
def test_passive_distance_agrees_with_the_reference(name, n):
    task, rng = make_task(name, n), np.random.default_rng(3)
    count = 4000
    offsets = [task.sample_starts(rng, HAND) - task.sample_goals(rng, HAND) for _ in range(count)]
    distance = np.linalg.norm(offsets, axis=-1).mean(axis=-1)
    mean, deviation = PASSIVE[name, n]
    assert distance.mean() == pytest.approx(mean, abs=4 * deviation / count**0.5 + 0.001)
    assert distance.std() == pytest.approx(deviation, rel=0.06)


def test_the_listed_passive_distances_are_the_sampled_ones():
    for env in env_ids():
        if env.observation == "image" or env.num_objects > 5:
            continue
        task, rng = make_task(env.task, env.num_objects), np.random.default_rng(4)
        offsets = [task.sample_starts(rng, HAND) - task.sample_goals(rng, HAND) for _ in range(500)]
        distance = np.linalg.norm(offsets, axis=-1).mean(axis=-1)
        error = 4 * distance.std() / 500**0.5
        assert env.passive_distance == pytest.approx(distance.mean(), abs=error), env.id


def test_episode_lengths_of_the_paper():
    lengths = [make_task(name, n).episode_steps for name, n in TASKS]
    assert lengths == [45, 75, 105, 60, 100, 140, 180, 220, 260]


def test_colours():
    np.testing.assert_array_equal(make_task("rearrange", 2).colours, [(0, 0, 1), (0, 1, 0)])
    np.testing.assert_array_equal(make_task("push", 3).colours[0], (0.175, 0.825, 0.214))
    assert make_task("rearrange", 6).colours.shape == (6, 3)


def test_same_generator_state_same_sample():
    task = make_task("rearrange", 5)
    first = task.sample_goals(np.random.default_rng(7), HAND)
    np.testing.assert_array_equal(first, task.sample_goals(np.random.default_rng(7), HAND))


def test_impossible_demands_end_with_an_error():
    low, high = np.zeros((2, 2)), np.full((2, 2), 0.01)
    with pytest.raises(InvalidInput, match="no place for 2 pucks"):
        sample_apart(np.random.default_rng(0), low, high, HAND, 0.0, 0.5)


@pytest.mark.parametrize(("name", "n"), [("push", 4), ("rearrange", 7), ("rearrange", 0)])
def test_unsupported_numbers(name, n):
    with pytest.raises(InvalidInput, match=f"{n}.*use 1 to"):
        make_task(name, n)


def test_unknown_task_gets_a_hint():
    with pytest.raises(InvalidInput, match="Did you mean 'rearrange'"):
        make_task("rearange", 2)
