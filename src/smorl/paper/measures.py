"""Where the numbers of the paper's claims stand in `results/`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smorl.paper.evidence import ABLATION, Evidence, seed_in
from smorl.paper.samples import FinalDistances, Measured


def on_truth(kind: str, pucks: int) -> FinalDistances:
    """Agents on ground truth."""
    return FinalDistances("gt", kind, f"Rearrange {pucks}")


def plain_on_truth(pucks: int) -> FinalDistances:
    """SMORL on ground truth as other methods are compared with it."""
    return FinalDistances("gt", "smorl-gt", f"Rearrange {pucks}", plain=True)


def visual(kind: str, task: str) -> FinalDistances:
    """Agents of the comparison from pixels; SAC+HER sees the truth."""
    return FinalDistances("visual", kind, task)


def plain_visual(task: str) -> FinalDistances:
    """SMORL from pixels as other methods are compared with it."""
    return FinalDistances("visual", "smorl", task, plain=True)


def trained_on_two(pucks: int) -> FinalDistances:
    """SMORL trained with 2 pucks, tested with another number."""
    return FinalDistances(
        "ood", "smorl", f"Rearrange {pucks}", transfer=True, label="SMORL trained on 2"
    )


def variant(kind: str, pucks: int = 2) -> FinalDistances:
    """A variant of the ablation, at home with 2 pucks or tested with 1."""
    return FinalDistances(ABLATION, kind, f"Rearrange {pucks}", transfer=pucks != 2)


ON_ONE = FinalDistances("visual", "smorl", "Rearrange 1", label="SMORL trained on 1")
LONG = FinalDistances("long", "smorl", "Rearrange 2", label="SMORL, twice the steps")
USUAL = FinalDistances("visual", "smorl", "Rearrange 2", label="SMORL, usual steps")
BY_ID = FinalDistances("tracking", "smorl (tracking)", "Rearrange 2")
BY_LOOK = FinalDistances("tracking", "smorl", "Rearrange 2", label="SMORL, reward by matching")


def in_clusters(name: str, key: str) -> Measured:
    """A score of the clusters of appearance."""
    return Measured(name, "", lambda evidence: _numbers(evidence.report("clusters"), key))


def _numbers(report, key: str) -> list[tuple[int, float]]:
    if report is None or report.get(key) is None:
        return []
    return [(seed_in(report["perception"]), report[key])]


def arm_scatter(by: str) -> Measured:
    """How much the arm's points scatter in the plane, in units of the most scattered puck's.

    `by`: "cluster" as k-means found them, or "identity" as the simulator knows them.
    """

    def find(evidence: Evidence) -> list[tuple[int, float]]:
        report = evidence.report("clusters")
        if report is None or "arm" not in report["names"]:
            return []
        arm = report["names"].index("arm")
        pucks = [i for i, name in enumerate(report["names"]) if name.startswith("puck")]
        if by == "cluster":  # the arm's is the one with the most detections of it
            table = np.array(report["table"])
            arm = int(table[:, arm].argmax())
            pucks = [i for i in range(len(table)) if i != arm]
        plane, which = np.array(report["plane"], np.float64), np.array(report[by])
        scatter = {i: plane[which == i].var(axis=0).sum() ** 0.5 for i in {arm, *pucks}}
        ratio = float(scatter[arm] / max(scatter[i] for i in pucks))
        return [(seed_in(report["perception"]), ratio)]

    word = "k-means cluster" if by == "cluster" else "true identity"
    return Measured(f"scatter of the arm, of the widest puck, by {word}", "", find)


def gaps(kind: str, name: str) -> Measured:
    """The mutual information gaps of the models of one kind."""

    def find(evidence: Evidence) -> list[tuple[int, float]]:
        models = (evidence.report("mig") or {"models": []})["models"]
        return [(seed_in(m["model"]), m["mig"]) for m in models if m["kind"] == kind]

    return Measured(name, "", find)


def of_perception(pucks: int, key: str, name: str) -> Measured:
    """A score of the perceptions for so many pucks, against the simulator."""

    def find(evidence: Evidence) -> list[tuple[int, float]]:
        return [(row["trained"], row[key]) for row in evidence.perceptions(f"scalor-{pucks}")]

    return Measured(name, f"Rearrange {pucks}", find)


def in_study(trained_by: str | None, way: str, key: str, name: str) -> Measured:
    """A number of the tracking study, of every agent at its last steps."""

    def find(evidence: Evidence) -> Sequence[tuple[int, float]]:
        rows = [row for row in evidence.studies() if row["trained_by"] == trained_by]
        last = {row["run"]: row[f"by_{way}"][key] for row in rows}  # rows come in order of steps
        return [(seed_in(run), value) for run, value in last.items() if value is not None]

    return Measured(name, "Rearrange 2", find)
