"""From pixels, end to end on the debug preset: every stage, killed and resumed in each."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.cli import main
from smorl.presets.perception import debug
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.weights import PerceptionWeights, load_weights, save_weights
from smorl.runs.checkpoint import load_latest
from smorl.trained.loading import load_run
from tests.cli.same_run import assert_same_checkpoints, assert_same_files, assert_same_results

OPTIONS = ("--quiet", "--checkpoint_minutes", "0")


def train(out, *extra):
    return main(["train", "debug-visual", "--out", str(out), *OPTIONS, *extra])


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(out) == 0
    return out


@pytest.fixture(scope="module")
def sharp(tmp_path_factory):
    """An untrained perception that finds something everywhere; the trained one finds nothing."""
    config = replace(debug().scalor, presence_bias=3.0, mask_bias=2.0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = Scalor(config, 2, background=np.full((64, 64, 3), 0.3, np.float32))
    weights = PerceptionWeights(
        config,
        model,
        what_mean=np.zeros(config.what, np.float32),
        what_basis=np.eye(config.what, dtype=np.float32),
        prior={"low": -np.ones(2, np.float32), "high": np.ones(2, np.float32)},
        threshold=0.5,
        meta={"env": "smorl/VisualRearrange1-v0", "seed": 3},
    )
    return save_weights(tmp_path_factory.mktemp("sharp") / "weights.safetensors", weights)


@pytest.fixture(scope="module")
def seeing(sharp, tmp_path_factory):
    """A run with a perception that was given."""
    out = tmp_path_factory.mktemp("seeing") / "run"
    assert train(out, "--perception", str(sharp)) == 0
    return out


def test_every_stage_makes_gradient_steps(whole):
    first, then = rows(whole / "perception" / "metrics.jsonl"), rows(whole / "metrics.jsonl")
    assert first[-1]["iteration"] == 8
    assert all(row["gradient"] > 0 and np.isfinite(row["loss"]) for row in first)
    assert then[-1]["updates"] >= 40
    assert then[-1]["env_steps"] == 240
    assert all(np.isfinite(row["critic/loss"]) for row in then)
    for path, moment in ((whole / "perception", "exp_avg_sq"), (whole, "optimizer/networks")):
        tensors = load_latest(path / "checkpoints").tensors
        assert any(t.abs().sum() > 0 for name, t in tensors.items() if moment in name), path
    assert json.loads((whole / "perception" / "result.json").read_text())["iterations"] == 8
    assert not (whole / "perception" / "data").exists()


def test_the_run_keeps_the_perception_it_was_trained_with(whole):
    own = load_weights(whole / "perception.safetensors")
    made = load_weights(whole / "perception" / "weights.safetensors")
    assert all(a.equal(b) for a, b in zip(
        own.model.state_dict().values(), made.model.state_dict().values(), strict=True
    ))  # fmt: skip
    assert own.threshold == made.threshold
    assert own.meta == made.meta


def test_where_nothing_is_detected_every_episode_is_passive(whole):
    result = json.loads((whole / "result.json").read_text())
    assert result["goals_detected"] == result["goals_matched"] == result["false_solved"] == 0
    assert result["mean_length"] == 0
    assert result["object_distance"] == result["passive_distance"]


def test_a_given_perception_skips_the_first_stage(seeing, sharp):
    assert not (seeing / "perception").exists()
    own, given = load_weights(seeing / "perception.safetensors"), load_weights(sharp)
    for name, tensor in own.model.state_dict().items():
        assert tensor.equal(given.model.state_dict()[name]), name
    assert rows(seeing / "metrics.jsonl")[-1]["updates"] >= 40
    result = json.loads((seeing / "result.json").read_text())
    assert result["goals_detected"] > 0
    assert 0 <= result["goals_matched"] <= 1
    assert result["mean_length"] > 0


def test_a_finished_run_does_not_need_what_it_was_made_from(seeing, sharp, tmp_path, capsys):
    out, moved = tmp_path / "run", tmp_path / "moved.safetensors"
    shutil.copyfile(sharp, moved)
    assert train(out, "--perception", str(moved), "--collect.total_steps", "80") == 0
    (out / "result.json").unlink()
    moved.unlink()
    assert train(out, "--perception", str(moved), "--collect.total_steps", "80") == 0
    capsys.readouterr()
    assert main(["evaluate", str(out), "--episodes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["goals_detected"] > 0


def test_evaluate_with_another_number_of_pucks(seeing, capsys):
    other = "smorl/VisualRearrange3-v0"
    command = ["evaluate", str(seeing), "--episodes", "2", "--seed", "7", "--json"]
    assert main([*command, "--env", other]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["env"] == other
    assert main([*command, "--env", other]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert main([*command, "--env", "smorl/Rearrange1-v0"]) == 2
    assert "this method needs images" in capsys.readouterr().err


@pytest.mark.parametrize(("env", "attempts"), [(None, 3), ("Push2", 5), ("Rearrange3", 7)])
def test_attempts_follow_the_pucks_not_the_slots(seeing, env, attempts):
    name = None if env is None else f"smorl/Visual{env}-v0"
    run = load_run(seeing, name)
    assert run.actor().config.attempts == attempts


def test_evaluate_films_what_the_agent_sees(seeing, whole, tmp_path):
    for run in (seeing, whole):  # the latter finds nothing in the goal image
        film = tmp_path / f"{run.parent.name}.gif"
        command = ["evaluate", str(run), "--episodes", "1", "--films", "1", "--video", str(film)]
        assert main(command) == 0
        assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--perception", "scaler-1"], "Did you mean 'scalor-1'"),
        (["--perception", "nowhere/run"], "neither a preset nor a run"),
        (["--perception", "shipped:nothing"], "come with the package"),
        (["--perception", "shipped"], "debug-scalor"),
        (["--perception", "null"], "needs a perception"),
        (["--env", "smorl/Rearrange1-v0"], "this method needs images"),
        (["--env", "smorl/VisualRearange1-v0"], "Did you mean 'smorl/VisualRearrange1-v0'"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(args, message, tmp_path, capsys):
    assert train(tmp_path / "run", *args) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_perception_for_a_method_without_eyes_is_refused(tmp_path, capsys):
    command = ["train", "debug", "--out", str(tmp_path / "run"), "--perception", "scalor-1"]
    assert main(command) == 2
    assert "sees no pixels" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_damaged_perception_gets_one_sentence(seeing, sharp, tmp_path, capsys):
    out, given = tmp_path / "run", tmp_path / "given.safetensors"
    shutil.copytree(seeing, out)
    data = bytearray(sharp.read_bytes())
    data[-3] ^= 0xFF
    given.write_bytes(data)
    (out / "perception.safetensors").write_bytes(data)
    (out / "result.json").unlink()
    for command in (
        ["train", "debug-visual", "--out", str(out), *OPTIONS, "--perception", str(sharp)],
        ["train", "debug-visual", "--out", str(tmp_path / "new"), "--perception", str(given)],
        ["evaluate", str(out), "--episodes", "1"],
    ):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert "does not match its recorded hash" in error
        assert len(error.splitlines()) == 1
    assert not (tmp_path / "new").exists()


# Signals its own process when a stage is about to save its checkpoint number sys.argv[2] + 1: rows
# of metrics are ahead of the last checkpoint then, and no other process has to be quick.
SIGNALLED = """
import os, sys
from smorl.cli import main
from smorl.runs import resumable

stage, after, how = sys.argv[1], *map(int, sys.argv[2:4])
save, saved = resumable.save_checkpoint, []

def signalled(folder, *args, **options):
    if ("perception" in folder.parts) != (stage == "perception"):
        return save(folder, *args, **options)
    if len(saved) == after:
        os.kill(os.getpid(), how)
    saved.append(save(folder, *args, **options))
    return saved[-1]

resumable.save_checkpoint = signalled
sys.exit(main(sys.argv[4:]))
"""


def run_and_signal(out, stage: str, checkpoints: int, how: int) -> int:
    """Run in a process of its own, signalled after some checkpoints of a stage."""
    command = ["train", "debug-visual", "--out", str(out), *OPTIONS]
    process = subprocess.run(
        [sys.executable, "-c", SIGNALLED, stage, str(checkpoints), str(int(how)), *command],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return process.returncode


def assert_same_run(a, b):
    assert_same_files(a, b, "metrics.jsonl", "evaluations.csv", "perception/metrics.jsonl")
    assert_same_files(a, b, "perception.safetensors", "perception/weights.safetensors")
    for stage in ("perception", "."):
        assert_same_checkpoints(a / stage, b / stage)
    assert_same_results(a, b, "seconds")


@pytest.mark.parametrize(
    ("stage", "after", "how"),
    [
        ("perception", 3, signal.SIGKILL),
        (".", 1, signal.SIGKILL),
        pytest.param("perception", 2, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("perception", 6, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param(".", 2, signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(".", 2, signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_killed_in_a_stage_and_resumed_equals_uninterrupted(stage, after, how, whole, tmp_path):
    cut = tmp_path / "cut"
    code = run_and_signal(cut, stage, after, how)
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert not (cut / "result.json").exists()
    assert (cut / "perception.safetensors").exists() == (stage == ".")
    assert train(cut) == 0
    assert_same_run(whole, cut)


def test_killed_between_the_stages_goes_on_with_the_second(whole, tmp_path):
    cut = tmp_path / "cut"
    shutil.copytree(whole / "perception", cut / "perception")
    for name in ("config.json", "versions.json"):
        shutil.copyfile(whole / name, cut / name)
    before = (cut / "perception" / "versions.json").read_bytes()
    (cut / "perception" / "data" / "sequences").mkdir(parents=True)
    (cut / ".tmp-perception.safetensors-123").write_bytes(b"half")
    assert train(cut) == 0
    assert_same_run(whole, cut)
    assert (cut / "perception" / "versions.json").read_bytes() == before, "not trained again"
    assert not (cut / "perception" / "data").exists()
    assert not list(cut.glob(".tmp-*"))
