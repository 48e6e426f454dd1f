"""`smorl train --reward tracking` and `smorl study tracking`, end to end on the debug preset."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from smorl.cli import main
from smorl.cli.study import _table
from smorl.representations.scalor.tracking.settings import TrackerConfig
from smorl.runs.checkpoint import load_latest
from smorl.studies.tracking import Paid

SHORT = ("--quiet", "--collect.total_steps", "80", "--evaluation.final_episodes", "1")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two short runs on shipped perception that differ in the reward alone."""
    made = {}
    for reward in ("tracking", "matching"):
        made[reward] = tmp_path_factory.mktemp(reward) / "run"
        command = ["train", "debug-visual", "--out", str(made[reward]), "--reward", reward]
        command += ["--perception", "shipped:scalor-1", *SHORT]
        assert main(command) == 0
    return made


def test_reward_is_short_for_a_setting_that_changes_the_rewards(runs):
    configs = [json.loads((run / "config.json").read_text()) for run in runs.values()]
    assert [config["goals"].pop("reward") for config in configs] == ["tracking", "matching"]
    assert configs[0] == configs[1]
    texts = [(run / "metrics.jsonl").read_text().splitlines()[0] for run in runs.values()]
    first, other = map(json.loads, texts)
    assert first["updates"] == other["updates"] > 0
    assert first["reward/mean"] != other["reward/mean"]


def test_checkpoints_hold_the_ids(runs):
    arrays = load_latest(runs["tracking"] / "checkpoints").arrays
    ids, present = arrays["replay/objects.ids"], arrays["replay/objects.present"]
    assert present.any()
    np.testing.assert_array_equal(ids >= 0, present)
    goals = arrays["replay/goal.id"]
    assert (goals >= 0).any()
    assert ((goals[:, None] == ids[:, 0]).any(1) | (goals == -1)).all()


def test_the_default_folder_keeps_the_two_rewards_apart(monkeypatch, capsys):
    folders = []
    monkeypatch.setattr("smorl.cli.train._train", lambda config, out, *_: folders.append(out) or 0)
    for extra in (("--reward", "tracking"), ("--goals.reward", "matching"), ()):
        assert main(["train", "debug", *extra]) == 0
    assert [out.name for out in folders] == ["debug-tracking-seed0", *["debug-seed0"] * 2]
    assert main(["train", "debug", "--reward", "traking"]) == 2
    error = capsys.readouterr().err
    assert "goals.reward" in error
    assert len(error.splitlines()) == 1


def test_the_study_prints_a_table_and_json(runs, tmp_path, capsys):
    film = tmp_path / "film.png"
    command = ["study", "tracking", *map(str, runs.values()), "--episodes", "4"]
    assert main([*command, "--random", "--json", "--film", str(film)]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert [row["trained_by"] for row in report["runs"]] == ["tracking", "matching", None]
    for row in report["runs"]:
        assert (row["played"], row["episodes"]) == (4, 4)
        for way in ("by_id", "by_matching"):
            assert sum(row[way][kind.name.lower()] for kind in Paid) == pytest.approx(1)
            assert row[way]["own_puck"] > 0.2
        assert -3 < row["true_reward_at_end"] < 0
    for row, run in zip(report["runs"], runs.values(), strict=False):
        lines = (run / "metrics.jsonl").read_text().splitlines()
        steps = [json.loads(line)["env_steps"] for line in lines]
        assert row["training"]["env_steps"] == steps
        assert all(-3 < paid < 0 for paid in row["training"]["paid"])
    assert "training" not in report["runs"][2]
    stolen = any(row["by_id"]["arm"] for row in report["runs"])
    assert film.exists() == stolen
    assert ("Picture:" if stolen else "No picture") in err
    table = _table(report["runs"]).splitlines()
    assert len(table) == 1 + 2 * 3 + 1
    share = report["runs"][0]["by_id"]["own_puck"]
    assert f"{100 * share:.1f} %" in table[1]
    assert "(random)" in table[5]
    assert "4 of 4" in table[-1]


def test_runs_with_different_trackers_are_not_compared(monkeypatch, capsys):
    trackers = {"ours": TrackerConfig(), "theirs": TrackerConfig.plain()}

    def load(name):
        return SimpleNamespace(config=SimpleNamespace(tracker=trackers[name]))

    monkeypatch.setattr("smorl.trained.loading.load_run", load)
    assert main(["study", "tracking", "ours", "theirs"]) == 2
    assert "ours and theirs differ in their tracker" in capsys.readouterr().err


def test_where_nothing_is_seen_the_table_says_so():
    numbers = dict.fromkeys([*(kind.name.lower() for kind in Paid), "arm_at_end"])
    numbers |= dict.fromkeys(["reward", "reward_at_end", "unearned"])
    row = {"run": "r", "trained_by": "tracking", "played": 2, "episodes": 0}
    row |= {"by_id": numbers, "by_matching": numbers, "true_reward_at_end": None}
    lines = _table([row]).splitlines()
    assert set(lines[1].split()[3:]) == {"-"}
    assert "0 of 2" in lines[-1]


def test_mistakes_get_one_sentence(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", "debug", "--out", str(out), *SHORT]) == 0
    for args, message in (
        (["traking", str(out)], "Did you mean 'tracking'"),
        (["tracking", str(out)], "only objects tracked in pictures"),
        (["tracking", str(tmp_path / "nowhere")], "is not a run"),
        (["tracking", str(out), "--episodes", "0"], "--episodes 0"),
        (["tracking", str(out), "--film", "film.txt"], ".png"),
    ):
        capsys.readouterr()
        assert main(["study", *args]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) == 1
    assert main(["study", "--help"]) == 0
    assert "tracking" in capsys.readouterr().out
