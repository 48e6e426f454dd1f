"""What each part of ours is worth: agents without it, beside default agents, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from smorl.paper.evidence import Evidence
from smorl.paper.worth import Variant, compare, table

FILES = "worth/*/default-seed*.json"
_BASE = "default"
_COLOUR = "#1b5e9e"


def worth_figure(evidence: Evidence) -> Any:
    """A panel for every agent, a row for every variant: how much farther pucks end."""
    from matplotlib.figure import Figure

    panels = {folder.name: compare(folder, _BASE) for folder in _folders(evidence)}
    rows = [len(variants) for variants in panels.values()]
    figure = Figure(figsize=(7.6, 0.9 + 0.3 * sum(rows) + 0.7 * len(rows)), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=rows)[:, 0]
    for axis, (name, variants) in zip(axes, panels.items(), strict=True):
        _draw(axis, name, variants)
    return figure


def worth_tables(evidence: Evidence) -> str:
    """The same as Markdown."""
    parts = [
        f"`{folder.name}`:\n\n{table(compare(folder, _BASE))}" for folder in _folders(evidence)
    ]
    return "\n".join(parts)


def _folders(evidence: Evidence) -> list[Path]:
    return sorted({path.parent for path in evidence.results.glob(FILES)})


def _draw(axis: Any, name: str, variants: list[Variant]) -> None:
    base, *others = variants
    usual = base.distances.mean()
    for row, variant in enumerate(others):
        by_seed = 100 * (variant.distances.mean(1) - usual)
        axis.plot(by_seed, np.full(len(by_seed), row), "o", ms=4, mfc="white", mec="black")
        if (found := variant.difference) is not None:
            low, high = 100 * (found.value - found.low), 100 * (found.high - found.value)
            axis.errorbar(100 * found.value, row, xerr=[[low], [high]], fmt="D", ms=5, capsize=4,
                          color=_COLOUR)  # fmt: skip
    axis.axvline(0, color="black", ls=":", lw=1.4)
    axis.set_yticks(range(len(others)), [v.name.replace("-", " ") for v in others])
    axis.set_ylim(len(others) - 0.5, -0.5)
    axis.set_xlabel("farther than the default [cm]: mean, 95 % interval, seeds")
    axis.set_title(f"{name}: {100 * usual:.1f} cm, {len(base.seeds)} seeds", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
