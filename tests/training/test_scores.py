"""What a run's own metrics say of its rollouts."""

import json

import pytest

from smorl.errors import DamagedFile
from smorl.training.scores import rewards_over_training


def test_rows_are_averaged_in_groups_in_their_order(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"env_steps": 10 * i, "rollout/last_reward": -float(i)} for i in range(1, 8)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rewards_over_training(path, points=3)
    assert found == {"env_steps": [30, 50, 70], "paid": [-2, -4.5, -6.5]}
    assert rewards_over_training(path, points=20)["paid"] == [-i for i in range(1, 8)]


def test_a_run_without_rows_has_no_points(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("")
    assert rewards_over_training(path) == {"env_steps": [], "paid": []}


@pytest.mark.parametrize("bad", ["{", '{"env_steps": 2}', "[]", '{"env_steps": 1, "x": null}'])
def test_a_damaged_row_is_named(tmp_path, bad):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"env_steps": 1, "rollout/last_reward": -1}\n' + bad + "\n")
    with pytest.raises(DamagedFile, match="line 2"):
        rewards_over_training(path)
