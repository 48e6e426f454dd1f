"""Which runs are seeds of one configuration, and what tells configurations apart.

A configuration is everything in a `config.json` but the seed, where files lie, and what only
changes how long a run takes. An option that a config lacks counts as off, so runs from before an
option was added go with those that leave it off. How objects in pictures are followed says nothing
where there is no perception.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from smorl.presets.ours import flat

Settings = Mapping[str, str]  # values as JSON, by dotted field
_NOT_OF_IT = {"seed", "threads", "device", "checkpoint_minutes", "learner.engine"}
_OFF = (None, False, 0)
_SHOWN = 6  # differences that a label lists


class Run(Protocol):
    """What can be grouped: a run's seed, its folder and its settings."""

    @property
    def seed(self) -> int: ...
    @property
    def path(self) -> Path: ...
    @property
    def settings(self) -> Settings: ...


R = TypeVar("R", bound=Run)


def settings_of(config: Mapping[str, Any]) -> Settings:
    """The configuration of a run."""
    found = {name: value for name, value in flat(config) if name not in _NOT_OF_IT}
    if isinstance(eyes := found.get("perception"), str):
        found["perception"] = _without_place(eyes)
    elif "perception" in found:
        found = {name: value for name, value in found.items() if not name.startswith("tracker.")}
    return {n: json.dumps(v, sort_keys=True) for n, v in found.items() if v not in _OFF}


def key_of(settings: Settings) -> str:
    """A short hash, the same for the same configuration."""
    text = json.dumps(dict(settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def by_configuration(runs: Sequence[R]) -> list[list[R]]:
    """Runs of one configuration together, by seed; groups in the order of their first run."""
    groups: dict[str, list[R]] = defaultdict(list)
    for run in runs:
        groups[key_of(run.settings)].append(run)
    return [sorted(group, key=lambda run: (run.seed, run.path)) for group in groups.values()]


def differences(several: Sequence[Settings]) -> list[str]:
    """For each configuration its values of the fields that are not the same in all of them."""
    names = sorted({name for settings in several for name in settings})
    apart = [n for n in names if len({settings.get(n) for settings in several}) > 1]
    said = []
    for settings in several:
        cells = [f"{name}={settings.get(name, 'off').strip(chr(34))}" for name in apart[:_SHOWN]]
        more = [f"and {len(apart) - _SHOWN} more"] if len(apart) > _SHOWN else []
        said.append(", ".join([*cells, *more]))
    return said


def warnings_about(paths: Sequence[Path], runs: Sequence[Run]) -> Iterator[str]:
    """Name runs without a result, and seeds that have several runs of one configuration."""
    have = {run.path for run in runs}
    for path in paths:
        if not (path / "result.json").exists():
            yield f"{path} is not finished."
        elif path not in have:
            yield f"{path} is left out: its environment says no distances to goals."
    for group in by_configuration(runs):
        by_seed: dict[int, list[Run]] = defaultdict(list)
        for run in group:
            by_seed[run.seed].append(run)
        for seed, same in by_seed.items():
            if len(same) > 1:
                names = " and ".join(str(run.path) for run in same)
                yield f"{names} have the same settings and seed {seed}: that is one seed."


def _without_place(name: str) -> str:
    """The preset behind "shipped:scalor-1" or "runs/scalor-1-seed2/weights.safetensors"."""
    path = Path(name.removeprefix("shipped:"))
    folder = path.parent.name if path.suffix == ".safetensors" else path.name
    return re.sub(r"-seed\d+$", "", folder)
