"""Gaps of representations whose answer is known, and VAEs from files."""

import json

import numpy as np
import pytest

from smorl.errors import InvalidInput, SmorlError
from smorl.paper.figures.mig import draw_mig
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.weights import VaeWeights, save_vae
from smorl.studies.footage import Footage
from smorl.studies.mig import by_puck, open_vae, ordered_positions, score
from smorl.studies.sightings import Sightings
from tests.representations.vae.small import SMALL


def table(episodes=400, frames=3, pucks=2, seed=0) -> Footage:
    """Pucks anywhere, moving little: no simulator needed."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-0.2, 0.2, size=(episodes, 1, pucks, 2))
    objects = start + 0.005 * rng.normal(size=(episodes, frames, pucks, 2))
    blank = np.zeros((episodes, frames, 2))
    return Footage(
        "smorl/VisualRearrange2-v0", seed, blank.astype(np.float32), blank,
        np.zeros((episodes, pucks, 3)), blank, objects,
    )  # fmt: skip


def seen_by(footage: Footage, missing=0.0) -> Sightings:
    """A tracker that finds every puck and puts them into slots by chance, one slot empty."""
    rng = np.random.default_rng(1)
    episodes, frames, pucks, _ = footage.objects.shape
    slots = rng.permuted(np.tile(np.arange(pucks + 1), (episodes, frames, 1)), axis=-1)
    seen = (slots < pucks) & (rng.random(slots.shape) >= missing)
    which = np.minimum(slots, pucks - 1)
    position = np.take_along_axis(footage.objects, which[..., None], 2) * seen[..., None]
    what = (np.eye(pucks)[which] + 0.01 * rng.normal(size=(*slots.shape, pucks))) * seen[..., None]
    box, colour = np.zeros((*slots.shape, 4)), np.zeros((*slots.shape, 3))
    return Sightings(seen, what, what, position, box, colour)


def test_positions_are_put_in_order_by_cluster():
    footage = table(episodes=30)
    codes, found = ordered_positions(seen_by(footage), clusters=2, seed=0)
    assert found.all()
    codes = codes.reshape(-1, 2, 2)
    objects = footage.objects.reshape(-1, 2, 2)
    same, swapped = np.allclose(codes, objects), np.allclose(codes, objects[:, ::-1])
    assert same or swapped, "slots are shuffled, clusters are not"


def test_what_is_missing_is_zero():
    footage = table(episodes=30)
    codes, found = ordered_positions(seen_by(footage, missing=0.3), clusters=2, seed=0)
    assert 0.5 < found.mean() < 0.9
    assert (codes.reshape(-1, 2, 2)[~found] == 0).all()
    assert (codes.reshape(-1, 2, 2)[found] != 0).all()


def test_of_two_in_a_cluster_the_one_nearer_to_its_centre_counts():
    what = np.zeros((1, 40, 2, 1))
    what[:, 20:] = 10.0
    what[0, 0, :, 0] = (3.0, 0.1)
    position = np.broadcast_to(np.array([[0.7, 0.7], [0.2, 0.2]]), (1, 40, 2, 2))
    nothing = np.zeros((1, 40, 2, 4))
    seen = np.ones((1, 40, 2), bool)
    codes, _ = ordered_positions(
        Sightings(seen, what, what, position, nothing, nothing[..., :3]), clusters=2, seed=0
    )
    assert sorted(codes[0].tolist()) == pytest.approx([0.0, 0.0, 0.2, 0.2])


def test_nothing_seen_is_named():
    footage = table(episodes=2)
    with pytest.raises(InvalidInput, match="0 detections"):
        ordered_positions(seen_by(footage, missing=1.1), clusters=2, seed=0)


def test_objects_score_high_a_mixture_low_noise_nothing():
    footage = table()
    codes, _ = ordered_positions(seen_by(footage), clusters=2, seed=0)
    rng = np.random.default_rng(2)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    objects, mixture = score(codes, footage), score(codes @ rotation, footage)
    noise = score(rng.normal(size=codes.shape), footage)
    assert objects["mig"] > 0.8
    # A mixture knows as much, however it says it; noise knows nothing.
    assert np.max([objects["probe"], mixture["probe"]]) < 0.3 * np.min(objects["probe_blind"])
    assert np.min(noise["probe"]) > 0.9 * np.max(noise["probe_blind"])
    assert mixture["mig"] < 0.3
    assert noise["mig"] < 0.03
    for found in (objects, noise):
        assert 0.05 < found["chance"] < 0.5, "frames of an episode are alike"
    assert np.max(noise["matrix"]) < 2 * noise["chance"]


def test_missing_objects_cost_information():
    footage = table()
    all_there, half = (
        score(ordered_positions(seen_by(footage, missing), 2, 0)[0], footage)["mig"]
        for missing in (0.0, 0.5)
    )
    assert half < 0.7 * all_there


def test_clusters_are_shown_in_the_order_of_pucks():
    footage = table()
    factors = footage.objects.reshape(len(footage) * 3, -1)
    arm = np.random.default_rng(3).normal(size=(len(factors), 2))
    codes = np.concatenate([arm, factors[:, 2:], factors[:, :2]], 1)
    shown = by_puck(codes, footage)
    assert (shown == np.concatenate([factors, arm], 1)).all()
    assert score(shown, footage)["mig"] == pytest.approx(score(codes, footage)["mig"])


def test_a_vae_from_a_file(tmp_path):
    meta = {"env": "smorl/VisualRearrange2-v0", "camera": "zoomed_in"}
    path = save_vae(tmp_path / "vae.safetensors", VaeWeights(BetaVae(SMALL), meta))
    encoder, camera = open_vae(str(path), pucks=2)
    assert camera == "zoomed_in"
    assert encoder.encode(np.zeros((2, 16, 16, 3), np.uint8)).shape == (2, 3)
    with pytest.raises(InvalidInput, match="3 pucks"):
        open_vae(str(path), pucks=3)


def test_what_is_no_vae_is_named(tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"nothing")
    for name in (str(broken), str(tmp_path / "absent")):
        with pytest.raises(SmorlError, match=r"broken|absent"):
            open_vae(name, pucks=2)


def test_draw(tmp_path):
    footage = table(episodes=50)
    codes, _ = ordered_positions(seen_by(footage), clusters=2, seed=0)
    models = [
        {"kind": kind, "model": f"{kind} {i}", **score(codes, footage)}
        for kind, count in (("scalor", 2), ("vae", 1))
        for i in range(count)
    ]
    summary = {k: {"mean": 0.8, "deviation": 0.1, "models": n} for k, n in
               (("scalor", 2), ("vae", 1))}  # fmt: skip
    factors = ["puck 1 x", "puck 1 y", "puck 2 x", "puck 2 y"]
    report = {"summary": summary, "models": models, "factors": factors}
    outs = draw_mig(json.loads(json.dumps(report)), [tmp_path / "m.png"])
    assert outs[0].read_bytes().startswith(b"\x89PNG")
