"""The comparisons a claim can make, each answered from `results/` alone by a fixed rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smorl.paper.answers import CLEAR, SEEDS, SEEDS_TO_REPRODUCE, Answer, Finding, answered
from smorl.paper.evidence import Evidence
from smorl.paper.samples import (
    Best,
    FinalDistances,
    Measured,
    Passive,
    Sample,
    Source,
    on_same_episodes,
)
from smorl.paper.statistics import Interval, mean_difference, probability_of_improvement
from smorl.paper.wording import against, difference, listed, on, tuned_only

MARGIN = 0.02  # metres, half a puck's radius: differences below it count as none


@dataclass(frozen=True)
class Better:
    """Ours beat theirs: the whole interval of the mean difference is on the better side of 0."""

    ours: Source
    theirs: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is compared."""
        return self.ours, self.theirs

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        lower = _lower(self.ours)
        word = "below" if lower else "above"
        text = f"{self.ours.name} {word} {self.theirs.name}{on(self.ours)}"
        pair = _read(self.ours, self.theirs, evidence)
        if pair is None:
            return _missing(text, self.ours, self.theirs, evidence)
        ours, theirs, paired = on_same_episodes(*pair)
        chance = probability_of_improvement(ours.scores, theirs.scores, lower_is_better=lower)

        def numbers(gap: Interval) -> str:
            said = f"{against(ours, theirs)}; {difference(gap, ours.unit)}"
            return f"{said}; probability of improvement {chance:.2f}" if paired else said

        def side(gap: Interval) -> Answer:
            return _side(_negative(gap) if lower else gap, 0.0)

        return answered(text, ours, theirs, paired, side, numbers)


@dataclass(frozen=True)
class Comparable:
    """Ours are at most `margin` worse than theirs, or, `both_ways`, not better by more either.

    The whole interval of the mean difference must be within. `both_ways` is for what the paper
    calls similar or comparable, one way for what it calls competitive.
    """

    ours: Source
    theirs: Source
    both_ways: bool = False
    margin: float = MARGIN

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is compared."""
        return self.ours, self.theirs

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        word = "within" if self.both_ways else "at most"
        worse = "of" if self.both_ways else "worse than"
        text = f"{self.ours.name} {word} {100 * self.margin:.0f} cm {worse} {self.theirs.name}"
        text += on(self.ours)
        pair = _read(self.ours, self.theirs, evidence)
        if pair is None:
            return _missing(text, self.ours, self.theirs, evidence)
        ours, theirs, paired = on_same_episodes(*pair)

        def side(gap: Interval) -> Answer:
            if self.both_ways:
                return _inside(gap, self.margin)
            return _side(_negative(gap), -self.margin)

        def numbers(gap: Interval) -> str:
            return f"{against(ours, theirs)}; {difference(gap, ours.unit)}"

        return answered(text, ours, theirs, paired, side, numbers)


@dataclass(frozen=True)
class Fails:
    """Ours leave the pucks at most `margin` nearer to their goals than doing nothing does."""

    ours: FinalDistances
    margin: float = MARGIN

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is compared."""
        return (self.ours,)

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        text = f"{self.ours.name} at most {100 * self.margin:.0f} cm better than doing nothing"
        text += on(self.ours)
        passive = Passive(self.ours)
        pair = _read(self.ours, passive, evidence)
        if pair is None:
            return _missing(text, self.ours, passive, evidence)
        ours, nothing, paired = on_same_episodes(*pair)

        def numbers(gap: Interval) -> str:
            return f"{against(ours, nothing)}; {difference(gap, ours.unit)}"

        return answered(text, ours, nothing, paired, lambda gap: _side(gap, -self.margin), numbers)


@dataclass(frozen=True)
class Limit:
    """Every model is at least (or `at_most`) at a limit set beforehand; `models` are needed."""

    ours: Source
    limit: float
    at_most: bool = False
    models: int = SEEDS

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is measured."""
        return (self.ours,)

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        word = "at most" if self.at_most else "at least"
        text = f"{self.ours.name} {word} {self.limit:g}{on(self.ours)}"
        sample = self.ours.read(evidence)
        if sample is None:
            tuned = self.ours.read(evidence, tuned=True)
            return Finding(text, Answer.MISSING, "" if tuned is None else tuned_only(listed(tuned)))
        values = sample.by_seed
        if len(values) < self.models:
            lacks = f"fewer than {self.models} models"
            return Finding(text, Answer.OPEN, listed(sample), lacks)
        good = values <= self.limit if self.at_most else values >= self.limit
        answer = Answer.YES if good.all() else Answer.OPEN if good.any() else Answer.NO
        firm = len(values) >= SEEDS_TO_REPRODUCE or self.models == 1 or self._clear(values)
        lacks = "" if firm else f"fewer than {SEEDS_TO_REPRODUCE} models and no clear margin"
        return Finding(text, answer, listed(sample), lacks, firm)

    def _clear(self, values: np.ndarray) -> bool:
        gap = mean_difference(
            values[:, None], np.array([[self.limit]]), CLEAR, trained=(True, False)
        )
        return gap.high <= 0 if self.at_most else gap.low >= 0


Comparison = Better | Comparable | Fails | Limit


@dataclass(frozen=True)
class Controlled:
    """A comparison with a baseline that must be seen to learn: below doing nothing in `control`.

    `control` is the baseline on the task of the comparison, or on an easier one where the paper
    has it learning but not on that of the comparison. Without that the answer says nothing: a
    baseline that never learned anything is beaten by everybody.
    """

    rule: Comparison
    control: FinalDistances | Best

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is compared, and the control."""
        return *self.rule.sources, self.control

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        finding = self.rule.judge(evidence)
        if finding.answer is Answer.MISSING:
            return finding
        check = Better(self.control, Passive(self.control)).judge(evidence)
        if check.answer is Answer.YES:
            return finding
        seen = check.numbers.split(";")[0] if check.numbers else check.answer.value
        lacks = f"{self.control.name} is not seen to learn on {self.control.task} ({seen})"
        return replace(finding, answer=Answer.UNINFORMATIVE, lacks=lacks, firm=False)


Rule = Comparison | Controlled


def _read(ours: Source, theirs: Source, evidence: Evidence) -> tuple[Sample, Sample] | None:
    mine, other = ours.read(evidence), theirs.read(evidence)
    return None if mine is None or other is None else (mine, other)


def _missing(text: str, ours: Source, theirs: Source, evidence: Evidence) -> Finding:
    """Say what runs that were tuned on gave; it answers nothing."""
    mine, other = ours.read(evidence, tuned=True), theirs.read(evidence, tuned=True)
    if mine is None or other is None:
        return Finding(text, Answer.MISSING)
    return Finding(text, Answer.MISSING, tuned_only(against(mine, other)))


def _side(interval: Interval, limit: float) -> Answer:
    if interval.low > limit:
        return Answer.YES
    return Answer.NO if interval.high < limit else Answer.OPEN


def _inside(interval: Interval, margin: float) -> Answer:
    if -margin < interval.low and interval.high < margin:
        return Answer.YES
    outside = interval.low > margin or interval.high < -margin
    return Answer.NO if outside else Answer.OPEN


def _negative(gap: Interval) -> Interval:
    return Interval(-gap.value, -gap.high, -gap.low)


def _lower(source: Source) -> bool:
    return source.lower_is_better if isinstance(source, Measured) else True
