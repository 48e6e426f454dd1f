"""How cost grows: an update with slots and batch, encoding with rows, a step with objects.

Sizes of one axis take turns within one run, and medians are reported. The exponent is the slope of
log cost over log size, by CPU time: 1 is proportional, 0 costs the same whatever the size. Models
have random weights and pictures are noise, which does not change the cost.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from smorl.bench import command
from smorl.bench.clock import take_turns
from smorl.bench.synthetic import ACTIONS, LAYOUT, NETWORKS, random_batch
from smorl.envs.factory import make_envs
from smorl.learners.sac import Sac, SacConfig
from smorl.presets.perception import get_perception_preset

FAST = "scalor-2"
SIZES = {
    "slots": (3, 6, 12, 24),
    "batch": (64, 256, 1024, 2048),
    "rows": (1, 4, 16, 32, 64, 128),
    "objects": (1, 2, 3, 4, 5, 6),
}
COSTS = {
    "slots": "update, batch 256",
    "batch": "update, 6 slots",
    "rows": "encoding a frame of all rows",
    "objects": "step of 16 tables with picture",
}
Run = Callable[[], object]


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""

    def take(threads: tuple[int, ...], quick: bool) -> dict:
        return measure(threads, repeats=3 if quick else 15)

    return command.run("scaling", __doc__, argv, take, as_text, draw)


def measure(threads: tuple[int, ...], repeats: int) -> dict:
    """Return the cost of every size of every axis, and the exponents."""
    axes = {"slots": slots, "batch": batches, "rows": rows, "objects": objects}
    report: dict = {"machine": command.machine(), "axes": []}
    for count in threads:
        torch.set_num_threads(count)
        for name, cases in axes.items():
            sys.stderr.write(f"{name} {', '.join(map(str, SIZES[name]))}, {count} thread(s)\n")
            cost = take_turns({str(size): run for size, run in cases(SIZES[name])}, repeats)
            spent = np.array([cost[str(size)] for size in SIZES[name]])
            report["axes"].append({
                "axis": name,
                "cost": COSTS[name],
                "threads": count,
                "sizes": list(SIZES[name]),
                "ms": spent[:, 0].tolist(),
                "cpu_ms": spent[:, 1].tolist(),
                "exponent": exponent(SIZES[name], spent[:, 1]),
            })  # fmt: skip
    return report


def exponent(sizes: tuple[int, ...], cost: np.ndarray) -> float:
    """Return k of the power law cost ~ size^k that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(cost), 1)[0])


def slots(sizes: tuple[int, ...]) -> Iterator[tuple[int, Run]]:
    """One update each with sets of so many slots."""
    for size in sizes:
        layout = replace(LAYOUT, slots=size)
        sac = Sac(SacConfig(batch_size=256), NETWORKS, layout, ACTIONS, seed=0)
        batch, noise = random_batch(256, layout, seed=0), torch.zeros(2, 256, ACTIONS)
        yield size, partial(sac.update, batch, noise)


def batches(sizes: tuple[int, ...]) -> Iterator[tuple[int, Run]]:
    """One update each with batches of so many transitions."""
    for size in sizes:
        sac = Sac(SacConfig(batch_size=size), NETWORKS, LAYOUT, ACTIONS, seed=0)
        batch, noise = random_batch(size, LAYOUT, seed=0), torch.zeros(2, size, ACTIONS)
        yield size, partial(sac.update, batch, noise)


def rows(sizes: tuple[int, ...]) -> Iterator[tuple[int, Run]]:
    """One frame each of so many rows, tracked by a model of the fast preset."""
    perception = get_perception_preset(FAST).build().untrained(ACTIONS)
    tracker, rng = perception.tracker(), np.random.default_rng(0)
    side = perception.image_size
    for size in sizes:
        images = rng.integers(0, 256, (size, side, side, 3), np.uint8)
        actions = rng.uniform(-1, 1, (size, ACTIONS)).astype(np.float32)
        carry, _ = tracker.step(tracker.init(size), images, actions)
        yield size, partial(tracker.step, carry, images, actions)


def objects(sizes: tuple[int, ...]) -> Iterator[tuple[int, Run]]:
    """One step each of 16 rows of the visual task with so many pucks."""
    for size in sizes:
        envs = make_envs(f"smorl/VisualRearrange{size}-v0", 16, 1, goal_images=False)
        envs.reset(seed=0)
        yield size, partial(envs.step, np.zeros((16, ACTIONS), np.float32))


def draw(report: dict, path: Path) -> None:
    """Draw CPU time against size, a panel per axis, both logarithmic; dotted is proportional."""
    first = report["axes"][0]["threads"]
    shown = [row for row in report["axes"] if row["threads"] == first]
    figure = Figure(figsize=(2.9 * len(shown), 2.8), layout="constrained")
    for panel, row in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        sizes, spent = np.array(row["sizes"]), np.array(row["cpu_ms"])
        panel.loglog(sizes, spent, marker="o")
        panel.loglog(sizes, spent[0] * sizes / sizes[0], ":", color="gray")
        panel.set_title(f"{row['cost']}\nexponent {row['exponent']:.2f}", fontsize=8)
        panel.set_xlabel(row["axis"])
        panel.set_ylabel("CPU ms")
        panel.set_xticks(sizes, [str(size) for size in sizes])
        panel.yaxis.set_major_formatter("{x:g}")
        panel.minorticks_off()
        panel.set_ylim(min(spent) / 2, max(max(spent) * 2, min(spent) * 20))
    figure.savefig(path)


def as_text(report: dict) -> str:
    """Return the report as a table for people."""
    lines = []
    for row in report["axes"]:
        cells = "".join(f"{size:>9}" for size in row["sizes"])
        spent = "".join(f"{ms:>9.2f}" for ms in row["cpu_ms"])
        title = f"{row['cost']}, {row['threads']} thread(s)"
        lines += [f"{title:50}exponent {row['exponent']:.2f}", f"{row['axis']:10}{cells}"]
        lines += [f"{'CPU ms':10}{spent}", ""]
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
