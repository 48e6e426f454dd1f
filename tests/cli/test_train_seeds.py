"""`smorl train PRESET --seeds N`: several seeds with one command, each as if it were alone."""

import os

import pytest

from smorl.cli import main
from smorl.cli.seeds import runs_at_once
from smorl.config import override
from smorl.presets import get_preset

QUICK = ["--collect.total_steps", "200", "--evaluation.final_episodes", "2"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_seeds_are_runs_of_their_own_and_the_same_command_goes_on(capsys, tmp_path):
    command = ["train", "debug", "--seed", "3", "--seeds", "2", *QUICK]
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "2 of 2 runs to do" in said
    assert "smorl results runs/debug-seed3 runs/debug-seed4" in said
    results = [tmp_path / f"runs/debug-seed{seed}/result.json" for seed in (3, 4)]
    texts = [path.read_text() for path in results]
    # Agents that have hardly learned may end alike, to the second; what they learned from may not.
    learned = [path.with_name("metrics.jsonl").read_text() for path in results]
    assert learned[0] != learned[1]
    assert main(command) == 0
    assert "runs to do" not in capsys.readouterr().err
    assert [path.read_text() for path in results] == texts
    # By itself it is the same run: finished, with the same settings.
    assert main(["train", "debug", "--seed", "4", *QUICK]) == 0
    assert "is finished" in capsys.readouterr().err
    # Other settings are refused before anything runs.
    assert main([*command, "--learner.lr", "1e-2"]) != 0
    assert "other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--seeds", "0"], "--seeds 0 must be at least 1"),
        (["--seeds", "2", "--wandb", "mine"], "--wandb follows one run"),
        (["--seeds", "2", "--learner.lrr", "1"], "learner.lr"),
    ],
)
def test_mistakes_get_one_clear_sentence(args, message, capsys, tmp_path):
    assert main(["train", "debug", *args]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("cores", "collectors", "expected"), [(1, 0, 1), (8, 0, 4), (8, 2, 2)])
def test_as_many_at_once_as_there_are_cores(cores, collectors, expected, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    changes = {"threads": "2", "collect.num_envs": "4", "collect.collectors": str(collectors)}
    config = override(get_preset("gt-rearrange-1").build(), changes)
    assert runs_at_once(config) == expected
