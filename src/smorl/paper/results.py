"""Finished runs as a table, and as small folders worth committing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from smorl.errors import DamagedFile, RunConflict
from smorl.files import copy_file, make_folder, read_bytes
from smorl.formats import LARGEST_JSON, check_kinds, parse_json, read_json
from smorl.paper.configurations import Settings, by_configuration, differences, settings_of
from smorl.paper.figures.curves import method_of, panel_of

KEPT = ("config.json", "versions.json", "evaluations.csv", "result.json")


# Where the time of a perception stands: of one trained first, and of a VAE trained along.
TRAINED_FIRST, TRAINED_ALONG = "perception/result.json", "timing.jsonl"
_JUDGED = ("object_distance", "passive_distance", "pucks_within_5cm")
_NUMBERS = (*_JUDGED, "seconds")
_KINDS = {"env_steps": int, "updates": int, **dict.fromkeys(_NUMBERS, int | float)}


@dataclass(frozen=True)
class Result:
    """The end of one run: distances in metres, minutes of wall-clock.

    `minutes` are those of the agent. `perception` says what became of the other stages: minutes,
    or the name of what was reused; None if the method sees no pixels.
    """

    path: Path
    preset: str
    method: str
    env: str
    seed: int
    env_steps: int
    updates: int
    distance: float
    passive: float
    within: float
    minutes: float
    perception: str | None
    settings: Settings


def read_result(path: Path) -> Result | None:
    """Return a run's result, or None while it has none, or where nobody judges distances."""
    if not (path / "result.json").exists():
        return None
    try:
        config, result = read_json(path / "config.json"), read_json(path / "result.json")
        if is_unjudged(result):
            return None
        check_kinds(config, {"method": str, "env": str, "seed": int}, "config.json")
        check_kinds(result, _KINDS, "result.json")
        seconds, along = result["seconds"], _seconds_of_vae(path, config)
        return Result(
            path,
            _preset(path),
            method_of(config),
            config["env"],
            config["seed"],
            result["env_steps"],
            result["updates"],
            result["object_distance"],
            result["passive_distance"],
            result["pucks_within_5cm"],
            (seconds - (along or 0.0)) / 60,
            _perception(path, config) if along is None else f"{along / 60:.1f}",
            settings_of(config),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(
            f"{path} has no readable result ({error}); restore or remove it."
        ) from error


def is_unjudged(result: dict[str, Any]) -> bool:
    """Say whether a result is of somebody's own environment, which tells no distances at all."""
    return all(result.get(name, 0.0) is None for name in _JUDGED)


def _preset(path: Path) -> str:
    """The preset a run was started from, as its command says; "-" if it says nothing."""
    versions = path / "versions.json"
    command = read_json(versions).get("command", "") if versions.exists() else ""
    words = str(command).split()
    return words[2] if words[:2] == ["smorl", "train"] and len(words) > 2 else "-"


def _perception(path: Path, config: dict[str, Any]) -> str | None:
    """Minutes of the perception that was trained first, or the name of the one that was reused."""
    name, own = config.get("perception"), path / TRAINED_FIRST
    if own.exists():
        return f"{float(read_json(own)['seconds']) / 60:.1f}"
    # Weights lie in the folder of their run, which says more than their own name.
    return Path(name).parent.name if name and name.endswith("/weights.safetensors") else name


def _seconds_of_vae(path: Path, config: dict[str, Any]) -> float | None:
    """Seconds of a VAE that was trained within the run, None if the method has none."""
    timing = path / TRAINED_ALONG
    if config.get("latent") is None or not timing.exists():
        return None
    rows = [parse_json(line) for line in read_bytes(timing, LARGEST_JSON).splitlines()]
    # A resumed run counts from zero again, so every fall ends a stretch.
    counts = [float(row.get("vae", 0.0)) for row in rows] + [0.0]
    return sum(now for now, following in pairwise(counts) if following < now)


def table(results: Sequence[Result]) -> str:
    """Return a Markdown table: one row per method, environment and configuration, seeds listed.

    Runs that see pixels add two columns: the preset, and the minutes of perception. Where a method
    has several configurations on one environment, a last column says what differs.
    """
    visual = any(result.perception is not None for result in results)
    methods: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        methods[panel_of(result.env), result.method, result.env].append(result)
    rows = [row for key in sorted(methods) for row in _rows(methods[key], visual)]
    columns = ["environment", "method", "seeds", "distance [m]", "single seeds", "passive"]
    columns += ["in 5 cm", "env steps", "updates", "minutes"]
    if visual:
        columns = ["preset", *columns, "perception"]
    apart = any(row[-1] for row in rows)
    columns += ["settings"] if apart else []
    lines = [_line(columns), "|---" * len(columns) + "|"]
    lines += [_line(row if apart else row[:-1]) for row in rows]
    return "\n".join(lines) + "\n"


def _rows(results: Sequence[Result], visual: bool) -> list[list[str]]:
    """One row per configuration of a method on one environment; last what sets it apart."""
    groups = by_configuration(results)
    said = differences([group[0].settings for group in groups])
    rows = []
    for group, what in sorted(zip(groups, said, strict=True), key=lambda pair: pair[0][0].preset):
        cells = _cells(group)
        if visual:
            seen = ", ".join(dict.fromkeys(r.perception or "-" for r in group))
            cells = [", ".join(dict.fromkeys(r.preset for r in group)), *cells, seen]
        rows.append([*cells, what])
    return rows


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(group: Sequence[Result]) -> list[str]:
    distance = np.array([r.distance for r in group])
    return [
        group[0].env.removeprefix("smorl/").removesuffix("-v0"),
        group[0].method,
        _seeds(group),
        f"**{distance.mean():.3f}** ± {distance.std():.3f}",
        ", ".join(f"{d:.3f}" for d in distance),
        f"{np.mean([r.passive for r in group]):.3f}",
        f"{100 * np.mean([r.within for r in group]):.0f} %",
        f"{max(r.env_steps for r in group):,}",
        f"{max(r.updates for r in group):,}",
        ", ".join(f"{r.minutes:.1f}" for r in group),
    ]


def _seeds(group: Sequence[Result]) -> str:
    """How many seeds there are; a repeated one counts once."""
    count = len({result.seed for result in group})
    return str(count) if count == len(group) else f"{count} ({len(group)} runs)"


def keep(results: Sequence[Result], folder: Path) -> list[Path]:
    """Copy the small files of each run to `folder`; never over something different."""
    kept = []
    for result in results:
        target = folder / result.path.name
        names = [*KEPT, *_more(result.path)]
        for name in names:
            source, copy = result.path / name, target / name
            if copy.exists() and read_bytes(copy) != read_bytes(source):
                raise RunConflict(
                    f"{copy} exists and differs from {source}; remove it or keep the run elsewhere."
                )
        for name in names:
            make_folder((target / name).parent)
            copy_file(result.path / name, target / name)
        kept.append(target)
    return kept


def _more(path: Path) -> list[str]:
    """What else says how long perception took."""
    along = read_json(path / "config.json").get("latent") is not None
    names = [TRAINED_FIRST, *([TRAINED_ALONG] if along else [])]
    return [name for name in names if (path / name).exists()]
