"""The figure of appearance clusters (App. A.1), drawn from the file of `smorl analyse clusters`.

Colours are those of the pictures; what counts in grey are the markers, one per true identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smorl.paper.files import save_figure

_MARKERS = "os^vPX"  # of pucks
_OTHERS = {"arm": "D", "false": "x", "unclear": "+"}
_HALF = (20.0, 24.0)  # half width and height of a crop with its number, in points (1/72")
_REACH = 1e3  # how far beyond the centres the borders of the partition go, in their own extent


def draw_clusters(report: Mapping[str, Any], outs: Sequence[Path]) -> list[Path]:
    """Draw `clusters_figure` to one file per name in `outs`."""
    return save_figure(clusters_figure(report), outs)


def clusters_figure(report: Mapping[str, Any]) -> Any:
    """Return a figure with points, partition and an example crop per cluster."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axis = figure.subplots()
    plane, centres = np.array(report["plane"]), np.array(report["centres"])
    _points(axis, report, plane)
    _frame(axis, plane)
    for start, end in partition_lines(centres):
        axis.plot(*zip(start, end, strict=True), color="black", ls="--", lw=1, zorder=3)
    shares = [f"{100 * share:.0f} %" for share in report["explained"]]
    axis.set_xlabel(f"first principal component ({shares[0]} of the variance)")
    axis.set_ylabel(f"second principal component ({shares[1]})")
    axis.set_title(_title(report), fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=_handles(report), loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )
    _crops(axis, report, plane)
    return figure


def partition_lines(centres: NDArray[np.float64]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the straight borders (start, end) between the cells nearest to each centre (K, 2).

    Endless ones are cut far outside.
    """
    from scipy.spatial import Voronoi

    middle, extent = centres.mean(0), max(float(np.ptp(centres, axis=0).max()), 1e-9)
    # Distant points all around make every cell of a centre finite.
    ring = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]) * _REACH * extent + middle
    diagram = Voronoi(np.concatenate([centres, ring]))
    for pair, ends in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True):
        if max(pair) < len(centres):
            yield diagram.vertices[ends[0]], diagram.vertices[ends[1]]


def _points(axis, report: Mapping[str, Any], plane: NDArray[np.float64]) -> None:
    colour, who = np.clip(np.array(report["colour"]), 0, 1), np.array(report["identity"])
    for i, name in enumerate(report["names"]):
        own, marker = who == i, _marker(i, name)
        line = 0.8 if marker in "x+" else 0.15
        edge = {} if marker in "x+" else {"edgecolors": "black"}
        axis.scatter(*plane[own].T, c=colour[own], marker=marker, s=12, lw=line, **edge)


def _frame(axis, plane: NDArray[np.float64]) -> None:
    """Leave room for crops around the points."""
    low, high = plane.min(0), plane.max(0)
    room = 0.12 * (high - low) + 1e-9
    axis.set_xlim(low[0] - room[0], high[0] + room[0])
    axis.set_ylim(low[1] - room[1], high[1] + 2 * room[1])


def _crops(axis, report: Mapping[str, Any], plane: NDArray[np.float64]) -> None:
    """Put each cluster's example and its number where they hide no others and few points."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage, TextArea, VPacker

    axis.figure.draw_without_rendering()  # the layout decides where a point is on the page
    scale = 72 / axis.figure.dpi
    page = axis.transData.transform(plane) * scale
    edges = axis.get_window_extent().get_points() * scale
    examples = [page[example["point"]] for example in report["examples"]]
    taken = list(examples)
    for number, (example, point) in enumerate(zip(report["examples"], examples, strict=True), 1):
        offset = free_place(point, page, taken, edges)
        taken.append(point + offset)
        picture = OffsetImage(np.array(example["crop"], np.uint8), zoom=1.2, resample=True)
        label = TextArea(f"cluster {number}", textprops={"fontsize": 7})
        box = AnnotationBbox(
            VPacker(children=[label, picture], align="center", pad=0, sep=1),
            tuple(plane[example["point"]]),
            xybox=tuple(offset),
            boxcoords="offset points",
            pad=0.15,
            arrowprops={"arrowstyle": "-", "lw": 1},
            bboxprops={"lw": 0.8},
            zorder=5,
        )
        axis.add_artist(box)
        place = plane[example["point"]]
        for colour, width in (("white", 3.0), ("black", 1.4)):  # seen on light and dark alike
            axis.plot(*place, marker="o", ms=8, mfc="none", mec=colour, mew=width, zorder=4)


def free_place(
    point: NDArray[np.float64],
    points: NDArray[np.float64],
    taken: Sequence[NDArray[np.float64]],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the offset from `point` at which a crop hides least; all lengths in points (1/72").

    Never outside `edges` (lower left, upper right) or over the `taken` ones if that can be helped.
    """
    angles = np.arange(0, 2 * np.pi, np.pi / 8)
    rings = [r * np.stack([np.cos(angles), np.sin(angles)], 1) for r in (48.0, 64.0, 84.0, 110.0)]
    offsets = np.concatenate(rings)
    half = np.array(_HALF)

    def cost(offset: NDArray[np.float64]) -> float:
        middle = point + offset
        inside = (middle - half >= edges[0]).all() and (middle + half <= edges[1]).all()
        others = [o for o in taken if o is not point]
        beside = [(np.abs(middle - other) < 1.9 * half).all() for other in others]
        hidden = (np.abs(points - middle) < half).all(1).sum()
        return 1e6 * (not inside) + 1e5 * sum(beside) + hidden + np.hypot(*offset) / 20

    return offsets[int(np.argmin([cost(offset) for offset in offsets]))]


def _title(report: Mapping[str, Any]) -> str:
    scores = [report[name] for name in ("purity", "adjusted_rand")]
    said = ["-" if score is None else f"{score:.3f}" for score in scores]
    return (
        f"{report['points']} detections, {report['clusters']} clusters: "
        f"purity {said[0]}, adjusted Rand index {said[1]}"
    )


def _handles(report: Mapping[str, Any]) -> list:
    from matplotlib.lines import Line2D

    who = np.array(report["identity"])
    handles = [
        Line2D([], [], color="black", ls="", marker=_marker(i, name), mfc="none", ms=5,
               label=f"{name} ({int((who == i).sum())})")
        for i, name in enumerate(report["names"])
        if (who == i).any()
    ]  # fmt: skip
    return [*handles, Line2D([], [], color="black", ls="--", lw=1, label="k-means partition")]


def _marker(index: int, name: str) -> str:
    return _OTHERS.get(name, _MARKERS[index % len(_MARKERS)])
