"""Learning curves as in the paper: mean and standard deviation over seeds, passive line dotted.

A run, or a committed result, is a folder with `config.json` and `evaluations.csv`; nothing else
is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from smorl.errors import DamagedFile, InvalidInput
from smorl.files import read_bytes
from smorl.formats import LARGEST_JSON, check_kinds, read_json
from smorl.paper.configurations import Settings, by_configuration, differences, settings_of
from smorl.paper.figures.styles import look_of, rank_of, style_of
from smorl.paper.files import save_figure

DISTANCE = "mean puck distance at the end [m]"
Line = tuple[np.ndarray, np.ndarray]  # environment steps, and a height at each


@dataclass(frozen=True)
class Curve:
    """One run: distances (metres) over environment steps."""

    method: str
    env: str
    seed: int
    steps: np.ndarray
    distance: np.ndarray
    passive: float
    path: Path = Path()
    settings: Settings = field(default_factory=dict)
    tuned: bool = False  # a result of the paper's figures that is no evidence


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """Return every folder below `folders` that holds a run of an agent, sorted."""
    found = sorted({p.parent for folder in folders for p in Path(folder).rglob("config.json")})
    runs = [path for path in found if (path / "evaluations.csv").exists() and _of_agent(path)]
    if not runs:
        names = ", ".join(map(str, folders))
        raise InvalidInput(f"no runs with evaluations in {names}; `smorl train` makes them.")
    return runs


def _of_agent(path: Path) -> bool:
    """Perception runs have no method. What cannot be read is left for `read_curve` to report."""
    try:
        return "method" in read_json(path / "config.json")
    except DamagedFile:
        return True


def method_of(config: dict[str, Any]) -> str:
    """The method of a run; rewarded by tracker ID, or all as in the paper, it is one of its own."""
    if config.get("goals", {}).get("reward") == "tracking":
        return config["method"] + " (tracking)"
    return config["method"] + (" (paper)" if _as_in_the_paper(config) else "")


def _as_in_the_paper(config: dict[str, Any]) -> bool:
    networks = config.get("networks", {})
    if not config["method"].startswith("smorl") or networks.get("matched", True):
        return False
    from smorl.presets.ours import papers_method  # here, as it takes a second

    return papers_method(config)


def has_curve(path: Path) -> bool:
    """Say whether there is anything to draw of a run: some evaluation, with distances.

    A run that was just begun has none yet, and somebody's own environment may tell no distances.
    """
    if not (path / "evaluations.csv").exists():
        return False
    try:
        rows = _evaluations(path)
    except (OSError, ValueError, csv.Error, DamagedFile):
        return True  # whoever reads it says what is wrong
    return any(row.get("object_distance") != "" for row in rows)


def _evaluations(path: Path) -> list[dict[str, str]]:
    text = read_bytes(path / "evaluations.csv", LARGEST_JSON).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def read_curve(path: Path) -> Curve:
    """Read one run folder."""
    try:
        config = read_json(path / "config.json")
        check_kinds(config, {"method": str, "env": str, "seed": int}, "config.json")
        rows = _evaluations(path)
        names = ("env_steps", "object_distance", "passive_distance")
        columns = {k: np.array([float(row[k]) for row in rows]) for k in names}
        if not rows or not all(np.isfinite(column).all() for column in columns.values()):
            raise ValueError("evaluations.csv has no rows, or rows without numbers")
        return Curve(
            method_of(config),
            config["env"],
            config["seed"],
            columns["env_steps"],
            columns["object_distance"],
            float(columns["passive_distance"][-1]),
            path,
            settings_of(config),
        )
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise DamagedFile(
            f"{path} is not a readable run ({error}); restore or remove it."
        ) from error


def band(seeds: Sequence[Line]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return steps, mean and standard deviation over seeds, on the steps all seeds share."""
    last = min(steps[-1] for steps, _ in seeds)
    shared = np.unique(np.concatenate([steps for steps, _ in seeds]))
    shared = shared[shared <= last]
    values = np.stack([np.interp(shared, steps, heights) for steps, heights in seeds])
    return shared, values.mean(0), values.std(0)


def panel_of(env: str) -> str:
    """The task of an environment, as in "Rearrange 2"; states and pictures of it are compared."""
    name = env.removeprefix("smorl/").removesuffix("-v0").removeprefix("Visual")
    return re.sub(r"(?<=\D)(\d+)$", r" \1", name)


def draw_curves(curves: Sequence[Curve], out: Path) -> Path:
    """Draw one panel per task, one legend for all, and save PNG or PDF by the suffix of `out`."""
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[Curve]]] = defaultdict(dict)
    for (panel, method), group in _by_method(curves).items():
        panels[panel] |= by_setting(method, group)
    width = 3.6 if len(panels) < 4 else 3.0
    figure = Figure(figsize=(width * len(panels) + 0.4, 3.4), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    draw_panels(figure, axes, {name: panels[name] for name in sorted(panels)})
    return save_figure(figure, [out])[0]


def _by_method(curves: Sequence[Curve]) -> dict[tuple[str, str], list[Curve]]:
    groups: dict[tuple[str, str], list[Curve]] = defaultdict(list)
    for curve in curves:
        groups[panel_of(curve.env), curve.method].append(curve)
    return groups


def by_setting(method: str, group: Sequence[Curve]) -> dict[str, list[Curve]]:
    """A method's curves by what they are drawn as; of several configurations each is one line."""
    apart = by_configuration(group)
    if len(apart) == 1:
        return {method: apart[0]}
    said = differences([curves[0].settings for curves in apart])
    return {
        f"{method} #{number} {what}": curves
        for number, (what, curves) in enumerate(zip(said, apart, strict=True), 1)
    }


def draw_panels(
    figure, axes, panels: Mapping[str, Mapping[str, list[Curve]]], columns: int = 6
) -> None:
    """Fill `axes`, which share their heights, with a panel each; one legend for all below."""
    for axis, (name, methods) in zip(axes, panels.items(), strict=True):
        draw_panel(axis, name, methods)
    axes[0].set_ylim(bottom=0)  # shared, so only after every panel had its say
    axes[0].set_ylabel(DISTANCE)
    handles = legend_handles(panels)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def draw_panel(axis, name: str, methods: Mapping[str, list[Curve]]) -> None:
    """Draw the curves of one task by method, and the line of doing nothing."""
    for method in sorted(methods, key=rank_of, reverse=True):
        if method == "passive":  # the dotted line below
            continue
        draw_seeds(axis, method, [(curve.steps, curve.distance) for curve in methods[method]])
    if methods:
        passive = np.mean([curve.passive for group in methods.values() for curve in group])
        axis.axhline(passive, color="black", ls=":", lw=1)
    else:
        axis.text(0.5, 0.5, "not yet run", transform=axis.transAxes, ha="center", va="center")
        axis.set_xticks([])
    axis.set_title(name, fontsize=10)
    axis.set_xlabel("environment steps [thousand]")
    axis.set_xlim(left=0)
    axis.spines[["top", "right"]].set_visible(False)


def draw_seeds(axis, method: str, seeds: Sequence[Line]) -> None:
    """Draw the lines of one method: seeds thin, their mean thick, the deviation as a band."""
    style = style_of(method)
    for steps, heights in seeds:
        axis.plot(steps / 1e3, heights, color=style.colour, alpha=0.35, lw=0.6)
    steps, mean, deviation = band(seeds)
    axis.plot(steps / 1e3, mean, **look_of(style), markevery=max(1, len(steps) // 5))
    axis.fill_between(
        steps / 1e3, mean - deviation, mean + deviation, color=style.colour, alpha=0.18, lw=0
    )


def legend_handles(panels: Mapping[str, Mapping[str, list[Curve]]]) -> list:
    """One legend entry per method, with how many seeds its curves have, and the passive line."""
    from matplotlib.lines import Line2D

    counts: dict[str, set[int]] = defaultdict(set)
    tuned = set()
    for methods in panels.values():
        for method, group in methods.items():
            counts[method].add(len({curve.seed for curve in group}))
            tuned |= {method for curve in group if curve.tuned}
    counts.pop("passive", None)
    found = [
        Line2D([], [], label=f"{style_of(m).label}, {_seeds(counts[m], m in tuned)}",
               **look_of(style_of(m)))
        for m in sorted(counts, key=rank_of)
    ]  # fmt: skip
    return [*found, Line2D([], [], color="black", ls=":", lw=1, label="passive")]


def _seeds(counts: set[int], tuned: bool) -> str:
    few, many = min(counts), max(counts)
    number = f"{few}" if few == many else f"{few} to {many}"
    return f"{number} {'tuning ' if tuned else ''}seed{'' if many == 1 else 's'}"
