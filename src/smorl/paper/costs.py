"""What runs cost: minutes on one core, measured where results are committed.

Runs of the `paper` scale were never run here; their minutes follow from measured costs of a step,
an update and a frame (`smorl.training.cost_estimate`), and are there to tell hours from days.
"""

from __future__ import annotations

EVALUATE, STUDY, CLUSTERS, SHOW = 1.0, 0.5, 2.0, 0.5
MIG_MODEL = 0.3  # one model looked at

_FAST = {
    "gt-rearrange-1": 6, "gt-rearrange-2": 8, "gt-rearrange-3": 13, "gt-rearrange-4": 13,
    "sac-rearrange-1": 5, "sac-rearrange-2": 5, "sac-rearrange-3": 6, "sac-rearrange-4": 7,
    "sac-push-1": 5, "sac-push-2": 5,
    "visual-push-1": 25, "visual-push-2": 30, "visual-rearrange-1": 18, "visual-rearrange-2": 19,
    "rig-push-1": 12, "rig-push-2": 14, "rig-rearrange-1": 9, "rig-rearrange-2": 9,
    "rig-rearrange-3": 5,  # its VAE alone
    "skewfit-push-1": 15, "skewfit-push-2": 16, "skewfit-rearrange-1": 11,
    "skewfit-rearrange-2": 10,
    "scalor-1": 10, "scalor-2": 10, "scalor-3": 14, "scalor-4": 20,
}  # fmt: skip
_PAPER_HOURS = {"gt": 11, "sac": 17, "visual": 12, "rig": 27, "skewfit": 25, "scalor": 25}
_DEBUG = 0.1


def minutes(scale: str, name: str) -> float:
    """Return the expected minutes of a run, by its name without seed, e.g. gt-rearrange-2."""
    if scale == "fast":
        return float(_FAST[name])
    return 60.0 * _PAPER_HOURS[name.split("-")[0]] if scale == "paper" else _DEBUG


def said(expected: float) -> str:
    """Return minutes in words: minutes, hours or days, whichever reads best."""
    for size, unit in ((1440.0, "days"), (60.0, "hours")):
        if expected >= 2 * size:
            return f"{expected / size:.0f} {unit}"
    return f"{max(1, round(expected))} min"
