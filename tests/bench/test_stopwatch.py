"""The stopwatch of the benchmarks counts what it says, and only while it is asked."""

import time

import pytest
import torch
from torch import nn

from smorl.bench.stopwatch import Stopwatch


def test_the_stopwatch_counts_inner_parts_once(monkeypatch):
    now = iter([0.0, 1.0, 2.0, 4.5, 5.0, 10.0, 20.0, 22.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(time, "process_time", lambda: 7.0)
    watch = Stopwatch()
    # outer 0 to 10, inner 1 to 5, core 2 to 4.5
    with watch.part("outer"), watch.part("inner"), watch.part("core"):
        pass
    with watch.part("inner"):  # 20 to 22
        pass
    assert watch.seconds == {"core": 2.5, "inner": 3.5, "outer": 6.0}
    assert watch.shares()["inner"] == pytest.approx(3.5 / 12)
    assert set(watch.cpu.values()) == {0.0}


def test_the_stopwatch_watches_calls_only_while_asked():
    class Door:
        def open(self, wide: bool) -> str:
            return f"open, {wide}"

    watch, door, other = Stopwatch(), Door(), Door()
    with watch.watch_calls(door, "open", "door"):
        other.open(True)
        assert watch.seconds == {}
        assert door.open(wide=False) == "open, False"
    assert set(watch.seconds) == set(watch.cpu) == {"door"}
    watch.clear()
    door.open(True)
    assert watch.seconds == {}
    assert "open" not in vars(door)


def test_the_stopwatch_watches_modules_only_while_asked():
    watch, layer = Stopwatch(), nn.Linear(2, 2)
    with watch.watch({"layer": layer}), watch.part("rest"):
        layer(torch.zeros(1, 2))
    assert set(watch.seconds) == {"layer", "rest"}
    watch.seconds.clear()
    layer(torch.zeros(1, 2))
    assert watch.seconds == {}
