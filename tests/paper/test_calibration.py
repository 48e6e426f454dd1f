"""The intervals that decide claims are wrong as seldom as they say."""

import json
from pathlib import Path

import numpy as np
import pytest

from smorl.cli import main
from smorl.paper.calibration import Resamples, World, rates
from smorl.paper.statistics import Interval, mean_difference

ROOT = Path(__file__).parents[2]
TRIALS = 600  # 2.5 % of them are 15, give or take 4


def intervals(world, seed=0):
    source = np.random.default_rng(seed)
    drawn = [world.draw(source) for _ in range(TRIALS)]
    trained = (True, world.against > 0)
    now = [mean_difference(ours, theirs, trained=trained) for ours, theirs in drawn]
    resampled = Resamples.draw(world, source)
    return rates(now), rates([resampled.difference(*one) for one in drawn])


@pytest.mark.parametrize("noise", ["normal", "skewed"])
@pytest.mark.parametrize("seeds", [3, 5])
def test_few_seeds_of_either_side(seeds, noise):
    now, _ = intervals(World(seeds, seeds, (0.03, 0.03), noise))
    assert now["low"] < 0.045
    assert now["high"] < 0.045
    assert 0.92 < now["covers"] < 0.985  # an interval of everything would cover, too


@pytest.mark.parametrize("seeds", [3, 5])
def test_uneven_seeds_and_doing_nothing(seeds):
    for world in (World(seeds, seeds, (0.03, 0.003)), World(seeds, 0, (0.01, 0.0))):
        now, _ = intervals(world)
        assert max(now["low"], now["high"]) < 0.06
        assert now["covers"] > 0.915


def test_the_bootstrap_of_before_was_wrong_four_times_as_often():
    now, before = intervals(World(2, 2, (0.03, 0.03)))
    assert before["covers"] < 0.8
    assert before["low"] + before["high"] > 4 * 0.05
    assert now["covers"] > 0.92


def test_rates_by_hand():
    found = rates([Interval(0, -1, 1), Interval(-2, -3, -1), Interval(2, 1, 3), Interval(3, 2, 4)])
    assert found == {"low": 0.25, "high": 0.5, "covers": 0.25}


def test_the_command_writes_what_the_page_reads(tmp_path, capsys):
    kept = tmp_path / "calibration.json"
    assert main(["study", "calibration", "--trials", "2", "--json", "--keep", str(kept)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    report = json.loads(kept.read_text())
    assert report["rows"] == rows
    assert report["analysis"] == "calibration"
    assert "study calibration" in report["made"]["command"]
    assert {row["seeds"] for row in rows} == {2, 3, 5}
    assert main(["study", "calibration", "--trials", "0"]) == 2


def test_the_record_is_of_at_least_two_thousand_experiments():
    report = json.loads((ROOT / "results" / "analysis" / "calibration.json").read_text())
    assert report["trials"] >= 2000
    usual = [r for r in report["rows"] if r["seeds"] >= 3 and r["noise"] == "normal"]
    assert all(max(row["now"]["low"], row["now"]["high"]) < 0.04 for row in usual)
    assert "calibration" in (ROOT / "docs" / "reproduction.md").read_text()
