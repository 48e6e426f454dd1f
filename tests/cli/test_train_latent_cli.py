"""RIG and Skew-Fit end to end on their debug presets: every stage, killed and resumed in each."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from smorl.cli import main
from smorl.runs.checkpoint import load_latest
from smorl.trained.loading import load_run
from tests.cli.same_run import assert_same_checkpoints, assert_same_files, assert_same_results

OPTIONS = ("--quiet", "--checkpoint_minutes", "0")
METHODS = ("rig", "skewfit")


def train(method, out, *extra):
    return main(["train", f"debug-{method}", "--out", str(out), *OPTIONS, *extra])


def rows(path):
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs that were never interrupted, by method."""
    found = {}
    for method in METHODS:
        found[method] = tmp_path_factory.mktemp(method) / "run"
        assert train(method, found[method]) == 0
    return found


@pytest.mark.parametrize(("method", "batches"), [("rig", [110]), ("skewfit", [30, 90, 150, 210])])
def test_every_stage_makes_gradient_steps(runs, method, batches):
    found = rows(runs[method])
    seen, learned = ([r for r in found if key in r] for key in ("vae/loss", "critic/loss"))
    assert seen[-1]["vae/batches"] == batches[-1]
    assert set(batches) <= {row["vae/batches"] for row in seen}
    assert seen[0]["vae/loss"] > seen[-1]["vae/loss"]
    assert {row["env_steps"] for row in seen} == {80 + 40 * i for i in range(len(batches))}
    assert found[0]["vae/batches"] > 0, "seeing comes before learning"
    assert learned[-1]["updates"] == 50, "what the first round earned is not lost"
    assert learned[-1]["env_steps"] == 240
    tensors = load_latest(runs[method] / "checkpoints").tensors
    for name in ("optimizer/networks/0/exp_avg_sq", "optimizer/vae/0/exp_avg_sq"):
        assert tensors[name].abs().sum() > 0


@pytest.mark.parametrize("method", METHODS)
def test_evaluation_pursues_one_goal_to_the_end(runs, method):
    with (runs[method] / "evaluations.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [int(row["env_steps"]) for row in table] == [80, 160, 240]
    assert all(float(row["goals_detected"]) == 1 for row in table)
    assert all(float(row["mean_length"]) == 9 for row in table)


@pytest.mark.parametrize("method", METHODS)
def test_a_finished_run_keeps_no_pictures(runs, method):
    assert not (runs[method] / "pictures").exists()
    assert load_latest(runs[method] / "checkpoints").state["pictures"] is None


def test_goals_come_from_the_prior_or_from_replayed_pictures(runs):
    normal = load_run(runs["rig"]).space.prior.to_arrays()
    np.testing.assert_array_equal(normal["mean"], np.zeros(3))
    np.testing.assert_array_equal(normal["std"], np.ones(3))
    replayed = load_run(runs["skewfit"]).space.prior.to_arrays()
    assert replayed["latents"].shape == (60, 3)
    assert replayed["weights"].sum() == pytest.approx(1)
    assert replayed["weights"].std() > 0, "rare pictures are preferred"


@pytest.mark.parametrize("method", METHODS)
def test_evaluate_sees_through_the_same_camera(runs, method, capsys, tmp_path):
    film = tmp_path / "film.gif"
    command = ["evaluate", str(runs[method]), "--episodes", "4", "--json"]
    assert main([*command, "--films", "1", "--video", str(film)]) == 0
    found = json.loads(capsys.readouterr().out)
    result = json.loads((runs[method] / "result.json").read_text())
    assert found["object_distance"] == result["object_distance"]
    assert film.stat().st_size > 1000


def test_a_latent_agent_can_be_tried_elsewhere(runs, capsys):
    command = ["evaluate", str(runs["rig"]), "--episodes", "1", "--json"]
    assert main([*command, "--env", "smorl/VisualPush2-v0"]) == 0
    assert json.loads(capsys.readouterr().out)["env"] == "smorl/VisualPush2-v0"
    assert main([*command, "--env", "smorl/Rearrange1-v0"]) == 2
    assert "needs images" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--perception", "scalor-1"], "trains a VAE of its own"),
        (["--env", "smorl/Rearrange1-v0"], "this method needs images"),
        (["--latent.camera", "zoomed_on"], "Did you mean 'zoomed_in'"),
        (["--latent.model.image_size", "50"], "image_size = 50 is out of range"),
        (["--method", "smorl-gt"], "the others have no use for it"),
        (["--collect.initial_steps", "0"], "collect.initial_steps = 0"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(args, message, tmp_path, capsys):
    assert train("rig", tmp_path / "run", *args) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "run").exists()


# Signals its own process when it is about to save its checkpoint number sys.argv[1] + 1: rows of
# metrics and pictures are ahead of the last checkpoint then.
SIGNALLED = """
import os, sys
from smorl.cli import main
from smorl.runs import resumable

after, how = map(int, sys.argv[1:3])
save, saved = resumable.save_checkpoint, []

def signalled(*args, **options):
    if len(saved) == after:
        os.kill(os.getpid(), how)
    saved.append(save(*args, **options))
    return saved[-1]

resumable.save_checkpoint = signalled
sys.exit(main(sys.argv[3:]))
"""


def run_and_signal(method, out, checkpoints: int, how: int) -> int:
    command = ["train", f"debug-{method}", "--out", str(out), *OPTIONS]
    process = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(checkpoints), str(int(how)), *command],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return process.returncode


def assert_same_run(a, b):
    assert_same_files(a, b, "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(a, b)
    assert_same_results(a, b, "seconds")


# One checkpoint per round or chunk of batches. RIG: 2 random rounds, 3 chunks (the checkpoints of
# 50, 100 and 110 batches), 4 rounds. Skew-Fit: 2 rounds, 1 chunk, then a round and 2 chunks by
# turns.
@pytest.mark.parametrize(
    ("method", "after", "how"),
    [
        ("rig", 3, signal.SIGKILL),  # in the middle of the VAE
        ("skewfit", 4, signal.SIGKILL),  # in the middle of a later phase
        pytest.param("rig", 1, signal.SIGKILL, marks=pytest.mark.slow),  # random data
        pytest.param("rig", 4, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("rig", 6, signal.SIGKILL, marks=pytest.mark.slow),  # learning
        pytest.param("rig", 7, signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("skewfit", 1, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("skewfit", 5, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("skewfit", 6, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("skewfit", 10, signal.SIGKILL, marks=pytest.mark.slow),  # the ring went round
    ],
)
def test_killed_and_resumed_equals_uninterrupted(method, after, how, runs, tmp_path):
    cut = tmp_path / "cut"
    code = run_and_signal(method, cut, after, how)
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert not (cut / "result.json").exists()
    assert train(method, cut) == 0
    assert_same_run(runs[method], cut)


def test_pictures_that_got_lost_are_missed(tmp_path, capsys):
    out = tmp_path / "run"
    assert run_and_signal("skewfit", out, 5, signal.SIGKILL) == -signal.SIGKILL
    next((out / "pictures").iterdir()).unlink()
    assert train("skewfit", out) == 2
    error = capsys.readouterr().err
    assert "pictures a resume needs" in error
    assert len(error.splitlines()) == 1
