"""`smorl perception` end to end on the debug preset, killed and resumed."""

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
from smorl.representations.perceptions import load_perception
from smorl.runs.checkpoint import load_latest
from tests.cli.same_run import assert_same_checkpoints, assert_same_files, assert_same_results

ENV = "smorl/VisualRearrange1-v0"
# Where it only matters that a run comes to its end.
QUICK = ("--optimise.iterations", "1", "--optimise.warmup", "0", "--evaluation.episodes", "1")


def train(out, *extra):
    return main(["perception", "train", "debug-scalor", "--out", str(out), "--quiet", *extra])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished debug run."""
    out = tmp_path_factory.mktemp("run") / "debug"
    assert train(out) == 0
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A collected data set."""
    out = tmp_path_factory.mktemp("data") / "sequences"
    command = ["perception", "collect", ENV, "--episodes", "3", "--steps", "8", "--seed", "5"]
    assert main([*command, "--out", str(out), "--quiet"]) == 0
    return out


def test_a_run_makes_gradient_steps_and_describes_itself(finished):
    names = {"config.json", "versions.json", "metrics.jsonl", "evaluations.csv", "result.json"}
    assert names | {"weights.safetensors"} <= {path.name for path in finished.iterdir()}
    rows = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [2, 4, 5, 6, 8]
    assert all(np.isfinite(row["loss"]) and row["gradient"] > 0 for row in rows)
    checkpoint = load_latest(finished / "checkpoints")
    moments = [t for name, t in checkpoint.tensors.items() if name.endswith("exp_avg_sq")]
    assert moments
    assert any(t.abs().sum() > 0 for t in moments)
    table = (finished / "evaluations.csv").read_text().splitlines()
    assert table[0].startswith("attempt,iteration,objects")
    assert [row.split(",")[1] for row in table[1:]] == ["2", "5", "8"]


def test_the_data_is_removed_at_the_end_unless_it_is_wanted(finished, tmp_path):
    assert not (finished / "data").exists()
    assert train(tmp_path / "run", "--keep-data", *QUICK) == 0
    assert (tmp_path / "run" / "data" / "sequences" / "images.npy").exists()


def test_the_result_says_what_was_done(finished):
    result = json.loads((finished / "result.json").read_text())
    assert {"f1", "precision", "recall", "median_error_px", "identity_accuracy"} <= set(result)
    assert result["iterations"] == 8
    assert result["attempt"] == 0
    assert {"collect", "train", "checkpoint", "fit", "evaluate"} == set(result["stages"])
    assert result["healthy"] is False
    assert "Likely remedy" in result["attempts"][0]["findings"][0]


def test_the_weights_say_how_they_were_made(finished):
    weights = load_perception(finished)
    assert weights.env == ENV
    assert weights.meta["command"].startswith("smorl perception train debug-scalor")
    images = np.zeros((2, 64, 64, 3), np.uint8)
    assert weights.tracker().encode_goal(images).what.shape[-1] == 3


def test_a_finished_run_is_not_run_again(finished, capsys):
    before = (finished / "metrics.jsonl").read_bytes()
    assert train(finished) == 0
    assert "is finished" in capsys.readouterr().err
    assert (finished / "metrics.jsonl").read_bytes() == before


def test_other_settings_for_the_same_run_are_refused(finished, capsys):
    assert train(finished, "--optimise.lr", "0.5") == 2
    assert "optimise.lr: run has" in capsys.readouterr().err


def test_evaluate_prints_json(finished, capsys):
    command = ["perception", "evaluate", str(finished), "--episodes", "1", "--seed", "7"]
    command += ["--json", "--threads", "1"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    wanted = {"f1", "precision", "recall", "median_error_px", "identity_accuracy", "arm_detected"}
    assert wanted <= set(first)
    assert (first["episodes"], first["seed"], first["env"]) == (1, 7, ENV)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert main([*command, "--env", "smorl/VisualRearrange3-v0"]) == 0
    assert json.loads(capsys.readouterr().out)["env"] == "smorl/VisualRearrange3-v0"


def test_evaluate_repeats_the_result_of_the_run(finished, capsys):
    result = json.loads((finished / "result.json").read_text())
    command = ["perception", "evaluate", str(finished), "--episodes", "2", "--json"]
    assert main([*command, "--threads", "1"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert {k: v for k, v in again.items() if k in result} == {
        k: v for k, v in result.items() if k in again
    }


def test_show_draws(finished, tmp_path):
    picture, film = tmp_path / "picture.png", tmp_path / "film.gif"
    command = ["perception", "show", str(finished), "--steps", "3", "--zoom", "1"]
    assert main([*command, "--out", str(picture), "--video", str(film)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert film.stat().st_size > 500


def test_show_imagines(finished, tmp_path, capsys):
    picture, film = tmp_path / "picture.png", tmp_path / "film.gif"
    command = ["perception", "show", str(finished), "--imagine", "2", "--episodes", "1"]
    command += ["--zoom", "1", "--out", str(picture), "--video", str(film)]
    assert main(command) == 0
    assert "Imagined 2 steps ahead: squared error" in capsys.readouterr().err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert film.stat().st_size > 500


def test_results_are_a_table_of_every_seed(finished, tmp_path, capsys):
    other, record = tmp_path / "runs" / "other", tmp_path / "record"
    shutil.copytree(finished, other)
    for name, change in (("config.json", {"seed": 1}), ("result.json", {"f1": 0.5})):
        text = json.loads((other / name).read_text()) | change
        (other / name).write_text(json.dumps(text))
    command = ["perception", "results", str(finished), str(other.parent)]
    assert main([*command, "--keep", str(record)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 4, "a head, a line, and two runs"
    assert "| VisualRearrange1 | 1 | 0.500 |" in table[-1]
    assert not (record / "other" / "weights.safetensors").exists()
    assert json.loads((record / "other" / "result.json").read_text())["f1"] == 0.5
    assert main(["perception", "results", str(record)]) == 0, "kept results are results too"
    assert capsys.readouterr().out.splitlines()[-1] == table[-1]
    assert main(["perception", "results", str(tmp_path / "nowhere")]) == 2
    assert "no finished perception run" in capsys.readouterr().err


def test_collected_data_can_be_given(data, tmp_path, capsys):
    out = tmp_path / "run"
    assert train(out, "--data", str(data), *QUICK) == 0
    config = json.loads((out / "config.json").read_text())
    assert (config["data"]["episodes"], config["data"]["steps"]) == (3, 8)
    assert (data / "images.npy").exists(), "data that was given is not ours to remove"
    assert not (out / "data").exists()
    capsys.readouterr()
    args = ["--data", str(data), "--env", "smorl/VisualRearrange2-v0"]
    assert train(tmp_path / "other", *args) == 2
    assert "was collected in smorl/VisualRearrange1-v0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "Did you mean 'train'"),
        (["train"], "name a preset first"),
        (["train", "scaler-2"], "Did you mean 'scalor-2'"),
        (["train", "debug-scalor", "--optimise.lrr", "1"], "Did you mean 'optimise.lr'"),
        (["train", "debug-scalor", "--optimise.lr", "-1"], "optimise.lr = -1.0"),
        (["train", "debug-scalor", "--optimise.lr"], "needs a value"),
        (["train", "debug-scalor", "--env", "smorl/Rearrange2-v0"], "shows no pictures"),
        (["train", "debug-scalor", "--data", "nowhere"], "nowhere"),
        (["collect", "smorl/Rearange2-v0", "--out", "x"], "unknown environment"),
        (["collect", ENV, "--episodes", "0", "--out", "x"], "--episodes 0"),
        (["evaluate", "nowhere"], "is not a run"),
        (["evaluate", "shipped:nothing"], "come with the package"),
        (["evaluate", "shipped:nothing", "--episodes", "0"], "--episodes 0"),
        (["show", "nowhere", "--out", "a.png"], "is not a run"),
        (["show", "nowhere"], "is not a run"),
        (["show", "nowhere", "--out", "a.png", "--imagine", "0"], "--imagine 0"),
        (["show", "nowhere", "--out", "a.jpg"], ".png"),
    ],
)
def test_mistakes_get_one_clear_sentence(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["perception", *args]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_help_teaches(capsys):
    assert main(["perception"]) == 0
    assert "smorl perception train scalor-2" in capsys.readouterr().out
    assert main(["perception", "train", "--help"]) == 0
    assert "paper-scalor-2" in capsys.readouterr().out
    assert main(["perception", "train", "debug-scalor", "--help"]) == 0
    assert "--optimise.iterations 8" in capsys.readouterr().out


LONGER = ("--checkpoint_minutes", "0")  # a checkpoint after each of 8 iterations


def run_and_signal(out, checkpoints: int, how: int) -> int:
    """Start a run in a process of its own and signal it after some checkpoints."""
    command = [sys.executable, "-m", "smorl", "perception", "train", "debug-scalor", "--quiet"]
    process = subprocess.Popen(
        [*command, "--out", str(out), *LONGER],
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
    process.communicate(timeout=60)
    return process.returncode


def assert_same_run(a, b):
    assert_same_files(a, b, "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(a, b)
    one, two = load_perception(a), load_perception(b)
    for name, tensor in one.model.state_dict().items():
        assert tensor.equal(two.model.state_dict()[name]), name
    assert one.threshold == two.threshold
    assert_same_results(a, b, "seconds", "stages")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that the interrupted ones must equal."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(out, *LONGER) == 0
    return out


@pytest.mark.parametrize(
    ("after", "how"),
    [
        (3, signal.SIGKILL),
        (2, signal.SIGINT),
        pytest.param(5, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param(4, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_equals_uninterrupted(after, how, whole, tmp_path):
    code = run_and_signal(tmp_path / "cut", after, how)
    assert code in ((-signal.SIGKILL,) if how == signal.SIGKILL else (130,))
    assert not (tmp_path / "cut" / "result.json").exists()
    assert train(tmp_path / "cut", *LONGER) == 0
    assert_same_run(whole, tmp_path / "cut")


def test_killed_while_collecting_starts_again(whole, tmp_path):
    cut = tmp_path / "cut"
    cut.mkdir()
    for name in ("config.json", "versions.json"):
        (cut / name).write_bytes((whole / name).read_bytes())
    (cut / "metrics.jsonl").write_text('{"half a row')
    (cut / "data" / ".tmp-sequences-123").mkdir(parents=True)
    (cut / "data" / ".tmp-sequences-123" / "images.npy").write_bytes(b"half")
    assert train(cut, *LONGER) == 0
    assert_same_run(whole, cut)


def test_stopped_while_collecting_starts_again(tmp_path, capsys, monkeypatch):
    from smorl.representations.scalor.training import data

    def interrupted(*args, progress, **options):
        os.kill(os.getpid(), signal.SIGINT)
        progress(1, 4)
        raise AssertionError("the collection goes on")

    monkeypatch.setattr(data, "obtain_sequences", interrupted)
    assert train(tmp_path / "run", *QUICK) == 130
    assert "The same command resumes" in capsys.readouterr().err
    monkeypatch.undo()
    assert train(tmp_path / "run", *QUICK) == 0


def test_a_damaged_checkpoint_is_named_and_the_previous_one_used(whole, tmp_path, capsys):
    out = shutil.copytree(whole, tmp_path / "run")
    (out / "result.json").unlink()
    newest = sorted((out / "checkpoints").iterdir())[-1]
    data = bytearray((newest / "tensors.safetensors").read_bytes())
    data[-3] ^= 0xFF
    (newest / "tensors.safetensors").write_bytes(data)
    capsys.readouterr()
    command = ["perception", "train", "debug-scalor", "--out", str(out), *LONGER]
    assert main(command) == 0
    error = capsys.readouterr().err
    assert newest.name in error
    assert "tensors.safetensors" in error
    assert "resumed at iteration 7" in error
    assert_same_run(whole, out)


def test_resuming_with_other_data_is_refused(tmp_path, capsys):
    out, folders = tmp_path / "run", []
    for seed in ("1", "2"):
        folders.append(str(tmp_path / seed))
        command = ["perception", "collect", ENV, "--episodes", "3", "--steps", "8"]
        assert main([*command, "--seed", seed, "--out", folders[-1], "--quiet"]) == 0
    assert train(out, "--data", folders[0], *QUICK) == 0
    (out / "result.json").unlink()
    capsys.readouterr()
    assert train(out, "--data", folders[1], *QUICK) == 2
    assert "was started with other data" in capsys.readouterr().err


def test_a_model_that_finds_nothing_is_restarted(tmp_path, capsys):
    out = tmp_path / "run"
    # A presence that starts, and stays, at "absent": the background takes everything.
    args = ["--scalor.presence_bias", "-5", "--optimise.lr", "1e-6", "--restarts", "2"]
    assert main(["perception", "train", "debug-scalor", "--out", str(out), *args]) == 0
    error = capsys.readouterr().err
    assert error.count("Training starts again with another seed") == 2
    result = json.loads((out / "result.json").read_text())
    assert result["attempt"] == 2
    assert [entry["iteration"] for entry in result["attempts"]] == [2, 2, 8]
    assert not result["healthy"]
    losses = {
        row["attempt"]: row["loss"]
        for row in map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
        if row["iteration"] == 2
    }
    assert len(set(losses.values())) == 3, "every attempt starts from other weights"


class Cut(Exception):
    """Ends a run as a kill would."""


def test_a_restarted_run_resumes_in_its_later_attempt(tmp_path, monkeypatch):
    from smorl.representations.scalor.training.loop import ScalorTrainer

    args = ["--scalor.presence_bias", "-5", "--optimise.lr", "1e-6", "--restarts", "1"]
    args += ["--checkpoint_minutes", "0", "--optimise.iterations", "5"]
    assert train(tmp_path / "whole", *args) == 0
    advance = ScalorTrainer._advance

    def cut(self):
        if (self.state.attempt, self.state.iteration) == (1, 3):
            raise Cut
        advance(self)

    monkeypatch.setattr(ScalorTrainer, "_advance", cut)
    with pytest.raises(Cut):
        train(tmp_path / "cut", *args)
    monkeypatch.undo()
    assert train(tmp_path / "cut", *args) == 0
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def poison(monkeypatch, times: int):
    """Make the ELBO NaN once per attempt, in the first `times` attempts."""
    from smorl.representations.scalor.model.scalor import Scalor

    original, models = Scalor.elbo, []

    def poisoned(self, *args):
        terms = original(self, *args)
        if not any(self is model for model in models):
            models.append(self)
        spoilt = len(models) <= times
        return {**terms, "loss": terms["loss"] * float("nan")} if spoilt else terms

    monkeypatch.setattr(Scalor, "elbo", poisoned)


def test_nan_restarts_and_then_stops_with_the_state_saved(tmp_path, capsys, monkeypatch):
    poison(monkeypatch, times=9)
    assert train(tmp_path / "run", "--restarts", "1") == 2
    error = capsys.readouterr().err
    assert "diverged at iteration 0" in error
    assert "loss" in error
    assert "2 attempts" in error
    assert list((tmp_path / "run" / "diverged").iterdir())


def test_after_nan_another_attempt_can_succeed(tmp_path, monkeypatch):
    poison(monkeypatch, times=1)
    assert train(tmp_path / "run", "--restarts", "1") == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["attempt"] == 1
    assert "NaN" in result["attempts"][0]["findings"][0]


def test_a_persons_own_video_needs_no_truth(tmp_path, capsys):
    frames = np.random.default_rng(0).integers(0, 255, (14, 40, 60, 3), np.uint8)
    np.savez(tmp_path / "video.npz", images=frames)
    out = tmp_path / "run"
    command = ["perception", "train", "debug-scalor", "--quiet", "--out", str(out)]
    assert main([*command, "--video", str(tmp_path / "video.npz"), *QUICK]) == 0
    captured = capsys.readouterr()
    assert "nobody knows the truth of these pictures" in captured.err
    result = json.loads(captured.out)
    assert result["f1"] is None
    assert result["reconstruction_mse"] >= 0
    assert json.loads((out / "config.json").read_text())["env"] == "video"
    assert main([*command, "--video", "nowhere.mp4", "--data", "x"]) == 2
    assert "not both" in capsys.readouterr().err
