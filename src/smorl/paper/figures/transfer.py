"""Other numbers of pucks than in training (Fig. 5): bars at the end, beside agents at home."""

from __future__ import annotations

from typing import Any

from smorl.paper.evidence import Evidence
from smorl.paper.figures.bars import Bar, dotted_handle, draw_bars, seed_handles
from smorl.paper.figures.curves import DISTANCE
from smorl.paper.samples import FinalDistances, shown

_MOVED, _HOME = ("#1b5e9e", ""), ("#7fae5f", "//")


def ood_figure(evidence: Evidence) -> Any:
    """SMORL trained with 2 pucks, tested with 1, 2 and 3; beside it, trained with 1."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(6.2, 4.0), layout="constrained")
    axis = figure.subplots()
    tested = {n: FinalDistances("ood", "smorl", f"Rearrange {n}", transfer=True) for n in (1, 3)}
    tested[2] = FinalDistances("visual", "smorl", "Rearrange 2")
    home = shown(FinalDistances("visual", "smorl", "Rearrange 1"), evidence)
    bars = [Bar(0.8, shown(tested[1], evidence), *_MOVED, width=0.36, reach=0.2)]
    bars += [Bar(1.2, home, *_HOME, width=0.36, reach=0.2)] if home is not None else []
    bars += [Bar(n, shown(tested[n], evidence), *_MOVED, width=0.36, reach=0.2) for n in (2, 3)]
    draw_bars(axis, bars)
    axis.set_xticks((1, 2, 3), ("1 puck", "2 pucks\n(as trained)", "3 pucks\n(beyond the paper)"))
    axis.set_xlim(0.4, 3.6)
    axis.set_xlabel("tested on Visual Rearrange with")
    axis.set_ylabel(DISTANCE)
    looks = {"trained with 2 pucks": _MOVED} | ({"trained with 1 puck": _HOME} if home else {})
    handles = [
        Patch(fc=colour, alpha=0.6, ec="black", hatch=hatch, label=f"SMORL, {name}")
        for name, (colour, hatch) in looks.items()
    ]
    handles = [*handles, *seed_handles(bars), dotted_handle()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure
