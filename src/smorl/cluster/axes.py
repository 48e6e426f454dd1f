"""What a sweep varies: choices `learner.lr=1e-3,2e-3`, or ranges `learner.lr=log(1e-4,1e-2)`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from smorl.errors import InvalidInput

_RANGE = re.compile(r"(log|uniform|int)\((.*)\)")
_EXAMPLES = (
    "learner.lr=1e-3,2e-3 or, with --search, learner.lr=log(1e-4,1e-2), uniform(0,1), int(1,8)"
)


@dataclass(frozen=True)
class Axis:
    """A setting by its dotted name, and the values or the range it takes."""

    name: str
    kind: Literal["choice", "log", "uniform", "int"]
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0


def parse_axis(text: str) -> Axis:
    """Read one `--set`."""
    name, given, rest = text.partition("=")
    if not given or not name or not rest:
        raise InvalidInput(f"--set {text} must look like {_EXAMPLES}.")
    found = _RANGE.fullmatch(rest)
    if found is None:
        return Axis(name, "choice", tuple(_split(rest, text)))
    kind, parts = found[1], _split(found[2], text)
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise InvalidInput(f"--set {text}: {kind} takes two numbers, as in {_EXAMPLES}.") from None
    positive = kind != "log" or low > 0
    whole = kind != "int" or (low.is_integer() and high.is_integer())
    if not (math.isfinite(low) and math.isfinite(high) and low < high and positive and whole):
        raise InvalidInput(
            f"--set {text}: the first number must be below the second, above 0 for log, and both "
            "whole for int."
        )
    return Axis(name, kind, (), low, high)  # pyright: ignore[reportArgumentType]


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Read all `--set`; each setting may be varied once."""
    axes = tuple(map(parse_axis, texts))
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"--set {name} is given twice; list its values in one.")
    return axes


def grid(axes: Sequence[Axis]) -> list[dict[str, str]]:
    """Return every combination of choices."""
    for axis in axes:
        if axis.kind != "choice":
            raise InvalidInput(
                f"--set {axis.name}={axis.kind}(...) is a range, which a grid cannot list; give "
                "values, or add --search N."
            )
    names = [axis.name for axis in axes]
    points = product(*(axis.values for axis in axes))
    return [dict(zip(names, point, strict=True)) for point in points]


def point_name(point: dict[str, str]) -> str:
    """Return a folder name that says what was set."""
    text = ",".join(f"{name}={value}" for name, value in point.items())
    return re.sub(r"[^A-Za-z0-9_.,=+()-]", "+", text)


def _split(text: str, whole: str) -> list[str]:
    """Split at commas that are not within parentheses, as lists of numbers have some."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part.strip() for part in parts]
    if not all(parts) or len(set(parts)) < len(parts):
        raise InvalidInput(f"--set {whole} has an empty or a repeated value; use {_EXAMPLES}.")
    return parts
