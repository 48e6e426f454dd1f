"""Clusters of appearance against known identities, and the figure of them."""

import json

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.evaluation.detection_metrics import Kind, Labels
from smorl.paper.figures.clusters import draw_clusters, free_place, partition_lines
from smorl.studies.clusters import agreement, analyse_clusters, identities, k_means, purity
from smorl.studies.footage import record, truth
from smorl.studies.sightings import Sightings, foreground_box, foreground_colour

ENV = "smorl/VisualRearrange2-v0"


@pytest.fixture(scope="module")
def footage():
    return record(ENV, episodes=4, steps=2, seed=0)


def perfect(footage, spread=0.01, mistaken=0):
    """Sightings by someone who sees both pucks and the arm where they are, each of its own look.

    `mistaken` detections of puck 0 look like puck 1.
    """
    known = truth(footage, 64)
    rows, columns = np.indices((64, 64))
    grid = (2 * np.stack([columns, rows], -1) + 1) / 64 - 1
    arm = known.arm[..., None]
    middle = (arm * grid).sum((2, 3)) / np.maximum(arm.sum((2, 3)), 1)
    nearest = np.where(known.arm, np.linalg.norm(grid - middle[:, :, None, None], axis=-1), 9)
    spots = nearest.reshape(*nearest.shape[:2], -1).argmin(-1)
    position = np.concatenate([known.centres, grid.reshape(-1, 2)[spots][:, :, None]], 2)
    look = np.broadcast_to(np.eye(3, 4, dtype=np.float32), (*position.shape[:2], 3, 4)).copy()
    episode, frame = np.nonzero(known.is_visible[..., 0])
    look[episode[:mistaken], frame[:mistaken], 0] = np.eye(4)[1]
    look += spread * np.random.default_rng(0).normal(size=look.shape)
    seen = np.concatenate([known.is_visible, known.arm_visible[..., None]], -1)
    box = np.concatenate([position, np.full(position.shape, 0.1)], -1)
    colour = np.broadcast_to(np.eye(3), (*seen.shape, 3))
    raw = np.zeros_like(look)
    raw[..., 0] = np.random.default_rng(1).normal(size=seen.shape)
    return Sightings(seen, look, raw, position, box.astype(np.float32), colour)


def images(footage):
    return np.zeros((*footage.qpos.shape[:2], 64, 64, 3), np.uint8)


def test_purity_by_hand():
    group, who = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 1])
    assert purity(group, who) == pytest.approx(4 / 6)
    assert purity(who, who) == 1


def test_agreement_leaves_out_what_nobody_can_tell():
    group, who = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 3])
    found = agreement(group, who, pucks=1)  # 0 the puck, 1 the arm, 2 false, 3 unclear
    assert found["purity"] == found["adjusted_rand"] == 1
    assert found["purity_with_false"] == pytest.approx(4 / 5)
    assert found["adjusted_rand_with_false"] < 1
    mixed = agreement(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), pucks=1)
    assert mixed["purity"] == 0.5
    assert mixed["adjusted_rand"] <= 0


def test_identities_of_labels():
    kind = np.array([[[Kind.PUCK, Kind.ARM, Kind.ARM, Kind.FALSE, Kind.IGNORED]]])
    puck = np.array([[[1, -1, -1, 0, -1]]])
    doubtful = np.array([[[False, False, True, False, False]]])
    labels = Labels(kind, puck, np.zeros(kind.shape), doubtful)
    assert identities(labels, pucks=2)[0, 0].tolist() == [1, 2, 4, 3, 4]


def test_k_means_depends_on_its_seed_alone():
    points = np.random.default_rng(0).normal(size=(40, 3))
    first, again = (k_means(points, 3, seed=1).predict(points) for _ in range(2))
    assert (first == again).all()


def test_distinct_looks_are_told_apart(footage):
    found = analyse_clusters(perfect(footage), images(footage), footage)
    assert found["purity"] == found["adjusted_rand"] == 1
    assert found["names"] == ["puck 1", "puck 2", "arm", "false", "unclear"]
    table = np.array(found["table"])
    assert (table[:, :3] == np.diag(np.diag(table[:, :3]))).all(), "clusters come in their order"
    assert table.sum() == found["points"] == len(found["plane"])
    assert found["plane_agreement"] == 1
    assert found["scores"]["raw"]["purity"] < 1, "raw appearances here are noise"


def test_mistaken_looks_cost_purity(footage):
    found = analyse_clusters(perfect(footage, mistaken=3), images(footage), footage)
    known = sum(sum(row[:3]) for row in found["table"])
    assert found["purity"] == pytest.approx(1 - 3 / known)
    assert found["adjusted_rand"] < 1


def test_raw_is_another_space(footage):
    found = analyse_clusters(perfect(footage), images(footage), footage, raw=True)
    assert found["space"] == "raw"
    assert found["purity"] == found["scores"]["raw"]["purity"]


def test_points_are_drawn_and_mistakes_named(footage):
    few = analyse_clusters(perfect(footage), images(footage), footage, points=10)
    assert few["points"] == 10
    for clusters in (1, 99):
        with pytest.raises(InvalidInput, match="clusters"):
            analyse_clusters(
                perfect(footage), images(footage), footage, points=20, clusters=clusters
            )


def test_foreground():
    on = np.zeros((1, 2, 8, 8), bool)
    on[0, 0, 2:4, 0:6] = True
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    picture[0, 2, :, 0] = 255
    assert foreground_colour(picture, on)[0, 0].tolist() == [0.5, 0, 0]
    assert foreground_box(on)[0, 0] == pytest.approx([-0.25, -0.25, 0.75, 0.25])
    assert np.isnan(foreground_box(on)[0, 1]).all()
    assert np.isnan(foreground_colour(picture, on)[0, 1]).all()


@pytest.mark.parametrize("count", [2, 3, 5])
def test_partition_lines_are_equally_far_from_their_two_centres(count):
    centres = np.random.default_rng(count).normal(size=(count, 2))
    lines = list(partition_lines(centres))
    assert len(lines) >= count - 1
    for start, end in lines:
        for share in (0.3, 0.5, 0.7):
            point = start + share * (end - start)
            near = np.sort(np.linalg.norm(centres - point, axis=1))
            assert near[0] == pytest.approx(near[1], rel=1e-6)


def test_crops_keep_off_points_edges_and_each_other():
    edges = np.array([[0.0, 0.0], [400.0, 300.0]])
    cloud = np.random.default_rng(0).uniform((100, 0), (400, 300), size=(500, 2))
    point = np.array([100.0, 150.0])
    offset = free_place(point, cloud, [point], edges)
    assert offset[0] < 0, "to the left there are no points"
    second = free_place(point, cloud, [point, point + offset], edges)
    assert not np.allclose(second, offset)
    corner = np.array([5.0, 5.0])
    assert (corner + free_place(corner, cloud, [corner], edges) > 0).all()


def test_draw_both_formats_again_with_the_same_bytes(footage, tmp_path):
    found = analyse_clusters(perfect(footage), images(footage), footage)
    report = json.loads(json.dumps(found, allow_nan=False))
    (tmp_path / "a").mkdir()
    outs = [tmp_path / "a" / name for name in ("c.png", "c.pdf")]
    draw_clusters(report, outs)
    first = [out.read_bytes() for out in outs]
    assert first[0].startswith(b"\x89PNG")
    assert first[1].startswith(b"%PDF")
    draw_clusters(report, outs[:1])
    assert outs[0].read_bytes() == first[0]
