"""Named settings. `paper-*` carries the paper's and the release's numbers, the others are fast.

`lite-*` is the paper's method with smaller batches and fewer updates and steps.

Every fast preset is tuned for two CPU cores; docs/learner.md says what it changes and why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from smorl.errors import InvalidInput, did_you_mean
from smorl.presets import fast, latent, paper
from smorl.training.settings import RunConfig


@dataclass(frozen=True)
class Preset:
    """A name for a config; `provenance` says where numbers come from, by dotted field."""

    line: str
    build: Callable[[], RunConfig]
    provenance: dict[str, str] = field(default_factory=dict)


def _task(task: str, n: int) -> str:
    return f"{task} {n} puck{'s' if n > 1 else ''}"


def _long(build: Callable[[str, int], RunConfig], n: int) -> RunConfig:
    return fast.long(build("rearrange", n))


def _lite(build: Callable[[str, int], RunConfig], task: str, n: int) -> RunConfig:
    return paper.lite(build(task, n))


def _all() -> dict[str, Preset]:
    found = {
        "debug": Preset("everything in seconds, to see that it runs", fast.debug),
        "debug-visual": Preset("the same from pixels, every stage", fast.debug_visual),
        "debug-rig": Preset("the same of RIG, every stage", latent.debug_rig),
        "debug-skewfit": Preset("the same of Skew-Fit, every stage", latent.debug_skewfit),
    }
    counts = {"rearrange": range(1, 7), "push": range(1, 4)}
    for task, numbers in counts.items():
        for n in numbers:
            found[f"gt-{task}-{n}"] = Preset(
                f"SMORL on ground truth, {_task(task, n)}, in minutes", partial(fast.smorl, task, n)
            )
    for task, numbers in {"rearrange": range(1, 5), "push": range(1, 3)}.items():
        for n in numbers:
            found[f"visual-{task}-{n}"] = Preset(
                f"SMORL from pixels, {_task(task, n)}: perception first, then the agent",
                partial(fast.visual, task, n),
            )
    for n in range(2, 5):
        found[f"long-gt-rearrange-{n}"] = Preset(
            f"gt-rearrange-{n} for {fast.LONG_STEPS:,} steps", partial(_long, fast.smorl, n)
        )
    for n in range(1, 4):
        found[f"long-visual-rearrange-{n}"] = Preset(
            f"visual-rearrange-{n} for {fast.LONG_STEPS:,} steps", partial(_long, fast.visual, n)
        )
    for task, numbers in {"rearrange": range(1, 5), "push": range(1, 3)}.items():
        for n in numbers:
            found[f"sac-{task}-{n}"] = Preset(
                f"SAC+HER on the flat state, {_task(task, n)}, the budget of gt-{task}-{n}",
                partial(fast.sac_her, task, n),
            )
    latent_counts = {"rearrange": (1, 2, 3), "push": (1, 2)}
    for task, numbers in latent_counts.items():
        for n in numbers:
            budget = f"{_task(task, n)}, the steps of visual-{task}-{n}"
            found[f"rig-{task}-{n}"] = Preset(f"RIG, {budget}", partial(latent.rig, task, n))
            found[f"skewfit-{task}-{n}"] = Preset(
                f"Skew-Fit, {budget}", partial(latent.skewfit, task, n)
            )
    for task, numbers in counts.items():
        for n in numbers:
            found[f"paper-gt-{task}-{n}"] = Preset(
                f"SMORL on ground truth, {_task(task, n)}, the release's settings (hours)",
                partial(paper.smorl, task, n),
                paper.SMORL_PROVENANCE,
            )
    for task, numbers in {"rearrange": range(1, 5), "push": range(1, 3)}.items():
        for n in numbers:
            found[f"paper-sac-{task}-{n}"] = Preset(
                f"SAC+HER on the flat state, {_task(task, n)}, the release's settings (hours)",
                partial(paper.sac_her, task, n),
                paper.SAC_PROVENANCE,
            )
            found[f"passive-{task}-{n}"] = Preset(
                f"do nothing, {_task(task, n)}: the dotted line", partial(fast.passive, task, n)
            )
    for task, numbers in {"rearrange": range(1, 4), "push": range(1, 3)}.items():
        for n in numbers:
            found[f"paper-visual-{task}-{n}"] = Preset(
                f"SMORL from pixels, {_task(task, n)}, the paper's settings (days)",
                partial(paper.visual, task, n),
                paper.VISUAL_PROVENANCE,
            )
    for n in range(2, 5):
        found[f"lite-gt-rearrange-{n}"] = Preset(
            f"paper-gt-rearrange-{n}, batch 512, half an update per step, "
            f"{paper.LITE_STEPS:,} steps",
            partial(_lite, paper.smorl, "rearrange", n),
            paper.SMORL_PROVENANCE | paper.LITE_PROVENANCE,
        )
    for task in ("rearrange", "push"):
        for n in (1, 2):
            found[f"lite-visual-{task}-{n}"] = Preset(
                f"paper-visual-{task}-{n} through the fast SCALOR, batch 512, half an update per "
                f"step, {paper.LITE_STEPS:,} steps",
                partial(_lite, paper.visual, task, n),
                paper.VISUAL_PROVENANCE | paper.LITE_PROVENANCE,
            )
    for task, numbers in latent_counts.items():
        for n in numbers:
            released = f"{_task(task, n)}, the release's settings (days)"
            found[f"paper-rig-{task}-{n}"] = Preset(
                f"RIG, {released}", partial(latent.rig_paper, task, n), latent.RIG_PROVENANCE
            )
            found[f"paper-skewfit-{task}-{n}"] = Preset(
                f"Skew-Fit, {released}",
                partial(latent.skewfit_paper, task, n),
                latent.SKEWFIT_PROVENANCE,
            )
    return found


PRESETS = _all()


def get_preset(name: str) -> Preset:
    """Return a preset by name."""
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS)
        raise InvalidInput(f"unknown preset {name!r}.{hint} `smorl presets` lists them.")
    return PRESETS[name]
