"""Will an agent be able to learn from this perception? Answered without the simulator.

`check` runs the finished tracker, as an agent will use it, over training sequences and asks what an
agent asks: is the thing of the first frame matched (Eq. 7) in every later frame, and is it that
thing; does a picture that is encoded on its own, as goals are, show it alike and in the same place;
are different objects kept apart; does what rests stay put; does one thing stay one track. `judge`
says in words what is wrong. Things are what mostly rests (`goals.appearance.resting_tracks`); they
do not leave the table, so each should always be matched.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from smorl.goals.appearance import match_rates, resting_tracks, self_supervised_pairs
from smorl.goals.matching import match
from smorl.representations.scalor.tracking.diagnostics import Finding
from smorl.representations.scalor.tracking.tracker import ScalorTracker
from smorl.representations.scalor.training.fit import (
    Encodings,
    encode,
    raw_tracker,
    spread_sequences,
)
from smorl.representations.video import Sequences
from smorl.types import ObjectSet

_REST = 0.03  # image coordinates: longer ways from frame to frame are motion, not trembling
_PLACE = 0.125  # image coordinates, 4 pixels of 64: two sightings of one thing are no farther apart
EPISODES, FRAMES, GOAL_EVERY = 100, 41, 8
# Set by hand on perceptions of 1 and 2 pucks and on the same ones spoiled; docs/perception.md says
# how agents fare with either.
LEAST_SHOWN, LEAST_FOUND, LEAST_GOAL = 0.8, 0.955, 0.93
MOST_WRONG, MOST_MIXED, MOST_TREMBLE, MOST_TRACKS = 0.03, 0.05, 0.01, 3.0


@dataclass(frozen=True)
class SelfCheck:
    """Shares between 0 and 1. No things at all: everything is 0."""

    things: float  # resting things per first frame
    shown: float  # their share of those that the model alone, without any rules, sees to rest
    found: float  # share of later frames in which a thing of the first frame is matched
    wrong: float  # share of these frames in which its track goes on, but something else is matched
    lost: float  # share of these frames in which its track is gone
    goal: float  # share of things that are matched, in place, in the frame encoded on its own
    placed: float  # share of a thing's box that its box in the frame encoded on its own covers
    mixed: float  # share of pairs of different objects of a frame that would match each other
    tremble: float  # image coordinates per frame that the place of a thing at rest moves
    tracks: float  # tracks per thing and episode

    @property
    def score(self) -> float:
        """One number to compare perceptions by: how many of the things are seen, how often one is
        matched rightly (where its track is gone only looks can tell), how well it is placed."""
        right = max(0.0, self.found - self.wrong - self.lost * self.mixed)
        return self.shown * right * self.placed

    def row(self) -> dict[str, float]:
        """Return the numbers by name."""
        return {**{k: float(v) for k, v in asdict(self).items()}, "score": float(self.score)}


def check(tracker: ScalorTracker, threshold: float, data: Sequences) -> SelfCheck:
    """Run the finished tracker over some of its training data."""
    seen = encode(tracker, data, EPISODES, FRAMES)
    images, _ = spread_sequences(data, EPISODES, FRAMES)
    alone = [tracker.encode_goal(images[:, t]) for t in range(0, images.shape[1], GOAL_EVERY)]
    bare = encode(raw_tracker(tracker.model), data, EPISODES, FRAMES)
    expected = resting_tracks(bare.position, bare.ids)[:, 0].sum(1).mean()
    return measure(seen, ObjectSet.stack(alone), threshold, float(expected))


def measure(
    seen: Encodings, goals: ObjectSet, threshold: float, expected: float = 0.0
) -> SelfCheck:
    """Compare tracked sequences (E, T, N) with each `GOAL_EVERY`th frame on its own (E, G, N).

    `expected` is how many things there are to a first frame, as far as known.
    """
    things = resting_tracks(seen.position, seen.ids)
    first = things[:, 0]
    if not first.any():
        return SelfCheck(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    found, wrong, lost = _later(seen, first, threshold)
    goal, placed = _alone(seen, things, goals, threshold)
    _, different = self_supervised_pairs(seen.what, seen.ids, things)
    together = things.sum(2).max(1)
    names = [len(np.unique(i[t])) for i, t in zip(seen.ids, things, strict=True) if t.any()]
    return SelfCheck(
        things=(shown := float(first.sum(1).mean())),
        shown=min(1.0, shown / expected) if expected else 1.0,
        found=found,
        wrong=wrong,
        lost=lost,
        goal=goal,
        placed=placed,
        mixed=match_rates(different, different, threshold)[1] if len(different) else 0.0,
        tremble=_tremble(seen, things),
        tracks=float(np.sum(names) / max(1, together.sum())),
    )


def judge(check: SelfCheck) -> list[Finding]:
    """Say what keeps an agent from learning; nothing to say means healthy."""
    c = check
    seed = "another seed, or more --optimise.iterations."
    if not c.things:
        return [Finding("No object was found that rests now and then.", seed, True)]
    told = [
        (
            c.shown < LEAST_SHOWN,
            f"First frames show only {100 * c.shown:.0f} % of the objects that the model finds "
            "without the rules.",
        ),
        (
            c.found < LEAST_FOUND,
            f"Objects of the first frame are matched in only {100 * c.found:.0f} % of later "
            "frames, so an agent would often not know where its goal's object is.",
        ),
        (
            c.goal < LEAST_GOAL,
            f"Only {100 * c.goal:.0f} % of the objects match what a goal picture shows of them.",
        ),
        (
            c.wrong > MOST_WRONG,
            f"In {100 * c.wrong:.0f} % of later frames something else is matched instead.",
        ),
        (
            c.mixed > MOST_MIXED,
            f"{100 * c.mixed:.0f} % of the pairs of different objects look the same.",
        ),
        (
            c.tremble > MOST_TREMBLE,
            f"Places of objects at rest tremble by {c.tremble:.3f} image coordinates a frame.",
        ),
        (
            c.tracks > MOST_TRACKS,
            f"Objects are lost and found again as new ones: {c.tracks:.1f} tracks for each.",
        ),
    ]
    return [Finding(sentence, seed, True) for wrong, sentence in told if wrong]


def _later(
    seen: Encodings, first: NDArray[np.bool_], threshold: float
) -> tuple[float, float, float]:
    """In which share of later frames a thing of the first is matched, is not what is matched
    although its track goes on, and has lost its track."""
    episode, slot = np.nonzero(first)
    wanted, name = seen.what[episode, 0, slot], seen.ids[episode, 0, slot]
    none = np.zeros((*seen.present.shape, 0), np.float32)
    objects = ObjectSet(seen.what, seen.position, none, none, seen.present)[episode, 1:]
    frames = objects.present.shape[1]
    found = match(objects, np.repeat(wanted[:, None], frames, 1), threshold)
    names = seen.names[episode, 1:]
    there = (names == name[:, None, None]).any(-1)
    taken = np.take_along_axis(names, found.index[..., None], -1)[..., 0] != name[:, None]
    wrong = found.matched & there & taken
    return float(found.matched.mean()), float(wrong.mean()), float(1 - there.mean())


def _alone(
    seen: Encodings, things: NDArray[np.bool_], goals: ObjectSet, threshold: float
) -> tuple[float, float]:
    """Which share of things is matched, in place, in frames that are encoded on their own, and
    which share of their boxes is covered there."""
    every = slice(None, None, GOAL_EVERY)
    episode, frame, slot = np.nonzero(things[:, every])
    if not len(slot):
        return 0.0, 0.0
    what, place, extent = (
        array[:, every][episode, frame, slot] for array in (seen.what, seen.position, seen.extent)
    )
    found = match(goals[episode, frame], what, threshold)
    away = np.abs(goals.position[episode, frame, found.index] - place)
    covered = np.clip(1 - away / np.maximum(2 * extent, 1e-6), 0, 1).prod(-1)
    near = np.linalg.norm(away, axis=-1) < _PLACE
    return float((found.matched & near).mean()), float((covered * found.matched).mean())


def _tremble(seen: Encodings, things: np.ndarray) -> float:
    """Mean way from frame to frame of things that rest."""
    same = (seen.ids[:, 1:, :, None] == seen.ids[:, :-1, None]) & things[:, 1:, :, None]
    former = np.take_along_axis(seen.position[:, :-1], same.argmax(-1)[..., None], 2)
    way = np.linalg.norm(seen.position[:, 1:] - former, axis=-1)
    rests = same.any(-1) & (way < _REST)
    return float(way[rests].mean()) if rests.any() else 0.0
