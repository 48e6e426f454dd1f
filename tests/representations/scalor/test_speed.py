"""The perception benchmark measures what it says, in every part, quickly."""

import json

import pytest
import torch

from smorl.cli import bench
from smorl.errors import InvalidInput
from smorl.representations.scalor.bench import speed


@pytest.fixture
def small(monkeypatch):
    """The whole benchmark with the debug preset in both roles."""
    monkeypatch.setattr(speed, "FAST", "debug-scalor")
    monkeypatch.setattr(speed, "PAPER", "debug-scalor")
    monkeypatch.setattr(speed, "ROWS", (1, 3))
    monkeypatch.setattr(speed, "PAPER_ROWS", 1)


def test_json_report_is_complete_and_consistent(small, capsys):
    assert bench.main(["perception", "--json", "--quick", "--threads", "1"]) == 0
    out, progress = capsys.readouterr()
    report = json.loads(out)
    assert len(report["training"]) == 2
    for row in report["training"]:
        expected = 1e3 * row["frames"] / row["step_ms"]
        assert row["frames_per_second"] == pytest.approx(expected)
        assert row["frames"] >= row["batch"]
    (parts,) = report["parts"]
    assert set(parts["shares"]) == {
        "batch", "encoding", "ConvLSTM", "propagation", "discovery", "composing", "backward",
        "optimiser",
    }  # fmt: skip
    assert sum(parts["shares"].values()) == pytest.approx(1.0)
    assert all(share > 0 for share in parts["shares"].values())
    assert [row["rows"] for row in report["tracking"]] == [1, 3]
    one, three = report["tracking"]
    assert three["frame_ms"] == pytest.approx(three["step_ms"] / 3)
    # A first frame is five passes; a busy machine shall not make this fail.
    assert one["first_frame_cpu_ms"] > 1.5 * one["frame_cpu_ms"]
    assert one["paper_ratio"] == pytest.approx(one["paper_frame_ms"] / one["frame_ms"])
    assert "paper_ratio" not in three
    assert [row["what"] for row in report["sampling"]] == [
        "crop",
        "crop, all gradients",
        "paste_sum",
    ]
    for row in report["sampling"]:
        assert row["ratio"] == pytest.approx(row["grid_sample_ms"] / row["ours_ms"])
    assert 0.05 < report["training_memory_gb"] < 50
    assert "tracking, 3 row(s), 1 thread(s)" in progress


def test_table_for_people_names_every_part(small, capsys):
    assert speed.main(["--quick", "--threads", "1"]) == 0
    table = capsys.readouterr().out
    for part in ("frames/s", "ConvLSTM", "ms/frame", "paste_sum", "peak memory", "goals:"):
        assert part in table


def test_threads_must_be_positive():
    before = torch.get_num_threads()
    with pytest.raises(InvalidInput, match="--threads 0"):
        speed.main(["--threads", "0"])
    assert torch.get_num_threads() == before


def test_an_unknown_benchmark_is_named_with_what_there_is():
    with pytest.raises(InvalidInput, match="perception"):
        bench.main(["perceptoin"])
