"""What a setting is worth: agents with one thing changed, beside those without the change.

Reads a folder of what `smorl evaluate RUN --json` printed, one file per agent, VARIANT-seedN.json.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smorl.errors import InvalidInput, did_you_mean
from smorl.formats import check_kinds, read_json, understood
from smorl.paper.statistics import Interval, Scores, mean_difference

_NAME = re.compile(r"(.+)-seed(\d+)\.json")
_NUMBER = int | float
_KINDS = {
    "distances": [_NUMBER], "passive_distances": [_NUMBER],
    "pucks_within_5cm": _NUMBER, "tables_within_4cm": _NUMBER,
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """The agents of one variant: distances (seeds, episodes) in metres, shares over the seeds."""

    name: str
    seeds: tuple[int, ...]
    distances: Scores
    within_5cm: float
    tables_within_4cm: float
    difference: Interval | None  # of the distance to the base's; None: fewer than two seeds of one


def compare(folder: Path, base: str) -> list[Variant]:
    """Return the base and every other variant, by distance."""
    found: dict[str, dict[int, dict]] = defaultdict(dict)
    for path in sorted(folder.glob("*.json")):
        if name := _NAME.fullmatch(path.name):
            found[name[1]][int(name[2])] = _read(path)
    if not found:
        raise InvalidInput(
            f"{folder} has no files VARIANT-seedN.json; `smorl evaluate RUN --json` prints one."
        )
    if base not in found:
        hint = did_you_mean(base, found)
        raise InvalidInput(f"{folder} has no variant {base!r}; it has {', '.join(found)}.{hint}")
    _refuse_other_episodes(folder, found)
    beside = _distances(found[base])
    variants = [_variant(name, rows, beside, name == base) for name, rows in found.items()]
    return sorted(variants, key=lambda v: (v.name != base, v.distances.mean()))


def table(variants: list[Variant]) -> str:
    """Return a Markdown table; the first variant is what the others are compared with."""
    lines = [
        "| variant | seeds | distance [m] | single seeds | difference, 95 % interval "
        "| pucks in 5 cm | all in 4 cm |",
        "|---" * 7 + "|",
    ]
    for v in variants:
        means = v.distances.mean(1)
        single, d = ", ".join(f"{m:.3f}" for m in means), v.difference
        told = "-" if d is None else f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
        lines.append(
            f"| {v.name} | {len(v.seeds)} | **{means.mean():.3f}** | {single} | {told} "
            f"| {100 * v.within_5cm:.0f} % | {100 * v.tables_within_4cm:.0f} % |"
        )
    return "\n".join(lines) + "\n"


def _read(path: Path) -> dict:
    row = read_json(path)
    with understood(path, "an evaluation"):
        check_kinds(row, _KINDS, "evaluation")
        assert len(row["distances"]) == len(row["passive_distances"]), "as many distances"
    return row


def _refuse_other_episodes(folder: Path, found: dict[str, dict[int, dict]]) -> None:
    """Differences are of the same episodes: as many, and as hard."""
    rows = [row for variant in found.values() for row in variant.values()]
    if len({tuple(row["passive_distances"]) for row in rows}) > 1:
        raise InvalidInput(
            f"the files of {folder} are of different episodes; evaluate all with the same "
            "--episodes, --seed and --env."
        )


def _distances(rows: dict[int, dict]) -> Scores:
    return np.array([rows[seed]["distances"] for seed in sorted(rows)], np.float64)


def _variant(name: str, rows: dict[int, dict], beside: Scores, is_base: bool) -> Variant:
    mine = _distances(rows)
    enough = min(len(mine), len(beside)) > 1 and not is_base
    return Variant(
        name, tuple(sorted(rows)), mine,
        float(np.mean([row["pucks_within_5cm"] for row in rows.values()])),
        float(np.mean([row["tables_within_4cm"] for row in rows.values()])),
        mean_difference(mine, beside) if enough else None,
    )  # fmt: skip
