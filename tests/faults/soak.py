"""A long run in which memory must stay where it is after the first tenth."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from smorl.cli import main
from tests.faults.outcomes import SURVIVED, Tally

# Cheap: many tables of one puck at once, few updates, a replay that is full after the first tenth.
# What is left is mostly MuJoCo, which is part of what must not grow.
WORDS = ("--env", "smorl/Push1-v0", "--collect.num_envs", "200",
         "--collect.updates_per_step", "0.001", "--dynamics.updates_per_step", "0.001",
         "--collect.replay_steps", "20000", "--evaluation.episodes", "4",
         "--evaluation.subgoals.length", "3", "--checkpoint_minutes", "0.5")  # fmt: skip
LARGEST_GROWTH = 64 * 2**20  # bytes, over nine tenths of the run


def run(folder: Path, steps: int) -> list[Tally]:
    """Train for `steps` environment steps; one try is a tenth of them."""
    tally = Tally(f"soak of {steps:,} steps")
    out, sizes, done = folder / "soak", [], threading.Event()
    every = str(max(1, steps // 10))
    watcher = threading.Thread(target=_watch, args=(out / "evaluations.csv", sizes, done))
    watcher.start()
    try:
        words = ["train", "debug", "--quiet", "--out", str(out), "--evaluation.every", every]
        code = main([*words, *WORDS, "--collect.total_steps", str(steps)])
    finally:
        done.set()
        watcher.join()
    tally.add("run", SURVIVED if code == 0 else f"ended with {code}")
    for size in sizes[2:]:
        growth = size - sizes[1]
        flat = growth < LARGEST_GROWTH
        tally.add("memory", SURVIVED if flat else f"grew by {growth / 2**20:.0f} MB")
    if len(sizes) < 5:
        tally.add("memory", f"only {len(sizes)} readings")
    return [tally]


def _watch(table: Path, sizes: list[int], done: threading.Event) -> None:
    """Note the memory of this process whenever the table of evaluations grows."""
    rows = 0
    while not done.wait(0.05):
        found = table.read_bytes().count(b"\n") if table.exists() else 0
        if found > rows:
            rows = found
            sizes.append(resident())


def resident() -> int:
    """Return the memory of this process, bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
