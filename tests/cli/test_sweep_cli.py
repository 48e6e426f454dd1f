"""`smorl sweep`: plans, mistakes, a small grid from nothing to its picture."""

import pytest

from smorl.cli import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_dry_run_prints_plain_commands_and_nothing_else(capsys, tmp_path):
    args = ["--set", "learner.lr=1e-3,2e-3", "--seeds", "2", "--threads", "1", "--dry-run"]
    assert main(["sweep", "debug", *args]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1] == (
        "smorl train debug --seed 1 --threads 1 --learner.lr 1e-3 "
        "--out runs/sweep/debug/learner.lr=1e-3-seed1"
    )
    assert not list(tmp_path.iterdir())


def test_dry_run_of_a_search_shows_how_it_begins(capsys, tmp_path):
    pytest.importorskip("optuna")
    args = ["--set", "learner.lr=log(1e-4,1e-2)", "--search", "5", "--jobs", "2", "--dry-run"]
    assert main(["sweep", "debug", *args]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert [line.split()[-1] for line in lines] == [
        "runs/sweep/debug/trial-000", "runs/sweep/debug/trial-001",
    ]  # fmt: skip
    assert "3 more trials" in captured.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["debugg"], "Did you mean 'debug'"),
        (["debug", "--seeds", "0"], "--seeds 0 must be at least 1"),
        (["debug", "--search", "0", "--set", "learner.lr=1,2"], "--search 0"),
        (["debug", "--search", "3"], "what to vary"),
        (["debug", "--set", "learner.lr=log(1,2)"], "a grid cannot list"),
        (["debug", "--on", "rey"], "--on rey is unknown"),
        (["debug", "--shared", "/x"], "--shared /x has no use"),
        (["debug", "--slurm", "a=1"], "has no use without --on slurm"),
        (["debug", "--on", "slurm", "--slurm", "a"], "NAME=VALUE"),
        (["debug", "--on", "ray", "--out", "/x"], "outside of the shared folder"),
        (["debug", "--jobs", "0"], "--jobs 0 must be at least 1"),
        (["debug", "--retries", "-1"], "--retries -1"),
    ],
)
def test_mistakes_get_one_clear_sentence(args, message, capsys, tmp_path):
    assert main(["sweep", *args]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_grid_from_nothing_to_its_picture(capsys, tmp_path):
    command = ["sweep", "debug", "--set", "learner.lr=1e-3,2e-3", "--keep", "kept"]
    assert main(command) == 0
    captured = capsys.readouterr()
    rows = captured.out.splitlines()
    assert rows[0].startswith("| learner.lr | distance [m] |")
    assert len(rows) == 4
    out = tmp_path / "runs" / "sweep" / "debug"
    assert (out / "sweep.png").stat().st_size > 1000
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "learner.lr=1e-3-seed0", "learner.lr=2e-3-seed0", "sweep.md", "sweep.png",
    }  # fmt: skip
    before = (out / "learner.lr=1e-3-seed0" / "metrics.jsonl").stat().st_mtime_ns
    assert main(command) == 0
    assert "runs to do" not in capsys.readouterr().err
    assert (out / "learner.lr=1e-3-seed0" / "metrics.jsonl").stat().st_mtime_ns == before
