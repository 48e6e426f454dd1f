"""From the answers to a claim's comparisons to its verdict; nobody can write it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from smorl.paper.rules import Answer, Finding


class Verdict(Enum):
    """What the data says to one claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not"
    NOT_RUN = "not yet run"


def verdict(findings: Sequence[Finding]) -> tuple[Verdict, str]:
    """Return what follows from the answers, and why in a few words.

    reproduced: all comparisons hold and lack nothing; partly: some hold, or all do with too few
    seeds; not: none of those made holds; not yet run: none was made.
    """
    total = len(findings)
    made = [finding for finding in findings if finding.answer is not Answer.MISSING]
    holding = [finding for finding in made if finding.answer is Answer.YES]
    reasons = [f"{len(holding)} of {len(made)} comparisons hold"]
    if len(made) < total:
        reasons.append(f"{total - len(made)} of {total} not yet run")
    reasons += sorted({finding.lacks for finding in made if finding.lacks})
    if not made:
        return Verdict.NOT_RUN, "no results yet"
    if not holding:
        return Verdict.NOT, "; ".join(reasons)
    whole = len(holding) == total and not any(finding.lacks for finding in made)
    return (Verdict.REPRODUCED if whole else Verdict.PARTLY), "; ".join(reasons)
