"""How comparisons and their numbers are written."""

from __future__ import annotations

import numpy as np

from smorl.paper.samples import Sample, Source
from smorl.paper.statistics import Interval


def on(source: Source) -> str:
    """The task, to end a sentence with."""
    return f", {source.task}" if source.task else ""


def listed(sample: Sample) -> str:
    """Every seed's number."""
    return ", ".join(f"{value:.4g}" for value in sample.by_seed)


def against(ours: Sample, theirs: Sample) -> str:
    """The means of both."""
    unit = f" {ours.unit}" if ours.unit else ""
    return f"{ours.by_seed.mean():.3f} against {theirs.by_seed.mean():.3f}{unit}"


def difference(gap: Interval, unit: str) -> str:
    """A mean difference; one seed has no interval."""
    said = _number(gap.value)
    if np.isfinite(gap.low):
        said += f" [{_number(gap.low)}, {_number(gap.high)}]"
    return f"difference {said}{f' {unit}' if unit else ''}"


def tuned_only(numbers: str) -> str:
    """Numbers that are no evidence, marked."""
    return f"tuning seeds only: {numbers}"


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # adding 0 makes -0.000 an 0.000
