"""The weights file: exact round trip, and one clear sentence for every kind of wrong file."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from smorl.config import to_json
from smorl.errors import DamagedFile, InvalidInput
from smorl.presets.perception import debug
from smorl.representations.perceptions import keep_perception, load_perception, read_perception
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.representations.scalor.weights import (
    FORMAT,
    KIND,
    PerceptionWeights,
    load_weights,
    rounded,
    save_weights,
)
from smorl.runs.tensor_file import read_tensors, write_tensors

# Presence and masks start switched on, so that even an untrained model reports objects.
CONFIG = replace(debug().scalor, presence_bias=3.0, mask_bias=3.0)


def make() -> PerceptionWeights:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = Scalor(CONFIG, 2, background=np.full((64, 64, 3), 0.3, np.float32))
    rng = np.random.default_rng(0)
    return PerceptionWeights(
        config=CONFIG,
        model=model,
        what_mean=rng.normal(size=CONFIG.what).astype(np.float32),
        what_basis=rng.normal(size=(CONFIG.what, CONFIG.what)).astype(np.float32),
        prior={"low": np.zeros(2, np.float32), "high": np.ones(2, np.float32)},
        threshold=0.37,
        meta={"env": "smorl/VisualRearrange1-v0", "seed": 3},
    )


@pytest.fixture
def path(tmp_path):
    (tmp_path / "run").mkdir()
    return save_weights(tmp_path / "run" / "weights.safetensors", make())


def test_round_trip_is_exactly_the_rounded_model(path):
    weights, loaded = make(), load_weights(path)
    expected = rounded(weights.model).state_dict()
    for name, tensor in loaded.model.state_dict().items():
        assert tensor.equal(expected[name]), name
    assert loaded.config == CONFIG
    assert loaded.threshold == 0.37
    assert loaded.env == "smorl/VisualRearrange1-v0"
    np.testing.assert_array_equal(loaded.what_mean, weights.what_mean)
    np.testing.assert_array_equal(loaded.prior["high"], [1, 1])
    assert not any(p.requires_grad for p in loaded.model.parameters())


def test_rounding_leaves_the_model_itself_alone():
    model = make().model
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    rounded(model)
    assert all(tensor.equal(before[name]) for name, tensor in model.state_dict().items())
    assert all(p.requires_grad for p in model.parameters())


def test_the_tracker_normalises_what(path):
    images = np.random.default_rng(1).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    weights = load_weights(path)
    assert weights.tracker().config.same == weights.threshold
    plain = replace(weights, what_mean=np.zeros(CONFIG.what), what_basis=np.eye(CONFIG.what))
    # Without these two the units of what decide which objects there are.
    distinct = TrackerConfig(unique=False, memory=0)
    one = weights.tracker(distinct).encode_goal(images)
    other = plain.tracker(distinct).encode_goal(images)
    assert one.present.any()
    np.testing.assert_array_equal(one.present, other.present)
    expected = (other.what - weights.what_mean) @ weights.what_basis
    np.testing.assert_allclose(one.what[one.present], expected[one.present], atol=1e-5)


def rewrite(path, arrays=None, version=FORMAT, **changes):
    """Write the file again with other arrays or another header, hash included."""
    found, header = read_tensors(path, KIND, FORMAT)
    write_tensors(path, KIND, version, found if arrays is None else arrays, {**header, **changes})


def test_wrong_shapes_are_named(path):
    arrays = load_file(path)
    name = next(n for n in sorted(arrays) if n.startswith("model/") and arrays[n].ndim == 2)
    rewrite(path, {**arrays, name: arrays[name][:1]})
    with pytest.raises(DamagedFile, match="does not fit its own settings"):
        load_weights(path)


def test_a_missing_tensor_is_named(path):
    arrays = load_file(path)
    arrays.pop(next(n for n in sorted(arrays) if n.startswith("model/")))
    rewrite(path, arrays)
    with pytest.raises(DamagedFile, match="does not fit its own settings: tensor"):
        load_weights(path)


def test_unknown_settings_are_named(path):
    rewrite(path, config={**to_json(CONFIG), "slot": 5})
    with pytest.raises(InvalidInput, match="Did you mean 'slots'"):
        load_weights(path)


def test_another_format_is_refused(path):
    rewrite(path, version=7)
    with pytest.raises(DamagedFile, match="format 7"):
        load_weights(path)


def test_a_changed_byte_is_noticed(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match="recorded hash"):
        load_weights(path)


@pytest.mark.parametrize("size", [0, 5, 100, -200])
def test_a_cut_file_is_noticed(path, size):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DamagedFile, match="cut short or no weights"):
        load_weights(path)


def test_foreign_files_are_refused(tmp_path):
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(DamagedFile, match="no readable header of scalor"):
        load_weights(foreign)


def test_runs_and_names_are_found(path, tmp_path):
    assert load_perception(path.parent).threshold == 0.37
    assert load_perception(str(path)).threshold == 0.37
    with pytest.raises(InvalidInput, match="is not a run"):
        load_perception(tmp_path)
    with pytest.raises(InvalidInput, match="nothing of that name"):
        load_perception(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="come with the package"):
        load_perception("shipped:nothing")


def test_a_perception_is_kept_as_the_bytes_it_has(path, tmp_path):
    kept = keep_perception(path.parent, tmp_path / "own.safetensors")
    assert (tmp_path / "own.safetensors").read_bytes() == path.read_bytes()
    assert kept.digest == load_weights(path).digest
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFile):
        keep_perception(path, tmp_path / "damaged.safetensors")
    assert not (tmp_path / "damaged.safetensors").exists()


def test_what_holds_something_else_is_refused(tmp_path):
    write_tensors(tmp_path / "other", "vae", 1, {"a": np.zeros(3, np.float32)}, {})
    with pytest.raises(DamagedFile, match="it holds 'vae'"):
        read_perception(tmp_path / "other")
