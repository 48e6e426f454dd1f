"""What the data can say to one comparison, and how many seeds it takes to say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from smorl.paper.samples import METRES, Sample
from smorl.paper.statistics import Interval, mean_difference

SEEDS = 3  # of either side, for an answer at all
SEEDS_TO_REPRODUCE = 5  # of either side, unless the margin is clear:
CLEAR = 0.999  # then the interval of this confidence gives the same answer

NO_EPISODES = "per-episode distances not kept, or of other episodes"


class Answer(Enum):
    """What the data says to one comparison."""

    YES = "yes"
    NO = "no"
    OPEN = "open"  # the interval allows both, or there are too few seeds
    UNINFORMATIVE = "uninformative"  # the baseline is not seen to learn where it should
    MISSING = "not yet run"


@dataclass(frozen=True)
class Finding:
    """The answer to one comparison, the numbers behind it, and what they lack (empty: nothing).

    `firm`: there are enough seeds, or a margin clear enough, to call a "yes" reproduced.
    """

    comparison: str
    answer: Answer
    numbers: str = ""
    lacks: str = ""
    firm: bool = True


def answered(
    text: str,
    ours: Sample,
    theirs: Sample,
    paired: bool,
    side: Callable[[Interval], Answer],
    numbers: Callable[[Interval], str],
) -> Finding:
    """Answer a comparison by the interval of the mean difference, if there are seeds enough."""
    trained = (ours.trained, theirs.trained)
    gap = mean_difference(ours.scores, theirs.scores, trained=trained)
    clear = mean_difference(ours.scores, theirs.scores, CLEAR, trained=trained)
    lacks = _lacks(ours, theirs, paired)
    answer = Answer.OPEN if lacks else side(gap)
    enough = _fewest(ours, theirs) >= SEEDS_TO_REPRODUCE
    firm = enough or side(clear) is answer
    if not lacks and answer is Answer.YES and not firm:
        lacks = f"fewer than {SEEDS_TO_REPRODUCE} {_units(ours)} and no clear margin"
    return Finding(text, answer, numbers(gap), lacks, firm)


def _fewest(ours: Sample, theirs: Sample) -> int:
    """Seeds of the side that has fewer; doing nothing needs none."""
    return min(sample.seeds for sample in (ours, theirs) if sample.trained)


def _units(sample: Sample) -> str:
    return "seeds" if sample.unit == METRES else "models"


def _lacks(ours: Sample, theirs: Sample, paired: bool) -> str:
    """What is missing for an answer."""
    missing = [] if paired or ours.unit != METRES else [NO_EPISODES]
    if _fewest(ours, theirs) < SEEDS:
        missing.insert(0, f"fewer than {SEEDS} {_units(ours)}")
    return ", ".join(missing)
