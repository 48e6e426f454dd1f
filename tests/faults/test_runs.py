"""Run folders that were killed, edited, forged, linked away, removed: nothing is lost."""

import json
import math
import os

import numpy as np
import pytest
import torch

from smorl.cli import main
from smorl.config import to_json
from smorl.errors import CannotWrite, DamagedFile, RunConflict
from smorl.presets import PRESETS
from smorl.runs.checkpoint import load_latest, save_checkpoint
from smorl.runs.folder import RunDir
from smorl.runs.log import RunLogger
from smorl.trained.agent_file import FORMAT, KIND
from smorl.trained.loading import load_run
from tests.faults.conftest import train
from tests.faults.forge import edit_json, forge_checkpoint, forge_weights, newest


def test_a_run_killed_before_its_result_evaluates_once(stopped, finished_once):
    assert train(stopped) == 0
    for name in ("evaluations.csv", "metrics.jsonl"):
        assert (stopped / name).read_bytes() == (finished_once / name).read_bytes(), name
    first, second = (
        json.loads((run / "result.json").read_text()) for run in (stopped, finished_once)
    )
    assert first["distances"] == second["distances"]


@pytest.mark.parametrize("name", ["pictures", "checkpoints", "diverged"])
def test_a_link_to_a_folder_outside_costs_nothing_there(stopped, tmp_path, capsys, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    if (stopped / name).exists():
        (stopped / name).rename(tmp_path / "moved")
    (stopped / name).symlink_to(outside)
    assert train(stopped) == 2
    assert "is a link" in capsys.readouterr().err
    assert (outside / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", [".lock", "metrics.jsonl", "evaluations.csv", "config.json"])
def test_a_link_to_a_file_outside_costs_nothing_there(stopped, tmp_path, name):
    """The file outside begins like the run's own, so that nothing else is wrong with it."""
    outside = tmp_path / "precious"
    outside.write_bytes((stopped / name).read_bytes() + b"\nmine\n")
    before = outside.read_bytes()
    (stopped / name).unlink()
    (stopped / name).symlink_to(outside)
    assert train(stopped) == 2
    assert outside.read_bytes() == before


def test_rows_are_never_written_through_a_link(finished, tmp_path):
    """The logger refuses by itself, not only because the folder was looked at before."""
    outside = tmp_path / "precious"
    outside.write_text("mine")
    run = RunDir.load(finished)
    run.metrics.unlink()
    run.metrics.symlink_to(outside)
    with pytest.raises(CannotWrite, match="links are not followed"):
        RunLogger(run, ["env_steps"])
    assert outside.read_text() == "mine"


def test_edited_settings_are_noticed(finished, capsys):
    edit_json(finished / "config.json", lambda c: c["evaluation"].update(solved_threshold=0.5))
    assert main(["evaluate", str(finished), "--episodes", "1"]) == 2
    assert "config.json" in capsys.readouterr().err


def test_a_checkpoint_without_the_hash_of_its_settings_is_refused(finished):
    forge_checkpoint(finished, lambda tensors, arrays, state: state.pop("identity"))
    with pytest.raises(DamagedFile, match="which settings"):
        load_run(finished)


def test_a_tensor_of_another_shape_is_not_stretched(finished, tmp_path):
    def stretch(tensors, *_):
        name = next(name for name in tensors if name.startswith("policy/") and "weight" in name)
        tensors[name] = torch.ones(1)

    forge_checkpoint(finished, stretch)
    with pytest.raises(DamagedFile, match="does not fit its own settings"):
        load_run(finished)


def test_an_agent_file_with_a_tensor_of_another_shape_is_refused(finished, tmp_path):
    file = tmp_path / "agent.safetensors"
    assert main(["export", str(finished), str(file)]) == 0

    def stretch(arrays, header):
        name = next(name for name in arrays if name.startswith("tensor/policy/"))
        arrays[name] = np.ones(1, np.float32)

    forge_weights(file, KIND, FORMAT, stretch)
    with pytest.raises(DamagedFile, match="does not fit its own settings"):
        load_run(file)


def test_export_says_when_it_takes_an_older_checkpoint(finished, tmp_path, capsys):
    found = load_latest(finished / "checkpoints")
    save_checkpoint(finished / "checkpoints", 999, found.tensors, found.arrays, found.state)
    (newest(finished) / "state.json").write_text("{}")
    assert main(["export", str(finished), str(tmp_path / "a.safetensors")]) == 0
    assert "000000999" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["counters", "streams", "optimizers", "replay", "log", "seconds"])
def test_a_forged_state_without_a_key_is_damaged(stopped, capsys, key):
    forge_checkpoint(stopped, lambda tensors, arrays, state: state.pop(key))
    assert train(stopped) == 2
    assert "does not hold a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["{}", "[]", '"x"', '{"object_distance": NaN}', "[" * 10**5, "\0"]
)
@pytest.mark.parametrize("words", [["results"], ["train", "debug", "--quiet", "--out"]])
def test_a_result_that_is_none_is_refused(finished, capsys, content, words):
    (finished / "result.json").write_text(content)
    if words[0] == "train":
        assert train(finished) == 2
    else:
        assert main([*words, str(finished.parent)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_result_without_a_number_is_not_tabulated(finished, capsys):
    edit_json(finished / "result.json", lambda result: result.update(object_distance=math.nan))
    assert main(["results", str(finished.parent)]) == 2
    told = capsys.readouterr()
    assert "result.json" in told.err
    assert "nan" not in told.out


@pytest.mark.parametrize("content", ["[]", "[" * 10**5, '{"command": 5}', "{}"])
def test_strange_versions_never_end_in_a_traceback(finished, content):
    (finished / "versions.json").write_text(content)
    assert main(["results", str(finished.parent)]) in (0, 2)
    assert main(["export", str(finished), str(finished.parent / "a.safetensors")]) in (0, 2)


def test_a_pipe_as_config_does_not_hang(finished, capsys):
    (finished / "config.json").unlink()
    os.mkfifo(finished / "config.json")
    assert train(finished) == 2
    for words in (["evaluate"], ["results"], ["curves", "--out", str(finished.parent / "a.png")]):
        assert main([*words, str(finished)]) == 2


def test_names_too_long_for_a_disk_are_refused(capsys):
    long = "a" * 300
    for words in (
        ["evaluate", long],
        ["train", "debug", "--out", long],
        ["perception", "evaluate", long],
        ["export", long, "b.safetensors"],
    ):
        assert main(words) == 2
        assert "Traceback" not in capsys.readouterr().err


def _open(path):
    return RunDir.open(path, to_json(PRESETS["debug"].build()), "smorl train debug")


def test_a_run_that_was_renamed_or_removed_says_so(tmp_path):
    with _open(tmp_path / "run") as run:
        run.require_in_place()
        (tmp_path / "run").rename(tmp_path / "other")
        (tmp_path / "run").mkdir()
        with pytest.raises(RunConflict, match="removed or renamed"):
            run.require_in_place()
    assert (tmp_path / "other" / "config.json").exists()


@pytest.mark.parametrize("number", [12, 20, 28])
def test_training_in_a_folder_that_was_renamed_ends_with_a_refusal(tmp_path, monkeypatch, number):
    """At some write the folder goes away; a run that ends well would have lost its record."""
    calls, real = [], os.fsync

    def renaming(file):
        calls.append(file)
        if len(calls) == number:
            (tmp_path / "run").rename(tmp_path / "other")
        return real(file)

    monkeypatch.setattr(os, "fsync", renaming)
    assert train(tmp_path / "run", "--checkpoint_minutes", "0") == 2
    assert len(calls) >= number
    assert not (tmp_path / "run" / "result.json").exists()


def test_a_removed_run_folder_is_not_made_again(tmp_path):
    with pytest.raises(CannotWrite):
        save_checkpoint(tmp_path / "gone" / "checkpoints", 1, {}, {}, {})
    assert not list(tmp_path.iterdir())


def test_rows_of_a_removed_file_are_not_lost_unseen(tmp_path):
    run = _open(tmp_path / "run")
    with run, RunLogger(run, ["env_steps"]) as log:
        run.metrics.unlink()
        with pytest.raises(CannotWrite, match="removed"):
            log.metrics({"env_steps": 1})
