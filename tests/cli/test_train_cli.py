"""The command line end to end on the debug preset, killed and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from smorl.cli import main
from smorl.runs.checkpoint import load_latest
from tests.cli.same_run import assert_same_checkpoints, assert_same_files


def train(out, *extra):
    return main(["train", "debug", "--out", str(out), "--quiet", *extra])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished debug run."""
    out = tmp_path_factory.mktemp("run") / "debug"
    assert train(out) == 0
    return out


def test_a_run_makes_gradient_steps_and_describes_itself(finished):
    names = {"config.json", "versions.json", "metrics.jsonl", "evaluations.csv", "result.json"}
    assert names <= {path.name for path in finished.iterdir()}
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["updates"] >= 40
    assert rows[-1]["env_steps"] == 240
    assert all(np.isfinite(row["critic/loss"]) and np.isfinite(row["policy/loss"]) for row in rows)
    checkpoint = load_latest(finished / "checkpoints")
    optimiser = [t for name, t in checkpoint.tensors.items() if "optimizer/networks" in name]
    assert any(t.abs().sum() > 0 for t in optimiser)
    table = (finished / "evaluations.csv").read_text().splitlines()
    assert table[0].startswith("env_steps,updates,object_distance")
    assert [int(row.split(",")[0]) for row in table[1:]] == [80, 160, 240]


def test_the_result_holds_every_episode(finished, capsys):
    result = json.loads((finished / "result.json").read_text())
    config = json.loads((finished / "config.json").read_text())
    assert result["first_episode_seed"] == config["evaluation"]["seed"]
    assert len(result["distances"]) == len(result["passive_distances"]) == 4
    assert np.mean(result["distances"]) == pytest.approx(result["object_distance"], abs=1e-5)
    assert len((finished / "result.json").read_text().splitlines()) == len(result) + 2
    assert train(finished) == 0
    assert "distances" not in json.loads(capsys.readouterr().out)  # too long for a terminal
    assert main(["evaluate", str(finished), "--episodes", "4", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for name in ("first_episode_seed", "distances", "passive_distances"):
        assert again[name] == result[name]
    header = (finished / "evaluations.csv").read_text().splitlines()[0]
    assert not {"distances", "passive_distances", "first_episode_seed"} & set(header.split(","))


def test_a_finished_run_is_not_run_again(finished, capsys):
    before = (finished / "metrics.jsonl").read_bytes()
    assert train(finished) == 0
    assert "is finished" in capsys.readouterr().err
    assert (finished / "metrics.jsonl").read_bytes() == before


def test_other_settings_for_the_same_run_are_refused(finished, capsys):
    assert train(finished, "--learner.lr", "0.5") == 2
    error = capsys.readouterr().err
    assert "learner.lr: run has 0.002, asked 0.5" in error


def test_evaluate_prints_json(finished, capsys):
    assert main(["evaluate", str(finished), "--episodes", "3", "--seed", "7", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    wanted = {"object_distance", "object_distance_std", "success", "passive_distance", "episodes"}
    assert wanted <= set(first)
    assert first["episodes"] == 3
    main(["evaluate", str(finished), "--episodes", "3", "--seed", "7", "--json"])
    assert json.loads(capsys.readouterr().out) == first


def test_evaluate_with_another_number_of_pucks(finished, capsys):
    args = ["evaluate", str(finished), "--episodes", "2", "--json", "--env"]
    assert main([*args, "smorl/Rearrange1-v0"]) == 0
    assert json.loads(capsys.readouterr().out)["env"] == "smorl/Rearrange1-v0"
    assert main([*args, "smorl/Rearrange3-v0"]) == 2
    assert "2 pucks and cannot play with 3" in capsys.readouterr().err


def test_evaluate_with_other_settings_of_how_it_plays(finished, capsys):
    words = ["evaluate", str(finished), "--episodes", "3", "--seed", "7"]

    def played(*settings):
        assert main([*words, "--json", *settings]) == 0
        return json.loads(capsys.readouterr().out)

    plain, short = played(), played("--evaluation.subgoals.attempts", "1")
    assert short["mean_length"] <= 3 < plain["mean_length"]
    assert short["evaluation.subgoals.attempts"] == "1"
    assert played("--planning.samples", "4")["distances"] == plain["distances"]  # what it has
    assert main([*words, "--planning.samples=8", "--planning.horizon", "1"]) == 0
    assert "planning.samples" in capsys.readouterr().out
    for settings, message in [
        (["--learner.lr", "1"], "--learner.lr 1 is not about how an agent plays"),
        (["--planning.sample", "8"], "Did you mean 'planning.samples'"),
        (["--planning.samples", "1"], "planning.samples = 1"),
    ]:
        assert main([*words, *settings]) == 2
        assert message in capsys.readouterr().err


def test_evaluate_films(finished, tmp_path):
    film = tmp_path / "film.gif"
    args = ["evaluate", str(finished), "--episodes", "1", "--films", "1", "--video", str(film)]
    assert main(args) == 0
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train", "gt-rearange-2"], "Did you mean 'gt-rearrange-2'"),
        (["train", "debug", "--learner.lrr", "1"], "Did you mean 'learner.lr'"),
        (["train", "debug", "--learner.lr", "fast"], "learner.lr"),
        (["train", "debug", "--learner.lr"], "needs a value"),
        (["train", "debug", "--learner.lr", "-1"], "learner.lr = -1.0"),
        (["train", "debug", "--env", "smorl/Rearange2-v0"], "Did you mean 'smorl/Rearrange2-v0'"),
        (["train", "debug", "--env", "smorl/VisualRearrange2-v0"], "state observations"),
        (["train", "debug", "--collect.replay_steps", "3"], "at least one episode"),
        (["evaluate", "nowhere"], "is not a run"),
        (["presets", "debgu"], "Did you mean 'debug'"),
        (["curves", "nowhere"], "no runs"),
        (["tran"], "Did you mean 'train'"),
    ],
)
def test_mistakes_get_one_clear_sentence(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_help_answers_at_once_and_teaches(capsys):
    assert main(["--help"]) == 0
    assert "smorl train visual-rearrange-1" in capsys.readouterr().out
    assert main(["train", "debug", "--help"]) == 0
    assert "--learner.lr 0.002" in capsys.readouterr().out
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "smorl", "--help"], check=True, capture_output=True)
    assert time.monotonic() - start < 5  # well under a second alone; CI machines are noisy


def test_heavy_imports_wait_for_their_verb():
    code = "import sys, smorl.cli; smorl.cli.main(['--help']); print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip().endswith("False")


def run_and_kill(out, checkpoints: int, how: int) -> int:
    """Start a run in a process of its own and signal it after some checkpoints."""
    command = [sys.executable, "-m", "smorl", "train", "debug", "--out", str(out), "--quiet"]
    process = subprocess.Popen(
        [*command, "--checkpoint_minutes", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    seen: set[str] = set()
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if (out / "checkpoints").is_dir():
            seen |= {p.name for p in (out / "checkpoints").iterdir() if p.name.isdigit()}
        if len(seen) >= checkpoints:
            process.send_signal(how)
            break
        time.sleep(0.002)
    process.wait(timeout=60)
    return process.returncode


def assert_same_run(a, b):
    assert_same_files(a, b, "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(a, b)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that the interrupted ones must equal, with a checkpoint after every round."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(out, "--checkpoint_minutes", "0") == 0
    return out


KILLS = [(1, signal.SIGKILL), (2, signal.SIGINT)]
MORE_KILLS = [(n, s) for n in (1, 2, 3) for s in (signal.SIGKILL, signal.SIGTERM)]


@pytest.mark.parametrize(
    ("after", "how"), [*KILLS, *(pytest.param(*k, marks=pytest.mark.slow) for k in MORE_KILLS)]
)
def test_killed_and_resumed_equals_uninterrupted(after, how, whole, tmp_path):
    code = run_and_kill(tmp_path / "cut", after, how)
    assert code in ((-signal.SIGKILL,) if how == signal.SIGKILL else (130,))
    assert not (tmp_path / "cut" / "result.json").exists()
    assert train(tmp_path / "cut", "--checkpoint_minutes", "0") == 0
    assert_same_run(whole, tmp_path / "cut")


def test_killed_before_the_first_checkpoint_starts_again(finished, tmp_path):
    (tmp_path / "cut").mkdir()
    for name in ("config.json", "versions.json"):
        (tmp_path / "cut" / name).write_bytes((finished / name).read_bytes())
    (tmp_path / "cut" / "metrics.jsonl").write_text('{"half a row')
    assert train(tmp_path / "cut") == 0
    assert_same_run(finished, tmp_path / "cut")


def test_a_damaged_checkpoint_is_named_and_the_previous_one_used(whole, tmp_path, capsys):
    out = shutil.copytree(whole, tmp_path / "run")
    (out / "result.json").unlink()
    newest = sorted((out / "checkpoints").iterdir())[-1]
    data = bytearray((newest / "tensors.safetensors").read_bytes())
    data[-3] ^= 0xFF
    (newest / "tensors.safetensors").write_bytes(data)
    capsys.readouterr()
    args = ["train", "debug", "--out", str(out), "--checkpoint_minutes", "0"]
    assert main(args) == 0
    error = capsys.readouterr().err
    assert newest.name in error
    assert "tensors.safetensors" in error
    assert "resumed at step 160" in error
    assert_same_run(whole, out)


def test_nan_stops_the_run_with_its_state_saved(tmp_path, capsys, monkeypatch):
    from smorl.learners.sac import Sac

    original = Sac.update

    def poisoned(self, batch, noise):
        info = original(self, batch, noise)
        info["critic/loss"] = info["critic/loss"] * float("nan")
        return info

    monkeypatch.setattr(Sac, "update", poisoned)
    assert train(tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert "diverged at step" in error
    assert "critic/loss" in error
    assert list((tmp_path / "run" / "diverged").iterdir())


def test_curves_are_drawn_from_runs(finished, tmp_path):
    out = tmp_path / "curves.png"
    assert main(["curves", str(finished), "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
