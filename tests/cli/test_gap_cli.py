"""`smorl gap`: the table of swapped parts, end to end on a tiny agent."""

import json

import pytest

from smorl.cli import main
from smorl.cli.gap import as_markdown
from smorl.studies.oracle import PARTS


def test_every_part_is_measured_on_the_same_episodes(tmp_path, capsys):
    """On the shipped perception; an agent that has hardly learned and two short episodes do."""
    out, steps = tmp_path / "run", ("--collect.total_steps", "80", "--collect.initial_steps", "40")
    command = ["train", "debug-visual", "--perception", "shipped:scalor-1", "--out", str(out)]
    assert main([*command, "--quiet", *steps, "--evaluation.episodes", "1"]) == 0
    capsys.readouterr()
    assert main(["gap", str(out), "--episodes", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = data["rows"]
    assert list(rows) == ["as it is", *PARTS, "all of these"]
    assert len({row["passive_distance"] for row in rows.values()}) == 1
    assert rows["as it is"]["gain"] == 0
    for row in rows.values():
        gain = rows["as it is"]["object_distance"] - row["object_distance"]
        assert row["gain"] == pytest.approx(gain)
    assert rows["all of these"]["goals_matched"] == 1  # nothing is lost when nothing can be
    assert all(name in as_markdown(rows) for name in rows)


def test_a_ground_truth_run_has_nothing_to_swap(tmp_path, capsys):
    assert main(["train", "debug", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["gap", str(tmp_path / "run")]) == 2
    assert "no part to swap" in capsys.readouterr().err
