"""How often the intervals that decide claims are wrong, by simulation.

An experiment has seeds, episodes shared by both sides, and noise of a seed on an episode, all of
the sizes found in `results/`; both sides are equally good. An interval of 95 % should miss the
difference of zero in 2.5 % of experiments on either side, whatever the numbers of seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smorl.paper.statistics import CONFIDENCE, Interval, Scores, mean_difference

EPISODE, INTERACTION = 0.05, 0.045  # metres; standard deviations
EPISODES, TRIALS, RESAMPLES = 100, 2000, 400
SEEDS = (2, 3, 5)
SPREADS = (
    (0.01, 0.01),
    (0.002, 0.002),
    (0.03, 0.03),
    (0.03, 0.003),
)  # over the seeds of either side


@dataclass(frozen=True)
class World:
    """What experiments are drawn from: seeds of either side, 0 for doing nothing, and noise."""

    seeds: int
    against: int
    deviations: tuple[float, float]
    noise: str = "normal"

    def draw(self, rng: np.random.Generator, episodes: int = EPISODES) -> tuple[Scores, Scores]:
        """Return the scores of both sides, (seeds, episodes) each."""
        chance: Callable[[tuple[int, int]], Scores]
        if self.noise == "normal":
            chance = rng.standard_normal
        else:  # exponential: a long tail of bad seeds and hard episodes
            chance = lambda shape: rng.standard_exponential(shape) - 1  # noqa: E731
        # What an episode does to one side and not to the other: that much does not cancel.
        hard = EPISODE * chance((1, episodes))
        sides = []
        for count, deviation in zip((self.seeds, self.against), self.deviations, strict=True):
            side = np.zeros((max(1, count), episodes))
            if count:
                side += deviation * chance((count, 1))
                side += INTERACTION * chance((count, episodes))
            sides.append(side)
        return sides[0] + hard, sides[1]


def worlds() -> Iterator[World]:
    """Everything that is simulated."""
    for seeds in SEEDS:
        for noise in ("normal", "skewed"):
            for deviations in SPREADS:
                yield World(seeds, seeds, deviations, noise)
            yield World(seeds, 0, SPREADS[0], noise)


def calibrate(seed: int = 0, trials: int = TRIALS) -> dict[str, Any]:
    """Return, for every world, how often intervals miss: today's and the bootstrap's of before."""
    rows = []
    for number, world in enumerate(worlds()):
        rng = np.random.default_rng([seed, number])
        drawn = [world.draw(rng) for _ in range(trials)]
        trained = (True, world.against > 0)
        now = [mean_difference(ours, theirs, trained=trained) for ours, theirs in drawn]
        resampled = Resamples.draw(world, rng)  # the same for all experiments, which are not
        before = [resampled.difference(ours, theirs) for ours, theirs in drawn]
        row = {"seeds": world.seeds, "against": world.against, "noise": world.noise}
        row |= {"deviations": world.deviations, "now": rates(now), "before": rates(before)}
        rows.append(row)
    sizes = {"episodes": EPISODES, "episode": EPISODE, "interaction": INTERACTION}
    return {"seed": seed, "trials": trials, "resamples": RESAMPLES, **sizes, "rows": rows}


def rates(intervals: list[Interval]) -> dict[str, float]:
    """How often intervals are wholly below or above the truth, which is 0, and how often about."""
    low = float(np.mean([interval.high < 0 for interval in intervals]))
    high = float(np.mean([interval.low > 0 for interval in intervals]))
    return {"low": low, "high": high, "covers": 1 - low - high}


@dataclass(frozen=True)
class Resamples:
    """The bootstrap that claims were answered by before: seeds and episodes with replacement.

    Each array (RESAMPLES, count) says how often every seed or episode was drawn.
    """

    ours: Scores
    theirs: Scores
    episodes: Scores

    @classmethod
    def draw(cls, world: World, rng: np.random.Generator) -> Resamples:
        """Draw for experiments of one world."""
        counts = (world.seeds, max(1, world.against), EPISODES)
        sizes = [rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) for n in counts]
        ours, theirs, episodes = (size.astype(np.float64) for size in sizes)
        return cls(ours, theirs, episodes)

    def difference(self, ours: Scores, theirs: Scores) -> Interval:
        """Ours minus theirs with the percentile interval."""
        found = np.einsum("re,re->r", self.ours @ ours, self.episodes) / ours.size
        found -= np.einsum("re,re->r", self.theirs @ theirs, self.episodes) / theirs.size
        low, high = np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return Interval(float(ours.mean() - theirs.mean()), float(low), float(high))
