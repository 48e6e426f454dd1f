"""A sweep as a table, a picture and a small folder worth keeping."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.cluster.axes import Axis
from smorl.errors import DamagedFile
from smorl.files import copy_file, make_folder
from smorl.formats import read_json
from smorl.paper.figures.curves import DISTANCE
from smorl.paper.progress import evaluations
from smorl.paper.results import KEPT
from smorl.runs.folder import RESULT

_BLUE, _GREY = "#0f3d6b", "#999999"


@dataclass(frozen=True)
class Row:
    """One run: its point, and distances (metres) over environment steps."""

    path: Path
    point: dict[str, str]
    seed: int
    curve: tuple[tuple[int, float], ...]
    distance: float | None  # at the end; None if it did not get there


def read_row(path: Path, point: dict[str, str], seed: int) -> Row:
    """Read what a run has written so far."""
    try:
        distance = float(read_json(path / RESULT)["object_distance"])
    except (DamagedFile, ValueError, KeyError, TypeError):
        distance = None
    return Row(path, point, seed, tuple(evaluations(path)), distance)


def table(rows: Sequence[Row], axes: Sequence[Axis]) -> str:
    """Return a Markdown table, the best point first; runs without an end come last."""
    names = [axis.name for axis in axes]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row.point[name] for name in names)].append(row)
    titles = [*names, "distance [m]", "single runs", "steps"]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for point, group in sorted(groups.items(), key=lambda item: _order(item[1])):
        ends = [row.distance for row in group if row.distance is not None]
        mean = f"**{np.mean(ends):.3f}**" if ends else "-"
        mean += f" ± {np.std(ends):.3f}" if len(ends) > 1 else ""
        single = ", ".join(_single(row) for row in sorted(group, key=lambda row: row.seed))
        steps = max((row.curve[-1][0] for row in group if row.curve), default=0)
        lines.append(f"| {' | '.join([*map(_short, point), mean, single, f'{steps:,}'])} |")
    return "\n".join(lines) + "\n"


def _order(group: Sequence[Row]) -> tuple[bool, float]:
    ends = [row.distance for row in group if row.distance is not None]
    last = [row.curve[-1][1] for row in group if row.curve]
    return not ends, float(np.mean(ends or last or [np.inf]))


def _single(row: Row) -> str:
    if row.distance is not None:
        return f"{row.distance:.3f}"
    return f"stopped at {row.curve[-1][1]:.3f}" if row.curve else "nothing yet"


def _short(value: str) -> str:
    try:
        return f"{float(value):.3g}"
    except ValueError:
        return value


def draw(rows: Sequence[Row], axes: Sequence[Axis], out: Path) -> Path:
    """Draw the curves of all runs, and for every axis what its values led to."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * (1 + len(axes)) + 0.4, 3.4), layout="constrained")
    panels = figure.subplots(1, 1 + len(axes), squeeze=False, sharey=True)[0]
    best = min((row for row in rows if row.distance is not None), key=_end, default=None)
    for row in rows:
        steps, heights = [s / 1e3 for s, _ in row.curve], [d for _, d in row.curve]
        colour = _GREY if row.distance is None else _BLUE
        width = 2.0 if row is best else 0.8
        panels[0].plot(steps, heights, color=colour, lw=width, marker=".")
    panels[0].set_xlabel("environment steps [thousand]")
    panels[0].set_ylabel(DISTANCE)
    for panel, axis in zip(panels[1:], axes, strict=True):
        _draw_axis(panel, axis, [row for row in rows if row.curve], best)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(bottom=0)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    return out


def _draw_axis(panel, axis: Axis, rows: Sequence[Row], best: Row | None) -> None:
    """Finished runs are full dots, those stopped early are hollow, the best has a ring."""
    numbers = axis.kind != "choice"
    for row in rows:
        value = row.point[axis.name]
        place = float(value) if numbers else axis.values.index(value)
        full = row.distance is not None
        face, edge = (_BLUE, _BLUE) if full else ("none", _GREY)
        panel.scatter([place], [_end(row)], s=22, facecolors=face, edgecolors=edge)
        if row is best:
            panel.scatter([place], [_end(row)], s=90, facecolors="none", edgecolors="#d1722b")
    if not numbers:
        panel.set_xticks(range(len(axis.values)), axis.values)
    elif axis.kind == "log":
        panel.set_xscale("log")
        ticks = [axis.low, math.sqrt(axis.low * axis.high), axis.high]
        panel.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
        panel.minorticks_off()  # their labels would lie over each other
    panel.set_xlabel(axis.name)


def _end(row: Row) -> float:
    return row.curve[-1][1] if row.distance is None else row.distance


def keep(rows: Sequence[Row], extra: Sequence[Path], folder: Path) -> list[Path]:
    """Copy the small files of every run, also of those that were stopped, and `extra` files."""
    kept = []
    for row in rows:
        for name in KEPT:
            if (row.path / name).exists():
                copy_file(row.path / name, make_folder(folder / row.path.name) / name)
        kept.append(folder / row.path.name)
    for path in extra:
        copy_file(path, make_folder(folder) / path.name)
        kept.append(folder / path.name)
    return kept
