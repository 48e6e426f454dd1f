"""Learning curves as in the paper: mean and standard deviation over seeds, passive line dotted.

A run, or a committed result, is a folder with `config.json` and `evaluations.csv`; nothing else
is read.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.errors import DamagedFile, InvalidInput

# Dark and light enough to be told apart in grey.
STYLES = {"smorl-gt": ("#1b5e9e", "SMORL (GT)"), "sac-her": ("#d1722b", "SAC+HER (GT)")}
OTHER = ("#555555", None)


@dataclass(frozen=True)
class Curve:
    """One run: distances (metres) over environment steps."""

    method: str
    env: str
    seed: int
    steps: np.ndarray
    distance: np.ndarray
    passive: float


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
        return "method" in json.loads((path / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return True


def read_curve(path: Path) -> Curve:
    """Read one run folder."""
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
        with (path / "evaluations.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        columns = {k: np.array([float(row[k]) for row in rows]) for k in rows[0]} if rows else {}
        return Curve(
            config["method"],
            config["env"],
            config["seed"],
            columns["env_steps"],
            columns["object_distance"],
            float(columns["passive_distance"][-1]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(
            f"{path} is not a readable run ({error}); restore or remove it."
        ) from error


def band(curves: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return steps, mean and standard deviation over seeds, on the steps all seeds share."""
    last = min(curve.steps[-1] for curve in curves)
    steps = np.unique(np.concatenate([curve.steps for curve in curves]))
    steps = steps[steps <= last]
    values = np.stack([np.interp(steps, curve.steps, curve.distance) for curve in curves])
    return steps, values.mean(0), values.std(0)


def draw_curves(curves: Sequence[Curve], out: Path) -> Path:
    """Draw one panel per environment and save PNG or PDF by the suffix of `out`."""
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for curve in curves:
        panels[curve.env][curve.method].append(curve)
    figure = Figure(figsize=(3.6 * len(panels) + 0.4, 3.2), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, env in zip(axes, sorted(panels), strict=True):
        _panel(axis, env, panels[env])
    axes[0].set_ylabel("mean puck distance at the end [m]")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    return out


def _panel(axis, env: str, methods: dict[str, list[Curve]]) -> None:
    for name in sorted(methods, reverse=True):
        group = methods[name]
        colour, label = STYLES.get(name, OTHER)
        for curve in group:
            axis.plot(curve.steps / 1e3, curve.distance, color=colour, alpha=0.3, lw=0.7)
        steps, mean, deviation = band(group)
        axis.plot(steps / 1e3, mean, color=colour, label=f"{label or name}, {_seeds(group)}")
        axis.fill_between(
            steps / 1e3, mean - deviation, mean + deviation, color=colour, alpha=0.18, lw=0
        )
    passive = np.mean([curve.passive for group in methods.values() for curve in group])
    axis.axhline(passive, color="black", ls=":", lw=1, label="passive")
    axis.set_title(env.removeprefix("smorl/").removesuffix("-v0"), fontsize=10)
    axis.set_xlabel("environment steps [thousand]")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, fontsize=7, loc="lower left")
    axis.spines[["top", "right"]].set_visible(False)


def _seeds(group: Sequence[Curve]) -> str:
    return f"{len(group)} seed{'s' if len(group) > 1 else ''}"
