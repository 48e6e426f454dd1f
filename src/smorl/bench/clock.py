"""Timing of things that are compared with each other."""

import time
from collections.abc import Callable, Mapping

import numpy as np


def take_turns(cases: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, np.ndarray]:
    """Median milliseconds of each case, [wall, CPU], run in turns after two warm-ups each."""
    spent: dict[str, list[np.ndarray]] = {name: [] for name in cases}
    for turn in range(repeats + 2):
        for name, run in cases.items():
            start = _clocks()
            run()
            if turn >= 2:
                spent[name].append(_clocks() - start)
    return {name: 1e3 * np.median(times, axis=0) for name, times in spent.items()}


def _clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def columns(name: str, unit: str, pair: np.ndarray) -> dict[str, float]:
    """Name the wall-clock and the CPU reading of a pair."""
    names = ("_".join(filter(None, parts)) for parts in ((name, unit), (name, "cpu", unit)))
    return dict(zip(names, pair.tolist(), strict=True))
