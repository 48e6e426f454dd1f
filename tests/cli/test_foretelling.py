"""`smorl study foretelling`: good and spoiled perceptions, judged alike, beside their agents."""

import json
from dataclasses import replace

import pytest

import smorl
from smorl.cli import foretelling, study
from smorl.errors import InvalidInput
from smorl.representations.perceptions import load_perception
from smorl.representations.scalor.training import foretelling as spoiling
from smorl.representations.scalor.training import self_check

RESULT = {"pucks_within_5cm": 0.5, "goals_matched": 1.0, "passive_distance": 0.17}


@pytest.fixture
def small(monkeypatch):
    for module in (spoiling, self_check):
        monkeypatch.setattr(module, "EPISODES", 16)
        monkeypatch.setattr(module, "FRAMES", 21)
    monkeypatch.setattr(spoiling, "NOISE", (1.5,))
    monkeypatch.setattr(spoiling, "SCALES", (0.2, 12.0))


def test_spoiled_perceptions_are_told_from_the_good_one(small, monkeypatch, tmp_path, capsys):
    """Agents are faked here: the better the look of a file's name, the nearer they come.

    Without the network of hand and things, which makes up for much of what is spoiled.
    """
    bare = replace(load_perception("shipped:scalor-1"), known=None)
    file = spoiling.save(tmp_path / "scalor-1.safetensors", bare)
    asked = []

    def train(preset, *, out, seed, perception, **settings):
        asked.append((preset, settings["collect__total_steps"], load_perception(perception)))
        return {"object_distance": 0.05 if "scalor" in out.name else 0.001 * seed, **RESULT}

    monkeypatch.setattr(smorl, "train", train)
    kept = tmp_path / "report.json"
    words = ["foretelling", str(file), "--spoil", "--out", str(tmp_path / "out")]
    words += ["--steps", "500", "--agents", "2"]
    assert study.main([*words, "--keep", str(kept)]) == 0
    report = json.loads(kept.read_text())
    rows = {row["perception"]: row for row in report["rows"]}
    assert list(rows) == ["scalor-1.safetensors", "weights-1.5", "looks-0.2", "looks-12"]
    good = rows.pop("scalor-1.safetensors")
    assert good["score"] > 0.8
    assert all(row["score"] < good["score"] - 0.1 and not row["healthy"] for row in rows.values())
    assert rows["looks-0.2"]["mixed"] > 0.3  # everything looks alike
    assert rows["looks-12"]["found"] < 0.8  # nothing looks like itself
    assert report["rank_correlation"] > 0.5
    assert [(preset, steps) for preset, steps, _ in asked] == [("visual-rearrange-1", 500)] * 8
    assert rows["looks-12"]["distances"] == pytest.approx([0.1, 0.101])
    assert rows["looks-12"]["object_distance"] == pytest.approx(0.1005)
    assert len({perception.digest for *_, perception in asked}) == 4
    out = capsys.readouterr().out
    assert "scalor-1" in out.splitlines()[1]
    assert "Rank correlation of score and nearness over 4" in out


def test_the_correlation_is_that_of_ranks():
    def rows(*pairs):
        return [{"score": score, "object_distance": distance} for score, distance in pairs]

    assert foretelling.rank_correlation(rows((1, 0.01), (0.9, 0.02), (0.1, 9))) == 1
    assert foretelling.rank_correlation(rows((1, 9), (0.9, 0.02), (0.1, 0.01))) == -1
    assert foretelling.rank_correlation(rows((1, 9), (0.9, 9), (0.1, 9))) is None


def test_perceptions_of_different_worlds_are_refused(tmp_path):
    words = ["shipped:scalor-1", "shipped:scalor-2", "--out", str(tmp_path)]
    with pytest.raises(InvalidInput, match="different environments"):
        foretelling.main(words)
    with pytest.raises(InvalidInput, match="same name"):
        foretelling.main([words[0], words[0], "--out", str(tmp_path)])
