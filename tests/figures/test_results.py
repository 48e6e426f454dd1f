"""The table of finished runs."""

import json

import pytest

from smorl.cli import main
from smorl.errors import DamagedFile
from smorl.figures.results import KEPT, read_result


def make(folder, seed, distance):
    folder.mkdir(parents=True)
    config = {"method": "smorl-gt", "env": "smorl/Rearrange2-v0", "seed": seed}
    result = {"env_steps": 1000, "object_distance": distance, "passive_distance": 0.2}
    result |= {"pucks_within_5cm": 0.5, "seconds": 90.0}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "versions.json").write_text("{}")
    (folder / "evaluations.csv").write_text("env_steps\n")


def test_table_and_keep(tmp_path, capsys):
    make(tmp_path / "runs" / "a", 1, 0.06)
    make(tmp_path / "runs" / "b", 0, 0.04)
    args = ["results", str(tmp_path / "runs"), "--keep", str(tmp_path / "kept")]
    assert main(args) == 0
    row = capsys.readouterr().out.splitlines()[2]
    assert "| Rearrange2 | smorl-gt | 2 | **0.050** ± 0.010 | 0.040, 0.060 | 0.200 | 50 %" in row
    assert "1.5, 1.5" in row
    assert sorted(p.name for p in (tmp_path / "kept" / "a").iterdir()) == sorted(KEPT)
    assert main(args) == 0  # keeping the same again is fine
    (tmp_path / "kept" / "a" / "result.json").write_text("{}")
    assert main(args) == 2
    assert "differs" in capsys.readouterr().err
    assert (tmp_path / "kept" / "a" / "result.json").read_text() == "{}"


def test_unfinished_and_damaged(tmp_path, capsys):
    make(tmp_path / "a", 0, 0.1)
    (tmp_path / "a" / "result.json").unlink()
    assert main(["results", str(tmp_path)]) == 2
    assert "no finished run" in capsys.readouterr().err
    (tmp_path / "a" / "result.json").write_text("not json")
    with pytest.raises(DamagedFile, match="readable result"):
        read_result(tmp_path / "a")


def test_perception_runs_are_not_runs_of_an_agent(tmp_path):
    from smorl.errors import InvalidInput
    from smorl.figures.curves import find_runs

    (tmp_path / "scalor").mkdir()
    (tmp_path / "scalor" / "config.json").write_text('{"env": "x", "scalor": {}}')
    (tmp_path / "scalor" / "evaluations.csv").write_text("attempt\n0\n")
    with pytest.raises(InvalidInput, match="no runs"):
        find_runs([tmp_path])
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "config.json").write_text('{"method": "smorl"}')
    (tmp_path / "agent" / "evaluations.csv").write_text("env_steps\n0\n")
    assert find_runs([tmp_path]) == [tmp_path / "agent"]
