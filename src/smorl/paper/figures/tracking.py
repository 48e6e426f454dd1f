"""The figure of the tracking study: who is paid, what for, and a filmstrip of the exploit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smorl.paper.evidence import Evidence
from smorl.paper.figures.comparisons import curves_by_task
from smorl.paper.figures.curves import draw_panel, draw_seeds, legend_handles
from smorl.paper.figures.reconstructions import read_picture

# What the object with the goal's ID turns out to be; hatching tells shares apart in grey.
SHARES = {
    "own_puck": ("the puck", "#7fae5f", ""),
    "arm": ("the arm", "#b3452c", "xx"),
    "other_puck": ("another puck", "#d8b365", "//"),
    "hidden": ("hidden", "#c9d3dd", ".."),
    "unclear": ("unclear", "#eeeeee", ""),
    "nobody": ("nobody", "white", "\\\\"),
}
GROUPS = {
    "tracking": "trained\nby ID",
    "matching": "trained by\nmatching",
    "None": "random\nactions",
}
_TWO = "Rearrange 2"


def tracking_figure(evidence: Evidence) -> Any:
    """Shares of frames, rewards against the truth, reward and distance over training; the film."""
    from matplotlib.figure import Figure

    rows = by_group(evidence.studies())
    film = _film(evidence)
    height = 0.0 if film is None else 9.0 * len(film) / film.shape[1] + 0.3
    figure = Figure(figsize=(9.0, 3.9 + height), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(3.9, height)) if height else [figure]
    columns = parts[0].subfigures(1, 3, width_ratios=(1.15, 1, 1.15))
    _shares(columns[0].subplots(), rows)
    _rewards(columns[1].subplots(), rows)
    above, below = columns[2].subplots(2, 1, sharex=True)
    _training(above, rows)
    _distances(below, evidence)
    if film is not None:
        axis = parts[1].subplots()
        axis.imshow(film, interpolation="antialiased")
        axis.set_axis_off()
        axis.set_title(
            "the arm takes the goal's ID (orange; dashed: where the goal is)", fontsize=10
        )
    return figure


def by_group(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The last row of every run, by what it was trained with ("None": random actions)."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in GROUPS}
    for row in rows:  # in order of steps
        found[str(row["trained_by"])][row["run"]] = row
    return {name: list(group.values()) for name, group in found.items() if group}


def _shares(axis, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    below = np.zeros(len(rows))
    for key, (label, colour, hatch) in SHARES.items():
        share = np.array([_mean(group, "by_id", key) for group in rows.values()])
        axis.bar(range(len(rows)), 100 * share, 0.7, below, color=colour, hatch=hatch, ec="black",
                 lw=0.6, label=label)  # fmt: skip
        below += 100 * share
    _ticks(axis, rows)
    axis.set_ylim(0, 100)
    axis.set_ylabel("share of frames [%]")
    axis.set_title("who has the goal's ID?", fontsize=10)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False, fontsize=8)


def _rewards(axis, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """What is paid at the end by ID and by matching, beside what the puck's true place is worth."""
    looks = (
        ("by ID", "by_id", "#b3452c", "xx"),
        ("by matching", "by_matching", "#1b5e9e", ""),
        ("truth", None, "#bbbbbb", "//"),
    )
    for i, (label, way, colour, hatch) in enumerate(looks):
        found = (
            [row["true_reward_at_end"] if way is None else row[way]["reward_at_end"] for row in g]
            for g in rows.values()
        )
        # A study in which no goal meant a puck has no rewards.
        groups = [[value for value in values if value is not None] for values in found]
        places = np.arange(len(rows)) + 0.27 * (i - 1)
        means = [np.mean(values) if values else np.nan for values in groups]
        axis.bar(places, means, 0.25, color=colour, alpha=0.7, hatch=hatch, ec="black", lw=0.6,
                 label=label)  # fmt: skip
        for place, values in zip(places, groups, strict=True):
            axis.plot([place] * len(values), values, ls="", marker="o", ms=3, mfc="white",
                      mec="black")  # fmt: skip
    axis.axhline(0, color="black", lw=0.8)
    _ticks(axis, rows)
    axis.set_ylabel("reward on the last step\n[image coordinates]")
    axis.set_title("paid, and earned", fontsize=10)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False, fontsize=8)


def _training(axis, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """What training paid for the last step of its rollouts, by the run's own reward."""
    for name in ("matching", "tracking"):
        runs = [row["training"] for row in rows.get(name, ()) if row.get("training")]
        if runs:
            lines = [(np.array(run["env_steps"]), np.array(run["paid"])) for run in runs]
            draw_seeds(axis, f"smorl ({name})", lines)
    axis.set_title("over training", fontsize=10)
    axis.set_ylabel("paid at the end\n[image coord.]")
    axis.spines[["top", "right"]].set_visible(False)


def _distances(axis, evidence: Evidence) -> None:
    curves = curves_by_task(evidence, "tracking")[_TWO]
    kinds = {"smorl (matching)": "smorl", "smorl (tracking)": "smorl (tracking)"}
    panel = {label: curves[kind] for label, kind in kinds.items() if curves.get(kind)}
    draw_panel(axis, "", panel)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("mean puck\ndistance [m]")
    axis.legend(handles=legend_handles({_TWO: panel}), loc="upper center",
                bbox_to_anchor=(0.5, -0.45), frameon=False, fontsize=8)  # fmt: skip


def _film(evidence: Evidence) -> np.ndarray | None:
    """The first of the kept filmstrips."""
    paths = sorted(Path(evidence.results / "tracking").glob("exploit*.png"))
    return read_picture(paths[0]) if paths else None


def _ticks(axis, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    names = [f"{GROUPS[name]}\n({len(group)})" for name, group in rows.items()]
    axis.set_xticks(range(len(rows)), names, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _mean(rows: Sequence[Mapping[str, Any]], way: str, key: str) -> float:
    values = [row[way][key] for row in rows if row[way][key] is not None]
    return float(np.mean(values)) if values else 0.0
