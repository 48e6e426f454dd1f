"""Every figure of the paper, and one of ours, from `results/`: which there are, and how to draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smorl.errors import InvalidInput, did_you_mean
from smorl.files import make_folder
from smorl.paper.evidence import Evidence, NotYetRun
from smorl.paper.figures.clusters import clusters_figure
from smorl.paper.figures.comparisons import ablation_figure, gt_figure, long_figure, visual_figure
from smorl.paper.figures.mig import mig_figure
from smorl.paper.figures.reconstructions import reconstructions_figure
from smorl.paper.figures.tracking import tracking_figure
from smorl.paper.figures.transfer import ood_figure
from smorl.paper.figures.worth import FILES, worth_figure, worth_tables
from smorl.paper.files import SUFFIXES, save_figure


@dataclass(frozen=True)
class PaperFigure:
    """A figure: `build` returns it as matplotlib has it, from files like `files` in the results.

    `paper_steps` is how many environment steps the paper's runs have, None if it has no runs.
    `table` returns its numbers as Markdown, where no claim of the paper lists them.
    """

    name: str
    title: str
    files: str
    build: Callable[[Evidence], Any]
    paper_steps: int | None = None
    table: Callable[[Evidence], str] | None = None


def _clusters(evidence: Evidence) -> Any:
    return clusters_figure(evidence.report("clusters") or {})


def _mig(evidence: Evidence) -> Any:
    return mig_figure(evidence.report("mig") or {})


_RUNS = "*/evaluations.csv"
FIGURES: dict[str, PaperFigure] = {
    figure.name: figure
    for figure in (
        PaperFigure("gt", "SMORL and SAC+HER on ground truth (Fig. 3)", f"gt/{_RUNS}", gt_figure,
                    500_000),
        PaperFigure("visual", "SMORL and the baselines from pixels (Fig. 4)", f"visual/{_RUNS}",
                    visual_figure, 500_000),
        PaperFigure("ood", "Trained with 2 objects, tested with 1 and 3 (Fig. 5)",
                    "ood/*-on-*.json", ood_figure, 500_000),
        PaperFigure("clusters", "Clusters of appearance (App. A.1)", "analysis/clusters.json",
                    _clusters),
        PaperFigure("mig", "Disentanglement (App. A.2)", "analysis/mig.json", _mig),
        PaperFigure("reconstructions", "What SCALOR makes of an episode (App. A.3)",
                    "analysis/reconstructions-*.png", reconstructions_figure),
        PaperFigure("ablation", "Kinds of attention heads, and DeepSets (App. B)",
                    f"ablation/{_RUNS}", ablation_figure, 500_000),
        PaperFigure("long", "Twice the training (App. C)", f"long/{_RUNS}", long_figure, 1_000_000),
        PaperFigure("tracking", "The reward by tracker ID and its exploit (App. on tracking)",
                    "tracking/*.json", tracking_figure, 500_000),
        PaperFigure("worth", "What each part of ours is worth", FILES, worth_figure,
                    table=worth_tables),
    )
}  # fmt: skip


def get_figure(name: str) -> PaperFigure:
    """Return a figure by name."""
    if name not in FIGURES:
        hint = did_you_mean(name, FIGURES)
        raise InvalidInput(f"no figure called {name!r}; there are {', '.join(FIGURES)}.{hint}")
    return FIGURES[name]


def has_results(name: str, results: Path) -> bool:
    """Whether there is anything to draw."""
    return any(results.glob(get_figure(name).files))


def build(name: str, results: Path) -> Any:
    """Return one figure as matplotlib has it; raise `NotYetRun` if it has no results."""
    if not has_results(name, results):
        raise NotYetRun(name, results)
    return FIGURES[name].build(Evidence(results))


def draw(name: str, results: Path, images: Path) -> list[Path]:
    """Draw one figure as `images/NAME.png` and `.pdf`, and return these names."""
    make_folder(images)
    return save_figure(build(name, results), [images / f"{name}{end}" for end in SUFFIXES])
