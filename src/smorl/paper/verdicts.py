"""From the answers to a claim's comparisons to its verdict; nobody can write it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from smorl.paper.answers import Answer, Finding


class Verdict(Enum):
    """What the data says to one claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not reproduced"
    OPEN = "open"
    UNINFORMATIVE = "uninformative"
    NOT_RUN = "not yet run"


def verdict(findings: Sequence[Finding]) -> tuple[Verdict, str]:
    """Return what follows from the answers, and why in a few words.

    reproduced: all comparisons hold, firmly; partly: some hold; not reproduced: some are answered
    no and none yes; open: nothing is answered either way; uninformative: nor is anything open, the
    baselines are not seen to learn; not yet run: no comparison was made.
    """
    total = len(findings)
    made = [finding for finding in findings if finding.answer is not Answer.MISSING]
    answers = [finding.answer for finding in made]
    if not made:
        tuned = any(finding.numbers for finding in findings)
        return Verdict.NOT_RUN, "only with seeds that were tuned on" if tuned else "no results yet"
    reasons = [f"{answers.count(Answer.YES)} of {len(made)} comparisons hold"]
    for answer in (Answer.NO, Answer.OPEN, Answer.UNINFORMATIVE):
        if count := answers.count(answer):
            word = "do not" if answer is Answer.NO else answer.value
            reasons.append(f"{count} {word}")
    if len(made) < total:
        reasons.append(f"{total - len(made)} of {total} not yet run")
    reasons += sorted({finding.lacks for finding in made if finding.lacks})
    return _word(findings, answers), "; ".join(reasons)


def _word(findings: Sequence[Finding], answers: Sequence[Answer]) -> Verdict:
    """`answers` are those of the comparisons that were made."""
    if Answer.YES in answers:
        whole = all(f.answer is Answer.YES and f.firm for f in findings)
        return Verdict.REPRODUCED if whole else Verdict.PARTLY
    if Answer.NO in answers:
        return Verdict.NOT
    return Verdict.OPEN if Answer.OPEN in answers else Verdict.UNINFORMATIVE
