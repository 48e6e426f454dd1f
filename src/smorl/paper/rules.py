"""The comparisons a claim can make, each answered from `results/` alone by a fixed rule."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import Enum

import numpy as np

from smorl.paper.evidence import Evidence
from smorl.paper.samples import (
    METRES,
    FinalDistances,
    Measured,
    Passive,
    Sample,
    Source,
    on_same_episodes,
)
from smorl.paper.statistics import Interval, mean_difference, probability_of_improvement

MARGIN = 0.02  # metres, half a puck's radius: differences below it count as none
SEEDS_BY_EPISODE = 2  # seeds of either side that a verdict needs, with distances per episode,
SEEDS_ALONE = 3  # and without: of three against three, all better is one chance in twenty

NO_EPISODES = "per-episode distances not kept, or of other episodes"


class Answer(Enum):
    """What the data says to one comparison."""

    YES = "yes"
    NO = "no"
    OPEN = "open"  # the interval allows both
    MISSING = "not yet run"


@dataclass(frozen=True)
class Finding:
    """The answer to one comparison, the numbers behind it, and what they lack (empty: nothing)."""

    comparison: str
    answer: Answer
    numbers: str = ""
    lacks: str = ""


@dataclass(frozen=True)
class Better:
    """Ours beat theirs: the probability of improvement, with its whole interval, exceeds 1/2."""

    ours: Source
    theirs: Source

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is compared."""
        return self.ours, self.theirs

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        word = "below" if _lower(self.ours) else "above"
        text = f"{self.ours.name} {word} {self.theirs.name}{_on(self.ours)}"
        pair = _read(self.ours, self.theirs, evidence)
        if pair is None:
            return Finding(text, Answer.MISSING)
        ours, theirs, paired = on_same_episodes(*pair)
        chance = probability_of_improvement(
            [ours.scores], [theirs.scores], _rng(text), lower_is_better=ours.lower_is_better
        )
        answer = _side(chance, 0.5)
        if paired:
            said = f"probability of improvement {_said(chance, 2)}"
        else:
            pairs = ours.seeds * theirs.seeds
            what = "seeds" if ours.unit == METRES else "models"
            said = f"{word} in {chance.value * pairs:g} of {pairs} pairs of {what}"
        numbers = f"{_against(ours, theirs)}; {said}"
        return Finding(text, answer, numbers, _lacks(ours, theirs, paired))


@dataclass(frozen=True)
class Comparable:
    """Ours are at most `margin` worse than theirs, or, `both_ways`, not better by more either.

    The whole interval of the mean difference must be within.
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
        text += _on(self.ours)
        pair = _read(self.ours, self.theirs, evidence)
        if pair is None:
            return Finding(text, Answer.MISSING)
        ours, theirs, paired = on_same_episodes(*pair)
        gap = mean_difference([ours.scores], [theirs.scores], _rng(text))
        if self.both_ways:
            answer = _inside(gap, self.margin)
        else:
            answer = _side(Interval(-gap.value, -gap.high, -gap.low), -self.margin)
        numbers = f"{_against(ours, theirs)}; {_difference(gap, paired)}"
        return Finding(text, answer, numbers, _lacks(ours, theirs, paired))


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
        text += _on(self.ours)
        pair = _read(self.ours, Passive(self.ours), evidence)
        if pair is None:
            return Finding(text, Answer.MISSING)
        ours, passive, paired = on_same_episodes(*pair)
        gap = mean_difference([ours.scores], [passive.scores], _rng(text))
        numbers = f"{_against(ours, passive)}; {_difference(gap, paired)}"
        return Finding(text, _side(gap, -self.margin), numbers, _lacks(ours, passive, paired))


@dataclass(frozen=True)
class Limit:
    """Every model is at least (or `at_most`) at a limit set beforehand; `models` are needed."""

    ours: Source
    limit: float
    at_most: bool = False
    models: int = SEEDS_BY_EPISODE

    @property
    def sources(self) -> tuple[Source, ...]:
        """What is measured."""
        return (self.ours,)

    def judge(self, evidence: Evidence) -> Finding:
        """Answer from the results."""
        word = "at most" if self.at_most else "at least"
        text = f"{self.ours.name} {word} {self.limit:g}{_on(self.ours)}"
        sample = self.ours.read(evidence)
        if sample is None:
            return Finding(text, Answer.MISSING)
        values = sample.by_seed
        good = values <= self.limit if self.at_most else values >= self.limit
        answer = Answer.YES if good.all() else Answer.OPEN if good.any() else Answer.NO
        lacks = f"fewer than {self.models} models" if len(values) < self.models else ""
        return Finding(text, answer, ", ".join(f"{value:.4g}" for value in values), lacks)


Rule = Better | Comparable | Fails | Limit


def _read(ours: Source, theirs: Source, evidence: Evidence) -> tuple[Sample, Sample] | None:
    mine, other = ours.read(evidence), theirs.read(evidence)
    return None if mine is None or other is None else (mine, other)


def _side(interval: Interval, limit: float) -> Answer:
    if interval.low > limit:
        return Answer.YES
    return Answer.NO if interval.high < limit else Answer.OPEN


def _inside(interval: Interval, margin: float) -> Answer:
    if -margin < interval.low and interval.high < margin:
        return Answer.YES
    outside = interval.low > margin or interval.high < -margin
    return Answer.NO if outside else Answer.OPEN


def _lacks(ours: Sample, theirs: Sample, paired: bool) -> str:
    """What is missing for a verdict; doing nothing needs no seeds."""
    seeds = min(sample.seeds for sample in (ours, theirs) if sample.trained)
    needed = SEEDS_BY_EPISODE if paired else SEEDS_ALONE
    if seeds >= needed:
        return ""
    if ours.unit != METRES:
        return f"fewer than {needed} models"
    return f"fewer than {needed} seeds" + ("" if paired else f", {NO_EPISODES}")


def _rng(text: str) -> np.random.Generator:
    """A stream of its own for each comparison: one more claim changes no other's interval."""
    return np.random.default_rng(zlib.crc32(text.encode()))


def _lower(source: Source) -> bool:
    return source.lower_is_better if isinstance(source, Measured) else True


def _on(source: Source) -> str:
    return f", {source.task}" if source.task else ""


def _against(ours: Sample, theirs: Sample) -> str:
    unit = f" {ours.unit}" if ours.unit else ""
    return f"{ours.by_seed.mean():.3f} against {theirs.by_seed.mean():.3f}{unit}"


def _difference(gap: Interval, paired: bool) -> str:
    """Without episodes there is an interval of seeds only, too narrow to be shown."""
    return f"difference {_said(gap, 3) if paired else _number(gap.value, 3)} m"


def _said(interval: Interval, digits: int) -> str:
    value, low, high = (_number(x, digits) for x in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def _number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}"  # adding 0 makes -0.000 an 0.000
