"""Finished runs as a table, and as small folders worth committing."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.errors import DamagedFile, RunConflict

KEPT = ("config.json", "versions.json", "evaluations.csv", "result.json")


@dataclass(frozen=True)
class Result:
    """The end of one run: distances in metres, minutes of wall-clock."""

    path: Path
    method: str
    env: str
    seed: int
    env_steps: int
    distance: float
    passive: float
    within: float
    minutes: float


def read_result(path: Path) -> Result | None:
    """Return a run's result, or None while it has none."""
    if not (path / "result.json").exists():
        return None
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
        result = json.loads((path / "result.json").read_text("utf-8"))
        return Result(
            path,
            config["method"],
            config["env"],
            config["seed"],
            result["env_steps"],
            result["object_distance"],
            result["passive_distance"],
            result["pucks_within_5cm"],
            result["seconds"] / 60,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(
            f"{path} has no readable result ({error}); restore or remove it."
        ) from error


def table(results: Sequence[Result]) -> str:
    """Return a Markdown table: one row per method and environment, every seed listed."""
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.env, result.method].append(result)
    lines = [
        "| environment | method | seeds | distance [m] | single seeds | passive | in 5 cm | "
        "env steps | minutes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (env, method), group in sorted(groups.items()):
        group = sorted(group, key=lambda r: r.seed)
        distance = np.array([r.distance for r in group])
        lines.append(
            f"| {env.removeprefix('smorl/').removesuffix('-v0')} | {method} | {len(group)} "
            f"| **{distance.mean():.3f}** ± {distance.std():.3f} "
            f"| {', '.join(f'{d:.3f}' for d in distance)} "
            f"| {np.mean([r.passive for r in group]):.3f} "
            f"| {100 * np.mean([r.within for r in group]):.0f} % "
            f"| {max(r.env_steps for r in group):,} "
            f"| {', '.join(f'{r.minutes:.1f}' for r in group)} |"
        )
    return "\n".join(lines) + "\n"


def keep(results: Sequence[Result], folder: Path) -> list[Path]:
    """Copy the small files of each run to `folder`; never over something different."""
    kept = []
    for result in results:
        target = folder / result.path.name
        for name in KEPT:
            source, copy = result.path / name, target / name
            if copy.exists() and copy.read_bytes() != source.read_bytes():
                raise RunConflict(
                    f"{copy} exists and differs from {source}; remove it or keep the run elsewhere."
                )
        target.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            shutil.copyfile(result.path / name, target / name)
        kept.append(target)
    return kept
