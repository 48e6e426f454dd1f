"""The numbers a claim is about: from `results/` to arrays (seeds, episodes).

`FinalDistances` are those of agents, `Best` those of the best of several kinds, `Passive` what
doing nothing leaves on their episodes, `Measured` are numbers of models from the reports of
analyses: one per model, no episodes. All are read from seeds that count as evidence, or, `tuned`,
from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smorl.paper.evidence import FIRST_SEED, Agent, Evidence, check_one_configuration
from smorl.paper.figures.styles import style_of
from smorl.paper.statistics import Scores

METRES = "m"


@dataclass(frozen=True)
class Sample:
    """Scores (seeds, episodes), or (seeds, 1) where only a number per seed is known.

    `episodes` (E,) tells episodes apart by what doing nothing leaves. `trained` is False for what
    has no seeds, such as doing nothing.
    """

    scores: Scores
    unit: str
    lower_is_better: bool = True
    episodes: NDArray[np.float64] | None = None
    trained: bool = True
    steps: tuple[int, ...] = ()
    passive: float | None = None
    tuned: bool = False

    @property
    def seeds(self) -> int:
        """How many agents or models there are."""
        return len(self.scores)

    @property
    def by_seed(self) -> Scores:
        """The mean of every seed."""
        return self.scores.mean(axis=1)

    def per_seed(self) -> Sample:
        """The same without its episodes."""
        return replace(self, scores=self.by_seed[:, None], episodes=None)


def on_same_episodes(ours: Sample, theirs: Sample) -> tuple[Sample, Sample, bool]:
    """Return both on the episodes they share; seed by seed, and False, if they share none."""
    mine, other = ours.episodes, theirs.episodes
    if mine is None or other is None or not _same(mine, other):
        return ours.per_seed(), theirs.per_seed(), False
    return ours, theirs, True


@dataclass(frozen=True)
class FinalDistances:
    """The final distances of the agents of one kind in one folder of results, on one task.

    `transfer`: tested there, trained on another task (the files `RUN-on-N.json`). `plain`: played
    without the aids that other methods do not have (the files `evaluation-plain.json`).
    """

    folder: str
    kind: str
    task: str
    transfer: bool = False
    plain: bool = False
    label: str = ""

    @property
    def name(self) -> str:
        """What a table calls it."""
        return self.label or style_of(self.kind).label + ", without aids" * self.plain

    def read(self, evidence: Evidence, tuned: bool = False) -> Sample | None:
        """None if nothing was run."""
        read = evidence.transferred if self.transfer else evidence.agents
        found = (evidence.without_aids if self.plain else read)(self.folder)
        group = [a for a in found if a.kind == self.kind and a.task == self.task]
        group = [agent for agent in group if agent.tuned is tuned]
        check_one_configuration(group)
        return sample_of(group) if group else None


@dataclass(frozen=True)
class Best:
    """Of several kinds of agents on one task the one that ends nearest to the goals."""

    of: tuple[FinalDistances, ...]

    @property
    def name(self) -> str:
        """What a table calls it."""
        return "the better of " + " and ".join(one.name for one in self.of)

    @property
    def task(self) -> str:
        """Where they are compared."""
        return self.of[0].task

    def read(self, evidence: Evidence, tuned: bool = False) -> Sample | None:
        """None unless all of them were run."""
        found = [one.read(evidence, tuned) for one in self.of]
        known = [sample for sample in found if sample is not None]
        if len(known) < len(found):
            return None
        return min(known, key=lambda sample: float(sample.by_seed.mean()))


@dataclass(frozen=True)
class Passive:
    """What doing nothing leaves on the episodes of some agents."""

    of: FinalDistances | Best

    @property
    def name(self) -> str:
        """What a table calls it."""
        return "doing nothing"

    @property
    def task(self) -> str:
        """Where it does nothing."""
        return self.of.task

    def read(self, evidence: Evidence, tuned: bool = False) -> Sample | None:
        """None if nothing was run."""
        sample = self.of.read(evidence, tuned)
        if sample is None or sample.passive is None:
            return None
        known = sample.episodes
        scores = np.array([[sample.passive]]) if known is None else known[None]
        return Sample(scores, METRES, episodes=known, trained=False, tuned=tuned)


@dataclass(frozen=True)
class Measured:
    """One number per model, found in the reports by `find`, with the model's seed before it."""

    name: str
    task: str  # on which data
    find: Callable[[Evidence], Sequence[tuple[int, float]]]
    unit: str = ""
    lower_is_better: bool = False

    def read(self, evidence: Evidence, tuned: bool = False) -> Sample | None:
        """None if nothing was run."""
        found = [value for seed, value in self.find(evidence) if (seed < FIRST_SEED) is tuned]
        values = np.array(found, np.float64)
        if not len(values):
            return None
        return Sample(values[:, None], self.unit, self.lower_is_better, tuned=tuned)


Source = FinalDistances | Best | Passive | Measured


def shown(source: Source, evidence: Evidence) -> Sample | None:
    """What a picture shows: the evidence if there is any, or else what was tuned on."""
    return source.read(evidence) or source.read(evidence, tuned=True)


def sample_of(group: Sequence[Agent]) -> Sample:
    """Put agents of one kind on one task together; per seed only, unless all kept all episodes."""
    steps = tuple(agent.env_steps for agent in group)
    passive = float(np.mean([agent.passive for agent in group]))
    tuned = any(agent.tuned for agent in group)
    common: dict[str, Any] = {"unit": METRES, "steps": steps, "passive": passive, "tuned": tuned}
    kept = [(a.distances, a.passive_distances) for a in group]
    if all(d is not None and p is not None for d, p in kept):
        known = [np.array(p) for _, p in kept]
        if all(_same(one, known[0]) for one in known):
            return Sample(np.array([d for d, _ in kept], np.float64), episodes=known[0], **common)
    return Sample(np.array([[agent.distance] for agent in group]), **common)


def _same(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> bool:
    """Whether two lists of passive distances are of the same episodes."""
    return ours.shape == theirs.shape and np.allclose(ours, theirs, atol=1e-3)
