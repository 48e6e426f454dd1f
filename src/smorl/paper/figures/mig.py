"""The figure of disentanglement (App. A.2), drawn from the file of `smorl analyse mig`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smorl.paper.files import save_figure

# Told apart by hatching, so that grey suffices.
_BARS = {"scalor": ("SCALOR", "#1b5e9e", ""), "vae": ("VAE", "#d1722b", "//")}


def draw_mig(report: Mapping[str, Any], outs: Sequence[Path]) -> list[Path]:
    """Draw `mig_figure` to one file per name in `outs`."""
    return save_figure(mig_figure(report), outs)


def mig_figure(report: Mapping[str, Any]) -> Any:
    """Return a figure with a bar per representation and SCALOR's matrix."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.1))
    _bars(left, report)
    _matrix(figure, right, report)
    return figure


def _bars(axis, report: Mapping[str, Any]) -> None:
    for place, (kind, numbers) in enumerate(report["summary"].items()):
        _, colour, hatch = _BARS[kind]
        values = [model["mig"] for model in report["models"] if model["kind"] == kind]
        axis.bar(place, numbers["mean"], 0.6, color=colour, alpha=0.55, hatch=hatch, ec="black")
        if len(values) > 1:
            axis.errorbar(place, numbers["mean"], numbers["deviation"], color="black", capsize=5)
        spread = np.linspace(-0.15, 0.15, len(values)) if len(values) > 1 else np.zeros(1)
        axis.plot(place + spread, values, ls="", marker="o", ms=4, mfc="white", mec="black")
        axis.annotate(
            f"{numbers['mean']:.2f}",
            (place, max([numbers["mean"] + numbers["deviation"], *values])), xytext=(0, 6),
            textcoords="offset points", fontsize=9, ha="center",
        )  # fmt: skip
    labels = [
        f"{_BARS[kind][0]}\n{n['models']} model{'s' * (n['models'] > 1)}"
        for kind, n in report["summary"].items()
    ]
    axis.set_xticks(range(len(labels)), labels)
    axis.set_xlim(-0.6, len(labels) - 0.4)
    axis.set_ylim(0, 1)
    axis.set_ylabel("mutual information gap")
    axis.set_title("more is better; dots are models", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def _matrix(figure, axis, report: Mapping[str, Any]) -> None:
    """The mean over models; clusters come in the order of the pucks they know most about."""
    matrices = [m["matrix"] for m in report["models"] if m["kind"] == "scalor"]
    if not matrices:
        axis.set_axis_off()
        return
    matrix = np.mean(matrices, axis=0)
    top = max(float(matrix.max()), 1e-9)
    drawn = axis.imshow(matrix, cmap="Greys", vmin=0, vmax=top, aspect="auto")
    for (row, column), value in np.ndenumerate(matrix):
        colour = "white" if value > 0.55 * top else "black"
        axis.text(column, row, f"{value:.2f}", color=colour, ha="center", va="center", fontsize=7)
    codes = [f"cluster {i // 2 + 1} {'xy'[i % 2]}" for i in range(len(matrix))]
    axis.set_xticks(range(matrix.shape[1]), report["factors"], fontsize=8, rotation=30, ha="right")
    axis.set_yticks(range(len(codes)), codes, fontsize=8)
    axis.set_title("what SCALOR's positions know of true places", fontsize=10)
    figure.colorbar(drawn, ax=axis, label="mutual information [nats]")
