"""`smorl reproduce` from nothing to a picture, on the debug scale."""

import json

import pytest

from smorl.cli import main
from smorl.cli import reproduce as module
from smorl.paper.plan import FIGURES, Figure


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(monkeypatch):
    """The figure `gt` of a single run."""
    figure = Figure("gt", "", 1, "gt", lambda plan: plan.agent("gt", "rearrange", 2, 10, ("gt",)))
    monkeypatch.setattr(module, "get_figure", lambda name: figure)


def test_the_list_names_every_figure_with_its_cost(capsys):
    assert main(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split() for line in lines[1 : 1 + len(FIGURES)]}
    assert set(rows) == set(FIGURES)
    assert rows["gt"][1:4] == ["18", "3", "hours"]
    assert rows["clusters"][1:4] == ["1", "16", "min"]


def test_dry_run_prints_commands_and_nothing_else(capsys, tmp_path):
    assert main(["reproduce", "ood", "--seeds", "2", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[1] == (
        "smorl train visual-rearrange-2 --seed 10 --perception shipped:scalor-2 --threads 1 "
        "--out runs/visual-rearrange-2-seed10"
    )
    assert lines[2].endswith(
        "smorl evaluate runs/visual-rearrange-2-seed10 --env smorl/VisualRearrange1-v0 --json "
        "> results/ood/visual-rearrange-2-seed10-on-1.json"
    )
    assert not list(tmp_path.iterdir())


def test_run_skip_refuse_and_draw(small, capsys, tmp_path):
    command = ["reproduce", "gt", "--scale", "debug"]
    assert main(command) == 0
    captured = capsys.readouterr()
    pictures = [tmp_path / line for line in captured.out.splitlines()]
    assert {path.suffix for path in pictures} == {".png", ".pdf"}
    assert all(path.stat().st_size > 1000 for path in pictures)
    assert "gt-rearrange-2-seed10: done." in captured.err
    run = tmp_path / "runs" / "debug" / "gt-rearrange-2-seed10"
    kept = tmp_path / "results" / "debug" / "gt" / run.name
    assert (kept / "result.json").read_bytes() == (run / "result.json").read_bytes()
    # Finished runs are not run again, and neither are those on record.
    before = (run / "metrics.jsonl").stat().st_mtime_ns
    assert main(command) == 0
    assert "nothing to run" in capsys.readouterr().err
    assert (run / "metrics.jsonl").stat().st_mtime_ns == before
    run.rename(tmp_path / "away")
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out == ""
    # A run with other settings in the same place is left alone.
    (tmp_path / "away").rename(run)
    config = json.loads((run / "config.json").read_text())
    config["learner"]["lr"] = 0.5
    (run / "config.json").write_text(json.dumps(config))
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "learner.lr: run has 0.5, asked 0.002" in error
    assert "another --out" in error
    assert (run / "metrics.jsonl").stat().st_mtime_ns == before


def test_a_failed_run_is_told_and_nothing_is_drawn(small, capsys, tmp_path):
    run = tmp_path / "runs" / "debug" / "gt-rearrange-2-seed10"
    run.mkdir(parents=True)
    (run / "diary.txt").write_text("mine")  # `smorl train` refuses a folder of something else
    assert main(["reproduce", "gt", "--scale", "debug"]) == 1
    captured = capsys.readouterr()
    assert "is not empty and not a run" in captured.err
    assert "1 of 1 failed" in captured.err
    assert captured.out == ""
    assert [path.name for path in run.iterdir()] == ["diary.txt"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["gtt"], "Did you mean 'gt'"),
        (["gt", "--seeds", "0"], "--seeds 0 must be at least 1"),
        (["gt", "--jobs", "0"], "--jobs 0 must be at least 1"),
        (["clusters", "--seeds", "2"], "looks at one model"),
        (["gt", "--scale", "paper", "--perception", "shipped"], "use --perception own"),
        (["worth", "--scale", "paper"], "leave --scale paper out"),
    ],
)
def test_mistakes_get_one_clear_sentence(args, message, capsys):
    assert main(["reproduce", *args]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_on_the_debug_scale(name, capsys, tmp_path):
    seeds = [] if FIGURES[name].single else ["--seeds", "1"]
    assert main(["reproduce", name, "--scale", "debug", *seeds, "--jobs", "2"]) == 0
    pictures = capsys.readouterr().out.splitlines()
    assert pictures
    assert all((tmp_path / line).exists() for line in pictures)


@pytest.mark.slow
def test_a_perception_is_trained_before_the_agent_that_needs_it(tmp_path):
    args = ["--scale", "debug", "--perception", "own", "--seeds", "1", "--jobs", "2"]
    assert main(["reproduce", "long", *args]) == 0
    assert (tmp_path / "runs/debug/scalor-2-seed10/result.json").exists()
    run = tmp_path / "runs/debug/own-perception/long/visual-rearrange-2-seed10"
    assert json.loads((run / "config.json").read_text())["perception"].endswith("scalor-2-seed10")
    assert (tmp_path / "results/debug/own-perception/long" / run.name / "result.json").exists()
