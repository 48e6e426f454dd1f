"""Bars as all figures draw them: mean and deviation over seeds, single seeds as dots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smorl.paper.samples import Sample


@dataclass(frozen=True)
class Bar:
    """A bar at `place`; hatching tells it apart in grey. Without a sample: not yet run.

    `reach` is how far the line of doing nothing goes to either side.
    """

    place: float
    sample: Sample | None
    colour: str
    hatch: str = ""
    width: float = 0.7
    reach: float = 0.5


def draw_bars(axis, bars: Sequence[Bar], digits: int = 3) -> None:
    """Draw bars with their values; what doing nothing leaves is a dotted line over each."""
    for bar in bars:
        if bar.sample is None:
            axis.text(bar.place, 0, " not yet run", rotation=90, ha="center", va="bottom",
                      fontsize=8)  # fmt: skip
            continue
        values = bar.sample.by_seed
        mean, deviation = values.mean(), values.std()
        axis.bar(bar.place, mean, bar.width, color=bar.colour, alpha=0.6, hatch=bar.hatch,
                 ec="black", lw=0.8)  # fmt: skip
        if len(values) > 1:
            axis.errorbar(bar.place, mean, deviation, color="black", capsize=4, lw=1)
        spread = 0.5 * bar.width * (np.arange(len(values)) - (len(values) - 1) / 2)
        spread = spread / max(1, len(values) - 1)
        marker = "X" if bar.sample.tuned else "o"
        axis.plot(bar.place + spread, values, ls="", marker=marker, ms=4, mfc="white", mec="black")
        if bar.sample.passive is not None:
            ends = [bar.place - bar.reach, bar.place + bar.reach]
            axis.plot(ends, [bar.sample.passive] * 2, color="black", ls=":", lw=1.4)
        # At the foot, where neither seeds nor lines are.
        axis.annotate(f"{mean:.{digits}f}", (bar.place, 0), xytext=(0, 5),
                      textcoords="offset points", ha="center", fontsize=8,
                      bbox={"fc": "white", "ec": "none", "pad": 1.0})  # fmt: skip
    drawn = [bar.sample for bar in bars if bar.sample is not None]
    tops = [max(float(s.by_seed.max()), s.passive or 0.0) for s in drawn]
    axis.set_ylim(0, max(1.12 * max(tops, default=1.0), axis.get_ylim()[1]))
    axis.spines[["top", "right"]].set_visible(False)


def dotted_handle(label: str = "passive") -> Any:
    """The legend's entry for what doing nothing leaves."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", ls=":", lw=1.4, label=label)


def seed_handles(bars: Sequence[Bar]) -> list[Any]:
    """The legend's entries for single seeds, apart those that were tuned on and are no evidence."""
    from matplotlib.lines import Line2D

    kinds = {bar.sample.tuned for bar in bars if bar.sample is not None}
    looks = {False: ("o", "single seeds"), True: ("X", "seeds that were tuned on")}
    return [
        Line2D([], [], ls="", marker=looks[kind][0], ms=4, mfc="white", mec="black",
               label=looks[kind][1])
        for kind in sorted(kinds)
    ]  # fmt: skip
