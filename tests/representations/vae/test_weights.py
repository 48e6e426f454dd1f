"""The VAE's file: exact round trip, and one clear sentence for every kind of wrong file."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from smorl.config import to_json
from smorl.errors import CannotWrite, DamagedFile, InvalidInput
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.weights import VaeWeights, load_vae, save_vae
from smorl.runs.tensor_file import write_tensors
from tests.representations.vae.small import SMALL, dots


@pytest.fixture
def path(tmp_path):
    weights = VaeWeights(BetaVae(SMALL, seed=5), {"env": "smorl/VisualPush1-v0", "seed": 5})
    return save_vae(tmp_path / "vae.safetensors", weights)


def arrays_of(path):
    return load_file(path)


def write(path, arrays, config=None, kind="vae", version=1, **header):
    """Write a file with a right hash and whatever else is asked for."""
    content = {"config": to_json(SMALL) if config is None else config, "meta": {}, **header}
    write_tensors(path, kind, version, arrays, content)


def test_round_trip_is_exact(path):
    loaded, model = load_vae(path), BetaVae(SMALL, seed=5)
    assert loaded.model.config == SMALL
    assert loaded.meta == {"env": "smorl/VisualPush1-v0", "seed": 5}
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.model.state_dict()[name]), name
    images = dots(3)
    expected = VaeWeights(model).encoder().encode(images)
    np.testing.assert_array_equal(loaded.encoder().encode(images), expected)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_changed_byte_is_noticed(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match="recorded hash"):
        load_vae(path)


def test_changed_settings_are_noticed(path):
    data = path.read_bytes()
    # The header is JSON within JSON within JSON: quotes are escaped twice.
    assert data.count(b'variance\\\\\\": 0.5') == 1
    path.write_bytes(data.replace(b'variance\\\\\\": 0.5', b'variance\\\\\\": 0.7'))
    with pytest.raises(DamagedFile, match="recorded hash"):
        load_vae(path)


@pytest.mark.parametrize("size", [0, 5, 100, -200])
def test_a_cut_file_is_noticed(path, size):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DamagedFile, match="cut short or no weights"):
        load_vae(path)


def test_missing_and_foreign_files_are_refused(path, tmp_path):
    with pytest.raises(DamagedFile, match="cannot be read"):
        load_vae(tmp_path / "nowhere.safetensors")
    foreign = tmp_path / "foreign.safetensors"
    for metadata in (None, {"smorl": "[]"}, {"smorl": json.dumps({"kind": "vae"})}):
        save_file({"a": np.zeros(3)}, foreign, metadata)
        with pytest.raises(DamagedFile, match="no readable header of vae"):
            load_vae(foreign)


def test_other_kinds_and_formats_are_refused(path):
    arrays = arrays_of(path)
    write(path, arrays, kind="scalor")
    with pytest.raises(DamagedFile, match="holds 'scalor' of format 1"):
        load_vae(path)
    write(path, arrays, version=2)
    with pytest.raises(DamagedFile, match="format 2"):
        load_vae(path)


def test_tensors_must_fit_the_settings(path):
    arrays = arrays_of(path)
    write(path, {**arrays, "mean.weight": arrays["mean.weight"][:1]})
    with pytest.raises(DamagedFile, match=r"'mean.weight' has shape \(1, 16\), not \(3, 16\)"):
        load_vae(path)
    write(path, {k: v for k, v in arrays.items() if k != "spread.bias"})
    with pytest.raises(DamagedFile, match=r"tensor 'spread.bias'"):
        load_vae(path)
    write(path, {**arrays, "extra": np.zeros(2, np.float32)})
    with pytest.raises(DamagedFile, match="tensor 'extra'"):
        load_vae(path)
    write(path, {**arrays, "mean.bias": np.full(3, np.nan, np.float32)})
    with pytest.raises(DamagedFile, match=r"'mean.bias' holds values that are not finite"):
        load_vae(path)


def test_unknown_settings_are_named(path):
    write(path, arrays_of(path), config={**to_json(SMALL), "latents": 5})
    with pytest.raises(InvalidInput, match="Did you mean 'latent'"):
        load_vae(path)


def test_an_unwritable_place_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="Cannot write"):
        save_vae(tmp_path / "file" / "vae.safetensors", VaeWeights(BetaVae(SMALL)))
