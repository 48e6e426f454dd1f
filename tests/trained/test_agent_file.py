"""One file per agent: it acts as its run does, says what is wrong with it, and is small."""

import json

import imageio_ffmpeg
import numpy as np
import pytest
import torch
from PIL import Image

from smorl import shipped
from smorl.cli import main, stories
from smorl.errors import DamagedFile, InvalidInput
from smorl.evaluation.evaluate import evaluate
from smorl.learners.acting import LearnedAgent
from smorl.representations.perceptions import load_perception
from smorl.representations.scalor.weights import save_weights
from smorl.runs.tensor_file import read_tensors, write_tensors
from smorl.trained.agent_file import FORMAT, KIND, export_agent, open_file
from smorl.trained.loading import load_run


def train(preset, out, *extra):
    command = ["train", preset, "--quiet", "--out", str(out), "--collect.total_steps", "120"]
    assert main([*command, *extra]) == 0
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run from pixels with a perception that comes with the package."""
    out = tmp_path_factory.mktemp("visual") / "run"
    return train("debug-visual", out, "--perception", "shipped:scalor-1")


@pytest.fixture(scope="module")
def file(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("agents") / "visual-rearrange-1.safetensors"
    export_agent(run, path)
    return path


def evaluated(capsys, name, *extra):
    capsys.readouterr()
    assert main(["evaluate", str(name), "--episodes", "2", "--json", *extra]) == 0
    summary = json.loads(capsys.readouterr().out)
    del summary["run"]
    return summary


def policy(loaded):
    assert isinstance(loaded.agent, LearnedAgent)
    return loaded.agent.learner.policy.state_dict()


def test_the_file_acts_as_the_run_does(run, file, capsys):
    assert evaluated(capsys, file) == evaluated(capsys, run)
    other = ("--env", "smorl/VisualRearrange2-v0")
    assert evaluated(capsys, file, *other) == evaluated(capsys, run, *other)


def test_a_shipped_agent_is_found_by_name(run, file):
    one = load_run("shipped:visual-rearrange-1", agents=file.parent)
    two = load_run(run)
    assert one.config == two.config
    assert one.env_steps == two.env_steps > 0
    for name, tensor in policy(one).items():
        assert tensor.equal(policy(two)[name]), name
    for (name, a), b in zip(
        one.space.prior.to_arrays().items(), two.space.prior.to_arrays().values(), strict=True
    ):
        np.testing.assert_array_equal(a, b, err_msg=name)
    with pytest.raises(InvalidInput, match="Did you mean 'visual-rearrange-1'"):
        load_run("shipped:visual-rearange-1", agents=file.parent)


def test_a_shipped_perception_is_named_not_repeated(file, run):
    arrays, header = read_tensors(file, KIND, FORMAT)
    assert header["perception"]["shipped"] == "shipped:scalor-1"
    assert not any("perception" in name or "replay" in name for name in arrays)
    assert not any("optimizer" in name or "target" in name for name in arrays)
    assert file.stat().st_size < 2e6
    assert "--out" not in header["command"]
    assert header["result"] == json.loads((run / "result.json").read_text())


def test_another_perception_travels_inside(tmp_path, capsys):
    weights = load_perception("shipped:scalor-1")
    with torch.no_grad():
        next(iter(weights.model.state_dict().values())).add_(0.01)
    given = save_weights(tmp_path / "weights.safetensors", weights)
    run = train("debug-visual", tmp_path / "run", "--perception", str(given))
    path = tmp_path / "agent.safetensors"
    assert main(["export", str(run), str(path)]) == 0
    assert "perception inside" in capsys.readouterr().out
    assert path.stat().st_size < 20e6
    given.unlink()
    assert evaluated(capsys, path) == evaluated(capsys, run)


@pytest.mark.parametrize("preset", ["debug", pytest.param("debug-rig", marks=pytest.mark.slow)])
def test_agents_without_objects_from_pixels_travel_too(preset, tmp_path, capsys):
    run = train(preset, tmp_path / "run")
    assert main(["export", str(run), str(tmp_path / "agent.safetensors")]) == 0
    assert evaluated(capsys, tmp_path / "agent.safetensors") == evaluated(capsys, run)


def test_what_is_wrong_is_said(file, run, tmp_path, capsys):
    arrays, header = read_tensors(file, KIND, FORMAT)
    bad = tmp_path / "bad.safetensors"
    write_tensors(bad, KIND, FORMAT, arrays, {**header, "config": {"method": "magic"}})
    with pytest.raises(DamagedFile, match="does not hold an agent as this smorl writes it"):
        open_file(bad)
    other = {"shipped": "shipped:scalor-1", "sha256": "0"}
    write_tensors(bad, KIND, FORMAT, arrays, {**header, "perception": other})
    with pytest.raises(DamagedFile, match="another shipped:scalor-1"):
        open_file(bad)
    with pytest.raises(DamagedFile, match="holds 'scalor'"):
        open_file(shipped.resolve("shipped:scalor-1"))
    capsys.readouterr()
    for command, message in (
        (["export", str(run), "agent.pt"], "end the name with .safetensors"),
        (["export", str(tmp_path / "nowhere"), "a.safetensors"], "is not a run"),
        (["evaluate", "shipped:nothing"], "no agents called 'shipped:nothing' come with"),
    ):
        assert main(command) == 2
        assert message in capsys.readouterr().err


def test_the_demo_plays_an_agent(file, tmp_path, capsys):
    command = ["demo", str(file), "--out", str(tmp_path), "--episodes", "2", "--films", "1"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.count("cm from the goal ->") == 2
    assert "doing nothing leaves" in out
    frames = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))[0]
    words = 12 * (5 + 3 + 5)  # seconds of the first card, of the outcome, of the last card
    assert frames == 9 + 1 + words, "every step of three attempts of three, the start, and words"
    with Image.open(tmp_path / "attention.png") as picture:
        assert picture.width > 1000


def test_what_is_filmed_is_what_was_counted(file, monkeypatch):
    """Of a film the outcome is told; it must be that of the very episode that is seen."""
    told = []
    monkeypatch.setattr(stories, "ending", lambda ends, names: (told.append(ends), ("x", True))[1])
    run = load_run(file)
    actor, envs = run.actor(), run.envs(1)
    result = evaluate(envs, actor, episodes=3, seed=11)
    envs.close()
    list(stories.story(run, actor, 11, result, 3))
    np.testing.assert_array_equal(told, result.distances[stories.choose(result, 3)])


def test_evaluate_draws_attention(file, tmp_path, capsys):
    picture = tmp_path / "attention.png"
    evaluated(capsys, file, "--attention", str(picture))
    assert picture.stat().st_size > 5000
    assert main(["evaluate", str(file), "--attention", "a.jpg"]) == 2
    assert "End the name with .png" in capsys.readouterr().err
