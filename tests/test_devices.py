"""Devices by name: what is refused, before anything is written, and what crosses between them."""

import numpy as np
import pytest
import torch

import smorl
from smorl import devices
from smorl.cli import main
from smorl.config import to_json
from smorl.devices import check_device, normal, to_array, to_tensor, uniform
from smorl.errors import InvalidInput, RunConflict
from smorl.learners import compiled
from smorl.library import make_config
from smorl.presets import get_preset
from smorl.runs.folder import RunDir


@pytest.fixture
def only_cpu(monkeypatch):
    monkeypatch.setattr(devices, "_available", lambda name: name == "cpu")


def test_a_device_that_is_not_there_is_refused_with_a_remedy(only_cpu):
    check_device("cpu")
    for name, kind in (("cuda", "NVIDIA or AMD"), ("mps", "Apple")):
        with pytest.raises(InvalidInput, match=f"device {name} needs an {kind} GPU.*--device cpu"):
            check_device(name)
    with pytest.raises(InvalidInput, match=r"'cudo' is unknown. Did you mean 'cuda'.*cpu, cuda"):
        check_device("cudo")


@pytest.mark.parametrize(
    "words",
    [
        ["train", "debug"],
        ["train", "debug-visual"],
        ["perception", "train", "debug-scalor"],
    ],
)
def test_nothing_is_written_for_a_device_that_is_not_there(words, only_cpu, tmp_path, capsys):
    out = tmp_path / "runs" / "one"
    assert main([*words, "--device", "cuda", "--out", str(out), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "device cuda needs an NVIDIA or AMD GPU" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    assert main([*words, "--device", "gpu", "--out", str(out), "--quiet"]) == 2
    assert "device must be 'cpu' or 'cuda' or 'mps', got 'gpu'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "shipped:visual-rearrange-1"],
        ["perception", "evaluate", "shipped:scalor-1"],
        ["demo", "--out", "demo"],
    ],
)
def test_who_loads_networks_refuses_it_too(words, only_cpu, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--device", "mps"]) == 2
    assert "device mps needs an Apple GPU" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_library_refuses_it_too(only_cpu, tmp_path):
    for act in (
        lambda: smorl.train("debug", out=tmp_path / "run", device="cuda"),
        lambda: smorl.load("shipped:visual-rearrange-1", device="cuda"),
        lambda: smorl.train_perception("debug-scalor", out=tmp_path / "run", device="cuda"),
    ):
        with pytest.raises(InvalidInput, match="device cuda needs"):
            act()
    assert not list(tmp_path.iterdir())


def test_another_device_is_another_setting_of_a_run(tmp_path, monkeypatch):
    config = to_json(make_config("debug", None, {}))
    assert config["device"] == "cpu"
    with RunDir.open(tmp_path / "run", config, "smorl train debug") as begun:
        (begun.path / "metrics.jsonl").write_text("{}\n")  # so that it is not withdrawn
    monkeypatch.setattr(devices, "_available", lambda name: True)
    with pytest.raises(RunConflict, match='device: run has "cpu", asked "mps"'):
        smorl.train("debug", out=tmp_path / "run", device="mps", progress=False)


def test_perception_that_is_trained_first_goes_where_the_run_goes(tmp_path):
    from smorl.library.running import _trained_first

    config = make_config("debug-visual", None, {"device": "mps"})
    first = _trained_first(config, tmp_path)
    assert first is not None
    assert first.device == "mps"


def test_kernels_are_the_processors_alone():
    networks = get_preset("debug").build().networks
    assert compiled.knows(networks, devices.CPU)
    assert not compiled.knows(networks, torch.device("cuda"))


def test_on_the_processor_nothing_is_copied():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = to_tensor(array)
    tensor[0, 0] = 7
    assert array[0, 0] == 7
    assert to_array(tensor) is not array
    assert np.shares_memory(to_array(tensor), array)
    assert to_tensor(np.float64(3.0)).shape == ()
    assert to_tensor(np.ones((2, 3))).dtype == torch.float64
    turned = to_tensor(array.T)  # torch's kernels and ours want whole rows
    assert turned.is_contiguous()
    assert to_array(turned.requires_grad_()).tolist() == array.T.tolist()


def test_random_numbers_are_those_of_the_generator():
    like = torch.zeros(2, dtype=torch.float64)
    one, two = (torch.Generator().manual_seed(3) for _ in range(2))
    expected = torch.randn(4, 2, generator=one, dtype=torch.float64)
    assert torch.equal(normal((4, 2), two, like), expected)
    assert torch.equal(uniform((5,), two, like), torch.rand(5, generator=one))
