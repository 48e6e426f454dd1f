"""How methods look in every figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Style:
    """How a method is drawn: told apart by line and marker, so that grey suffices."""

    label: str
    colour: str
    line: Any = "-"  # what matplotlib calls a line style
    marker: str = ""
    rank: int = 0  # the legend's order


STYLES = {
    "smorl": Style("SMORL", "#0f3d6b", "-", "o", 0),
    "smorl-gt": Style("SMORL (GT)", "#1b5e9e", "-", "", 1),
    "smorl (paper)": Style("SMORL (paper's method)", "#4aa3a2", (0, (5, 1)), "P", 1),
    "smorl-gt (paper)": Style("SMORL (GT, paper's method)", "#4aa3a2", (0, (5, 1)), "P", 1),
    "rig": Style("RIG", "#5f9e3f", "--", "s", 2),
    "skewfit": Style("Skew-Fit", "#a8327f", "-.", "^", 3),
    "sac-her": Style("SAC+HER (GT)", "#d1722b", (0, (4, 1, 1, 1, 1, 1)), "D", 4),
    "smorl (tracking)": Style("SMORL, reward by ID", "#b3452c", "--", "X", 5),
    "smorl (matching)": Style("SMORL, reward by matching", "#0f3d6b", "-", "o", 4),
    "smorl-long": Style("SMORL, twice the steps", "#0f3d6b", "-", "o", 0),
    "smorl-usual": Style("SMORL, usual steps", "#6f8fae", (0, (2, 1)), "", 1),
    # The ablation of the set encoder.
    "both": Style("both kinds of heads", "#0f3d6b", "-", "o", 6),
    "conditional": Style("conditional heads only", "#5f9e3f", "--", "s", 7),
    "unconditional": Style("unconditional heads only", "#a8327f", "-.", "^", 8),
    "deepsets": Style("DeepSets, masked", "#d1722b", (0, (4, 1, 1, 1, 1, 1)), "D", 9),
    "deepsets-padded": Style("DeepSets, padded", "#777777", (0, (1, 1)), "v", 10),
}

# Several configurations of one method.
_COLOURS = ("#0f3d6b", "#b3452c", "#5f9e3f", "#a8327f", "#777777", "#d1722b", "#4aa3a2")
_LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (4, 1, 1, 1, 1, 1)))


def style_of(method: str) -> Style:
    """How a method or a variant of an ablation is drawn; configurations of one each their way."""
    if method in STYLES:
        return STYLES[method]
    base, _, rest = method.partition(" #")
    if base in STYLES and rest:
        number, _, what = rest.partition(" ")
        style, other = STYLES[base], int(number) - 1
        colour, line = _COLOURS[other % len(_COLOURS)], _LINES[other % len(_LINES)]
        return replace(style, label=f"{style.label} ({what})", colour=colour, line=line)
    return Style(method, "#555555", rank=len(STYLES))


def rank_of(method: str) -> tuple[int, str]:
    """The order of methods in a legend."""
    return style_of(method).rank, method


def look_of(style: Style) -> dict[str, Any]:
    """The same as the arguments of matplotlib's `plot`."""
    return {
        "color": style.colour,
        "ls": style.line,
        "marker": style.marker,
        "markersize": 4,
        "lw": 1.6,
    }
