"""Parts of perception training that need neither simulator nor model, and restarts."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.goals.appearance import appearance_basis, resting_tracks, self_supervised_pairs
from smorl.goals.priors import FittedPrior, UniformPrior
from smorl.presets.perception import debug
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.scalor.training.fit import encode, fit_threshold, raw_tracker
from smorl.representations.scalor.training.prior import fit_prior, merge_clusters
from smorl.representations.scalor.training.settings import (
    OptimiseConfig,
    ScalorTrainingConfig,
    learning_rate,
    window_length,
)
from smorl.representations.video import Sequences


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_the_learning_rate_rises_and_falls(decay):
    config = OptimiseConfig(iterations=100, lr=1.0, lr_final=0.1, warmup=10, decay=decay)
    rates = [learning_rate(config, i) for i in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[-1] == pytest.approx(0.1)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert learning_rate(replace(config, lr_final=1.0), 70) == 1.0
    late = replace(config, decay_from=0.5)
    assert learning_rate(late, 50) == 1.0
    assert 0.1 < learning_rate(late, 75) < 1.0
    assert learning_rate(late, 99) == pytest.approx(0.1)


def test_windows_grow_in_equal_parts_of_training():
    config = OptimiseConfig(iterations=9, lengths=(2, 4, 6))
    assert [window_length(config, i) for i in range(9)] == [2, 2, 2, 4, 4, 4, 6, 6, 6]
    assert window_length(config, 20) == 6


def test_settings_out_of_range_are_named():
    with pytest.raises(InvalidInput, match=r"optimise.lengths = \(500,\)"):
        ScalorTrainingConfig(optimise=OptimiseConfig(lengths=(500,)))
    with pytest.raises(InvalidInput, match=r"restarts = -1"):
        replace(debug(), restarts=-1)


def tracked(looks, places, episodes=6, frames=30):
    """Track objects: per object several looks (V, 2) it changes between, and one place each.

    Returns what (E, T, N, 2), position (E, T, N, 2), ids (E, T, N).
    """
    rng = np.random.default_rng(0)
    shape = (episodes, frames, len(looks))
    what, position = np.empty((*shape, 2)), np.empty((*shape, 2))
    for slot, (variants, place) in enumerate(zip(looks, places, strict=True)):
        variant = rng.integers(len(variants), size=shape[:2])
        what[:, :, slot] = np.asarray(variants, float)[variant]
        position[:, :, slot] = place
    what += 0.02 * rng.normal(size=what.shape)
    position += 0.05 * rng.normal(size=position.shape)
    return what, position, np.broadcast_to(np.arange(len(looks)), shape).copy()


LOOKS = [[[0, 0], [1, 0], [2, 0]], [[0, 3]], [[3, 3]]]
PLACES = [(0.0, -0.8), (-0.5, 0.5), (0.5, 0.5)]


def test_normalised_appearances_are_as_far_apart_as_one_hot_codes():
    what, _, ids = tracked(LOOKS, PLACES)
    mean, basis = appearance_basis(100 * what, ids)
    normalised = ((100 * what - mean) @ basis).reshape(-1, 2)
    distance = np.square(normalised[:, None] - normalised[None]).sum(-1)
    assert distance.mean() == pytest.approx(2, rel=1e-4)
    assert np.abs(normalised.mean(0)).max() < 1e-4


def test_what_varies_within_a_track_counts_less_than_what_tells_tracks_apart():
    rng = np.random.default_rng(0)
    ids = np.broadcast_to(np.arange(2), (5, 20, 2))
    what = np.stack([ids + 0.01 * rng.normal(size=ids.shape), rng.normal(size=ids.shape)], -1)
    mean, basis = appearance_basis(what, ids)
    normalised = (what - mean) @ basis
    apart = np.square(normalised.mean((0, 1))[0] - normalised.mean((0, 1))[1]).sum()
    within = normalised.var((0, 1)).sum(-1).mean()
    assert apart > 10 * within, "although the second number varies twice as much as the first"


def test_nothing_detected_still_gives_a_scale_and_a_prior():
    what, ids = np.zeros((2, 3, 4, 3)), np.full((2, 3, 4), -1)
    mean, basis = appearance_basis(what, ids)
    assert mean.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(basis, np.eye(3))
    assert isinstance(fit_prior(what, what[..., :2], ids, 0), UniformPrior)
    threshold, match = fit_threshold(what, ids, ids >= 0)
    assert threshold > 0
    assert match == {"pairs": 0}


def test_the_prior_knows_where_each_object_was():
    prior = fit_prior(*tracked(LOOKS, PLACES), seed=0)
    assert isinstance(prior, FittedPrior)
    rng = np.random.default_rng(2)
    for variants, place in zip(LOOKS, PLACES, strict=True):
        for look in variants:
            drawn = prior.sample(np.array([look] * 50, float), rng)
            np.testing.assert_allclose(drawn.mean(0), place, atol=0.05)


def test_looks_of_one_object_share_a_group_and_objects_do_not():
    what, _, ids = tracked(LOOKS, PLACES)
    truth = np.array([0, 0, 0, 1, 2])  # the object of each look
    looks = np.concatenate([np.asarray(v, float) for v in LOOKS])
    labels = np.square(what[..., None, :] - looks).sum(-1).argmin(-1)[ids >= 0]
    groups = merge_clusters(labels, ids, len(looks))
    assert np.array_equal(groups[:, None] == groups[None], truth[:, None] == truth[None])


def test_swapped_identities_do_not_merge_what_is_seen_together():
    what, position, ids = tracked([[[0, 0]], [[1, 1]]], [(-0.5, 0.0), (0.5, 0.0)])
    ids[:, 15:] = ids[:, 15:, ::-1]  # half-way through every episode the tracker confuses them
    prior = fit_prior(what, position, ids, seed=0)
    drawn = prior.sample(np.zeros((50, 2)), np.random.default_rng(0))
    assert drawn[:, 0].max() < 0


def test_the_threshold_separates_objects():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    what = centres + 0.02 * rng.normal(size=(4, 6, 3, 2))
    ids = np.broadcast_to(np.arange(3), (4, 6, 3))
    threshold, match = fit_threshold(what, ids, ids >= 0)
    assert 0.1 < threshold < 0.9
    assert (match["match_rate"], match["false_match_rate"]) == (1, 0)


def test_a_fit_sees_appearances_as_they_are(monkeypatch):
    """A puck that now and then looks quite different must widen the threshold. Seen through a
    tracker that replaces such looks by former ones, tracks look far steadier than they are."""
    steady, strange = ([0.0, look, 0.0, look, 0.0, look] for look in (0.1, 1.2))
    calm = fit_to_looks(monkeypatch, steady, raw_tracker)
    assert fit_to_looks(monkeypatch, strange, raw_tracker) > 1.2 * calm
    acting = TrackerConfig(memory=0, unique=False, smooth=0.0)

    def replacing(model):
        return ScalorTracker(model, config=acting)

    assert fit_to_looks(monkeypatch, strange, replacing) < 1.1 * calm


def fit_to_looks(monkeypatch, looks: list[float], make: Callable) -> float:
    """Fit the threshold to a video of a steady blue object and a red one that changes."""
    from tests.representations.scalor.tracking import test_tracker as stage

    size = stage.SIZE
    frames = [
        (stage.slots_of((0, [1.0, 0.0, look], 0.4, -0.2), (1, stage.BLUE, -0.5, 0.5)), [0, 1], 1.0)
        for look in looks
    ]
    stage.scripted(monkeypatch, frames)
    images = np.zeros((1, len(looks), size, size, 3), np.uint8)
    data = Sequences("", 0, images, np.zeros((1, len(looks), 2), np.float32))
    tracker = make(stage.make_model())
    tracker.config = replace(tracker.config, first_passes=1)
    found = encode(tracker, data)
    return fit_threshold(found.what, found.ids, found.seen)[0]


def test_what_mostly_rests_is_a_thing_and_the_body_is_not():
    position = np.zeros((2, 9, 3, 2))
    position[:, :, 0, 0] = np.linspace(-1, 1, 9)  # moves all the time
    position[:, 4:, 1, 1] = 0.5  # is moved once
    ids = np.broadcast_to(np.arange(3), (2, 9, 3)).copy()
    ids[:, 2:, 2] = -1  # seen for too short a time to tell
    things = resting_tracks(position, ids)
    assert not things[..., 0].any()
    assert things[..., 1].all()
    assert not things[..., 2].any()


def test_parts_of_a_body_that_look_alike_are_no_different_objects():
    what = np.zeros((1, 2, 3, 1))
    what[..., 0] = [0.0, 0.1, 3.0]  # two parts of an arm and a puck
    ids = np.broadcast_to(np.arange(3), (1, 2, 3))
    things = np.broadcast_to([False, False, True], (1, 2, 3))
    same, different = self_supervised_pairs(what, ids, things)
    assert len(same) == 1
    assert different.min() > 2


def test_frames_count_growing_windows_and_rotations():
    settings = OptimiseConfig(iterations=4, batch=3, lengths=(2, 5))
    once = ScalorTrainingConfig(optimise=settings)
    assert once.frames == 3 * (2 + 2 + 5 + 5)
    assert replace(once, optimise=replace(settings, rotations=True)).frames == 4 * once.frames
