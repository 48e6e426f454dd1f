"""`smorl bench` without a part: everything in one table, measured or read from kept reports."""

import json
import types

import pytest

from smorl.bench import envs, learner, loop, whole
from smorl.bench.parts import PARTS
from smorl.cli import bench
from smorl.errors import InvalidInput


def part(share: float) -> dict:
    return {"share": share, "ms_per_step": 10 * share, "cpu_ms_per_step": 10 * share}


def a_loop(threads: int, speed: float) -> dict:
    shares = dict.fromkeys(PARTS, 0.0) | {"updating": 0.5, "encoding": 0.2, "rest": 0.3}
    return {
        "threads": threads, "rows": 32, "env_steps_per_second": speed,
        "parts": {name: part(share) for name, share in shares.items()},
    }  # fmt: skip


REPORTS = {
    "envs": {
        "speeds": [
            {"id": "smorl/Rearrange2-v0", "steps_per_second": 4000.0},
            {"id": "smorl/VisualRearrange2-v0", "steps_per_second": 2000.0},
        ],
        "ratios": {"state/vector_over_single": 2.5, "visual/vector_over_single": 2.4},
    },
    "learner": {"updates": [{"threads": 1, "batch": 256, "ours_ms": 4.0, "ratio": 7.0}]},
    "perception": {
        "training": [
            {"threads": 1, "frames_per_second": 300.0},
            {"threads": 1, "frames_per_second": 20.0},
        ],
        "tracking": [{"threads": 1, "rows": 16, "frame_ms": 1.5, "paper_ratio": 11.0}],
    },
    "loop": {
        "loops": [a_loop(1, 150.0), a_loop(2, 300.0)],
        "reference": [a_loop(1, 7.5), a_loop(2, 10.0)],
        "ratios": [{"threads": 1, "ratio": 20.0}, {"threads": 2, "ratio": 30.0}],
        "evaluation": {"planning_ms_per_training_step": 0.25},
        "memory_gb": 0.5,
    },
}


@pytest.fixture
def kept(tmp_path):
    for name, report in REPORTS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    return tmp_path


def test_one_table_and_one_figure_of_kept_reports(kept, tmp_path, capsys):
    assert bench.main(["--from", str(kept), "--figure", str(tmp_path / "speed.png")]) == 0
    table = {line[:32].strip(): line[32:] for line in capsys.readouterr().out.splitlines()}
    assert table["whole loop, 1 core"].split() == [
        "150",
        "steps/s",
        "20.0x",
        "the",
        "released",
        "recipe",
    ]
    assert "30.0x" in table["whole loop, 2 cores"]
    assert "4.0 ms" in table["update, batch 256"]
    assert "15.0x" in table["training perception"]
    assert "2.00 ms" in table["encoding a row of 32"]
    assert table["updating"].split() == ["50.0%"] * 3
    assert (tmp_path / "speed.png").stat().st_size > 10_000


@pytest.mark.parametrize("damage", ["", "{}", "[1]", '{"updates": [{"threads": 1}]}'])
def test_a_wrong_report_is_refused_by_name(kept, damage):
    (kept / "learner.json").write_text(damage)
    if damage == "{}":
        (kept / "learner.json").unlink()
    with pytest.raises(InvalidInput, match=r"learner\.json is no report of `smorl bench learner`"):
        bench.main(["--from", str(kept)])


def test_every_part_is_measured_and_kept(tmp_path, capsys):
    asked = []

    def fake(name):
        def take(threads, quick):
            asked.append((name, threads, quick))
            return REPORTS[name]

        return types.SimpleNamespace(take=take)

    words = ["--quick", "--json", "--save", str(tmp_path / "kept")]
    assert whole.main(words, fake) == 0
    assert json.loads(capsys.readouterr().out) == REPORTS
    assert asked == [(name, (1, 2), True) for name in whole.MEASURED]
    assert whole.read(tmp_path / "kept") == REPORTS


def test_every_part_can_be_taken():
    from smorl.representations.scalor.bench import speed

    assert all(callable(module.take) for module in (envs, learner, loop, speed))
