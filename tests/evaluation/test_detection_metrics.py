"""Perception metrics on hand-made sets whose right answers are plain to see."""

import numpy as np
import pytest

from smorl.evaluation.detection_metrics import Detections, Kind, Truth, assign, label
from smorl.evaluation.detection_scores import (
    appearance_distances,
    detection_scores,
    identity_scores,
    match_report,
    track_scores,
)

PIXEL = 2 / 64
CENTRES = np.array([(-0.5, 0.0), (0.5, 0.0)])
ARM = np.array((0.0, -0.8))
LOOKS = np.array([(1.0, 0.0), (0.0, 1.0)])
ARM_LOOK = np.array((-1.0, -1.0))


def make_truth(frames=3, visible=((80, 80),)) -> Truth:
    """One episode: two still pucks 80 pixels large, an arm of 100 pixels at the top."""
    arm = np.zeros((1, frames, 64, 64), bool)
    arm[..., 2:12, 27:37] = True
    return Truth(
        centres=np.tile(CENTRES, (1, frames, 1, 1)),
        visible=np.broadcast_to(np.array(visible)[None], (1, frames, 2)).copy(),
        alone=np.full((1, frames, 2), 80),
        arm=arm,
        hand=np.tile((0.0, 0.4), (1, frames, 1)),
        objects=np.tile(np.array([(-0.1, 0.6), (0.1, 0.6)]), (1, frames, 1, 1)),
    )


def make_detections(frames=3) -> Detections:
    """Slots 0 and 1 on the pucks, slot 2 on the arm, slot 3 empty (its contents must not count)."""
    position = np.concatenate([CENTRES, ARM[None], CENTRES[:1]])
    what = np.concatenate([LOOKS, ARM_LOOK[None], LOOKS[1:]])
    seen = np.tile([True, True, True, False], (1, frames, 1))
    tiled = [np.tile(array, (1, frames, 1, 1)) for array in (position, what)]
    return Detections(seen, *tiled, ids=np.tile([0, 1, 2, -1], (1, frames, 1)))


def all_scores(detections, truth):
    labels = label(detections, truth)
    return (
        detection_scores(detections, truth, labels)
        | identity_scores(detections, truth, labels)
        | track_scores(labels, detections.ids, 2)
    )


def test_perfect_detections_score_one():
    scores = all_scores(make_detections(), make_truth())
    for name in ("f1", "precision", "recall", "arm_detected", "identity_accuracy"):
        assert scores[name] == 1.0, name
    assert scores["arm_identity_accuracy"] == 1.0
    assert scores["median_error_px"] == pytest.approx(0, abs=1e-9)
    assert scores["detections_per_frame"] == 3
    assert scores["arm_detections_per_frame"] == 1
    assert scores["false_positives_per_frame"] == 0
    assert scores["track_length"] == 3
    assert scores["id_switches_per_100_frames"] == 0
    assert scores["free/visible"] == 6
    assert scores["touching/visible"] == scores["occluded/visible"] == 0
    assert scores["touching/recall"] is None


def test_a_shifted_detection_is_a_miss_and_a_false_positive():
    detections = make_detections()
    detections.position[0, 0, 0] += (0, 4.5 * PIXEL)
    scores = all_scores(detections, make_truth())
    assert scores["recall"] == pytest.approx(5 / 6)
    assert scores["precision"] == pytest.approx(5 / 6)
    assert scores["free/precision"] == pytest.approx(5 / 6)
    assert scores["false_positives_per_frame"] == pytest.approx(1 / 3)


def test_errors_within_the_gate_are_measured_in_pixels():
    detections = make_detections()
    detections.position[0, :, 0] += (3 * PIXEL, 0)
    detections.position[0, :, 1] += (0, 1 * PIXEL)
    scores = all_scores(detections, make_truth())
    assert scores["f1"] == 1.0
    assert scores["median_error_px"] == pytest.approx(2.0)
    assert scores["mean_error_px"] == pytest.approx(2.0)


def test_a_duplicate_is_a_false_positive():
    detections = make_detections()
    detections.seen[..., 3] = True  # slot 3 repeats puck 0's place
    scores = all_scores(detections, make_truth())
    assert scores["recall"] == 1.0
    assert scores["precision"] == pytest.approx(2 / 3)


def test_assignment_prefers_many_pairs_over_near_ones():
    # Row 0 is nearest to column 0, but only row 0 can reach column 1.
    assert assign(np.array([[0.5, 3.9], [3.0, 9.0]])) == {0: 1, 1: 0}
    assert assign(np.zeros((0, 2))) == {}
    assert assign(np.array([[5.0]])) == {}


def test_detections_on_the_arm_are_not_false():
    detections, truth = make_detections(), make_truth()
    # The arm's lowest pixel row is 11, so its lower edge is at 12; 2 pixels are granted.
    detections.position[0, 0, 2] = (0.0, (12 + 1.5) * PIXEL - 1)
    detections.position[0, 1, 2] = (0.0, (12 + 2.5) * PIXEL - 1)
    kinds = label(detections, truth).kind[0, :, 2].tolist()
    assert kinds == [Kind.ARM, Kind.FALSE, Kind.ARM]
    scores = all_scores(detections, truth)
    assert scores["arm_detected"] == pytest.approx(2 / 3)


def test_an_arm_without_own_detection_is_not_detected():
    detections, truth = make_detections(), make_truth()
    detections.seen[..., 2] = False
    truth.arm[...] = True  # the pucks' detections now lie on the arm, but belong to pucks
    assert all_scores(detections, truth)["arm_detected"] == 0.0
    truth.arm[...] = False
    assert all_scores(detections, truth)["arm_detected"] is None


def test_an_arm_detection_beside_a_lost_puck_says_nothing_about_identity():
    detections, truth = make_detections(), make_truth()
    truth.arm[0, 2, :, 8:24] = True  # around puck 0 in the last frame
    detections.position[0, 2, 0] += (6 * PIXEL, 0)  # too far from puck 0 to be assigned
    labels = label(detections, truth)
    assert labels.kind[0, 2, 0] == Kind.ARM
    assert labels.doubtful[0, 2].tolist() == [True, False, False, False]
    scores = all_scores(detections, truth)
    assert scores["arm_identity_accuracy"] == 1.0
    assert scores["recall"] == pytest.approx(5 / 6)


def test_a_hardly_seen_puck_neither_counts_nor_harms():
    truth = make_truth(visible=((20, 80),))  # 25 % of puck 0
    found, lost = make_detections(), make_detections()
    lost.seen[..., 0] = False
    for detections in (found, lost):
        scores = all_scores(detections, truth)
        assert scores["f1"] == 1.0
        assert scores["visible"] == 3
    assert label(found, truth).kind[0, 0, 0] == Kind.IGNORED
    assert label(found, make_truth(visible=((0, 80),))).kind[0, 0, 0] == Kind.FALSE


def test_categories():
    truth = make_truth(frames=4)
    truth.objects[0, 1] = [(0.0, 0.6), (0.085, 0.6)]  # pucks touch
    truth.hand[0, 2] = (-0.1, 0.55)  # the hand touches puck 0
    truth.visible[0, 3, 1] = 60  # 75 % of puck 1
    masks = truth.categories()
    assert masks["touching"][0].tolist() == [[False] * 2, [True] * 2, [True, False], [False] * 2]
    assert masks["occluded"][0].tolist() == [[False] * 2, [False] * 2, [False] * 2, [False, True]]
    assert masks["free"].sum() == 4
    detections = make_detections(frames=4)
    detections.seen[0, 3, 1] = False
    scores = all_scores(detections, truth)
    assert scores["occluded/recall"] == 0.0
    assert scores["free/recall"] == scores["touching/recall"] == 1.0


def test_swapped_appearances_are_wrong_identities():
    detections = make_detections(frames=5)
    detections.what[0, 4, [0, 1]] = detections.what[0, 4, [1, 0]]
    scores = all_scores(detections, make_truth(frames=5))
    assert scores["identity_accuracy"] == pytest.approx(6 / 8)
    assert scores["free/identity_accuracy"] == pytest.approx(6 / 8)
    assert scores["arm_identity_accuracy"] == 1.0


def test_a_puck_that_looks_like_the_arm_is_a_wrong_identity():
    detections = make_detections()
    detections.what[0, 2, 0] = ARM_LOOK
    assert all_scores(detections, make_truth())["identity_accuracy"] == pytest.approx(3 / 4)


def test_identity_starts_with_the_first_complete_frame():
    detections = make_detections(frames=4)
    detections.seen[0, 0, 1] = False
    detections.what[0, 0, 0] = 9.0  # not the reference, because puck 1 is missing there
    scores = all_scores(detections, make_truth(frames=4))
    assert scores["identity_accuracy"] == 1.0
    assert scores["identity_episodes"] == 1
    detections.seen[0, :, 1] = False
    scores = all_scores(detections, make_truth(frames=4))
    assert scores["identity_accuracy"] is None
    assert scores["identity_episodes"] == 0


def test_ids_may_rest_but_not_change():
    detections = make_detections(frames=6)
    assert detections.ids is not None
    detections.seen[0, 2, 0] = False  # a gap, same ID afterwards
    detections.ids[0, 3:, 1] = 7  # a switch
    scores = all_scores(detections, make_truth(frames=6))
    assert scores["id_switches_per_100_frames"] == pytest.approx(100 / 11)
    assert scores["track_length"] == pytest.approx(11 / 3)


def test_match_report_counts_pairs_within_the_threshold():
    detections, truth = make_detections(frames=3), make_truth(frames=3)
    detections.what[0, 2, 0] = (1.0, 0.3)
    labels = label(detections, truth)
    same, different = appearance_distances(detections, truth, labels)
    assert len(same) == 6
    assert len(different) == 12
    assert same.max() == pytest.approx(0.3)
    report = match_report(detections, truth, labels, 0.2)
    assert report["match_rate"] == pytest.approx(5 / 6)
    assert report["false_match_rate"] == 0.0
    assert match_report(detections, truth, labels, 99.0)["false_match_rate"] == 1.0
