"""Learning curves of the paper's comparisons: on ground truth, from pixels, ablated, twice as long.

Each function takes the results and returns a matplotlib figure; panels without runs say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from smorl.formats import read_json
from smorl.paper.evidence import ABLATION, FIRST_SEED, VARIANTS, Evidence, kind_of
from smorl.paper.figures.bars import Bar, draw_bars
from smorl.paper.figures.curves import (
    DISTANCE,
    Curve,
    draw_panel,
    draw_panels,
    legend_handles,
    panel_of,
    read_curve,
)
from smorl.paper.figures.styles import STYLES, style_of
from smorl.paper.samples import FinalDistances, shown

VISUAL = ("smorl", "smorl (paper)", "rig", "skewfit", "sac-her")
HATCHES = ("", "//", "..", "xx", "oo")  # of the variants of the ablation
_TWO = "Rearrange 2"

Curves = Mapping[str, list[Curve]]


def gt_figure(evidence: Evidence) -> Any:
    """SMORL and SAC+HER with 2, 3 and 4 pucks on ground truth (Fig. 3)."""
    return _row(curves_by_task(evidence, "gt"), [f"Rearrange {n}" for n in (2, 3, 4)],
                ("smorl-gt", "smorl-gt (paper)", "sac-her"))  # fmt: skip


def visual_figure(evidence: Evidence) -> Any:
    """Push and Rearrange with 1 and 2 pucks: four methods (Fig. 4)."""
    from matplotlib.figure import Figure

    found = curves_by_task(evidence, "visual")
    tasks = [f"{task} {n}" for task in ("Push", "Rearrange") for n in (1, 2)]
    figure = Figure(figsize=(7.6, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharey=True)
    draw_panels(figure, axes.ravel(), {task: _only(found[task], VISUAL) for task in tasks}, 3)
    for axis in axes[:, 0]:
        axis.set_ylabel("mean puck distance\nat the end [m]")
    for axis in axes[0]:
        axis.set_xlabel("")
    return figure


def ablation_figure(evidence: Evidence) -> Any:
    """Ways to read a set of objects: learning with 2 pucks, and the end with 1 (App. B)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    panel = _only(curves_by_task(evidence, ABLATION)[_TWO], VARIANTS)
    draw_panel(left, f"{_TWO}, as trained", panel)
    bars = []
    for place, (kind, hatch) in enumerate(zip(VARIANTS, HATCHES, strict=True)):
        tested = FinalDistances(ABLATION, kind, "Rearrange 1", transfer=True)
        bars.append(Bar(place, shown(tested, evidence), style_of(kind).colour, hatch))
    draw_bars(right, bars)
    names = ["both", "cond.\nonly", "uncond.\nonly", "DeepSets\nmasked", "DeepSets\npadded"]
    right.set_xticks(range(len(bars)), names, fontsize=8)
    right.set_title("Rearrange 1, without further training", fontsize=10)
    right.tick_params(labelleft=True)
    left.set_ylabel(DISTANCE)
    figure.legend(
        handles=legend_handles({_TWO: panel}), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def long_figure(evidence: Evidence) -> Any:
    """SMORL with twice the steps beside the runs of usual length, RIG and SAC+HER (App. C)."""
    from matplotlib.figure import Figure

    long, usual = (curves_by_task(evidence, name)[_TWO] for name in ("long", "visual"))
    methods = {"smorl-long": long["smorl"], "smorl-usual": usual["smorl"]}
    methods |= {kind: long[kind] or usual[kind] for kind in ("rig", "sac-her")}
    panels = {f"{_TWO}, from pixels": {kind: group for kind, group in methods.items() if group}}
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    draw_panels(figure, [figure.subplots()], panels, 2)
    return figure


def curves_by_task(evidence: Evidence, folder: str) -> dict[str, dict[str, list[Curve]]]:
    """The curves of a folder of results, by task and by what they are compared as.

    Seeds that were tuned on are drawn, marked, only where there are no others.
    """
    found: dict[str, dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((evidence.results / folder).glob("*/evaluations.csv")):
        curve = read_curve(path.parent)
        kind = kind_of(read_json(path.with_name("config.json")), folder)
        curve = replace(curve, method=kind, tuned=curve.seed < FIRST_SEED)
        found[panel_of(curve.env)][kind].append(curve)
    for kinds in found.values():
        for kind, group in kinds.items():
            kinds[kind] = [curve for curve in group if not curve.tuned] or group
    return found


def _row(
    found: Mapping[str, Curves], tasks: Sequence[str], methods: Sequence[str], columns: int = 6
) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0 * len(tasks) + 0.4, 3.4), layout="constrained")
    axes = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
    draw_panels(figure, axes, {task: _only(found[task], methods) for task in tasks}, columns)
    return figure


def _only(curves: Curves, methods: Sequence[str]) -> dict[str, list[Curve]]:
    """Keep what belongs into a figure, and nothing that was not run."""
    assert all(method in STYLES for method in methods)
    return {method: list(curves[method]) for method in methods if curves.get(method)}
