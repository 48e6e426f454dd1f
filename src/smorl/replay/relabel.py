"""Which goal is a stored transition trained on? Rollout, future and imagined goals (Alg. 2).

Pure functions of arrays and a generator: several whole batches at once, no loop over samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smorl.goals.base import GoalSpace
from smorl.goals.matching import for_each, lengths, take_goal, take_object, take_objects
from smorl.goals.space import draw_object
from smorl.ranges import require, within
from smorl.types import Batch, Episode, ObjectGoal, ObjectSet


@dataclass(frozen=True)
class RelabelConfig:
    """Fractions of a batch: the rollout's own goal, a later achieved one, an imagined one."""

    rollout: float = 0.1  # share of goals kept as they were pursued
    future: float = 0.4  # share of goals reached later in the episode
    imagined: float = 0.5  # share of goals drawn from the prior
    # Release: the transition's own next observation counts as future; the paper starts later.
    future_includes_next: bool = True
    # Ours, off in the paper presets (docs/learner.md): share of relabelled goals for any object of
    # the frame, not only the rollout's; as future goals they take one that moves.
    any_object: float = 0.0
    # How far an object must go to count as moved; in metres, from pixels in image coordinates.
    moved: float = 0.01

    def __post_init__(self) -> None:
        shares = ("rollout", "future", "imagined", "any_object")
        within(self, {**dict.fromkeys(shares, (0, 1)), "moved": (0, 1e6)})
        total = self.rollout + self.future + self.imagined
        rest = 1 - self.rollout - self.future
        require(self, {"imagined": (abs(total - 1) <= 1e-6, f"{rest:.6g}: shares sum to 1")})

    def counts(self, batch: int) -> tuple[int, int, int]:
        """Return how many of `batch` are rollout, future and imagined goals."""
        rollout, imagined = int(self.rollout * batch), int(self.imagined * batch)
        return rollout, batch - rollout - imagined, imagined


def sample_batch(
    episodes: Episode,
    size: int,
    batch: int,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
) -> Batch:
    """Draw `batch` transitions of the first `size` episodes, relabel goals, compute rewards."""
    return sample_batches(episodes, size, batch, 1, space, config, rng)[0]


def sample_batches(
    episodes: Episode,
    size: int,
    batch: int,
    count: int,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
) -> list[Batch]:
    """Draw `count` batches at once: the same as one after the other, at a fraction of the cost."""
    rows, horizon = batch * count, episodes.actions.shape[1]
    episode = rng.integers(0, size, rows)
    step = rng.integers(0, horizon, rows)
    now = frames(episodes.objects, episode, step)
    following = frames(episodes.objects, episode, step + 1)
    goal = relabel(episodes, episode, step, now, space, config, rng, count)
    drawn = Batch(
        objects=now.features(),
        present=now.present,
        goal=goal.features(now.layout),
        action=episodes.actions[episode, step],
        reward=space.transition_reward(now, following, goal),
        next_objects=following.features(),
        next_present=following.present,
    )
    return [drawn[first : first + batch] for first in range(0, rows, batch)]


def frames(objects: ObjectSet, episode: np.ndarray, step: np.ndarray) -> ObjectSet:
    """Return the sets (B, N, .) at `step` of `episode`; faster than indexing by two arrays."""
    count, steps = objects.present.shape[:2]
    index = episode * steps + step
    # The size is spelled out, because -1 is undefined for parts without dimensions.
    return objects.map(lambda a: a.reshape(count * steps, *a.shape[2:]).take(index, axis=0))


def relabel(
    episodes: Episode,
    episode: np.ndarray,
    step: np.ndarray,
    now: ObjectSet,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
    batches: int = 1,
) -> ObjectGoal:
    """Return the goals (B, .): in each of the `batches` that make up the B rows, the first rows
    keep theirs, then come future goals, then imagined ones.
    """
    rows = len(episode)
    kind = np.tile(np.repeat([0, 1, 2], config.counts(rows // batches)), batches)
    goal = episodes.goal.map(lambda array: array.take(episode, axis=0))
    imagine = kind == 2
    swap = np.zeros(rows, bool)
    if config.any_object:
        other = space.pick(now, rng)
        swap = (rng.random(rows) < config.any_object) & now.present.any(-1) & (kind > 0)
        _write(goal, swap, other[swap])
    for rows, find in (
        ((kind == 1) & ~swap, future_goals),
        ((kind == 1) & swap, future_goals_of_moved),
    ):
        index = np.flatnonzero(rows)
        if not len(index):
            continue
        found, exists = find(
            episodes.objects, episode[index], step[index], goal[index], space, config, rng
        )
        _write(goal, index[exists], found[exists])
        # Without a future the rollout's goal stays; a swapped one only says where the object is
        # now, so it is imagined elsewhere.
        imagine[index] = ~exists if find is future_goals_of_moved else False
    _write(goal, imagine, space.imagine(goal[imagine], rng))
    return goal


def future_goals(
    objects: ObjectSet,
    episode: np.ndarray,
    step: np.ndarray,
    goal: ObjectGoal,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
) -> tuple[ObjectGoal, np.ndarray]:
    """For each transition, the goal's object as seen at a random later step of its episode.

    Only later steps with a match are candidates (Alg. 2). Returns the goals (B, .), taken from
    that later detection, and whether a candidate exists (B,); without one the goal is meaningless
    and the caller keeps what it had.
    """
    steps = objects.present.shape[1]
    first = step + (1 if config.future_includes_next else 2)
    if objects.what.shape[-1] == 0:  # one vector without appearance: every later step matches
        exists = first < steps
        chosen = rng.integers(np.minimum(first, steps - 1), steps)
        later = objects[episode, chosen]
        return later.goals()[:, 0], exists
    # Candidates are found without places, so these are not copied for whole paths.
    present, ids = objects.present[episode], objects.ids[episode]
    nothing = np.zeros((*present.shape, 0), np.float32)
    path = ObjectSet(objects.what[episode], nothing, nothing, nothing, present, ids)
    found = space.find(path, goal[:, None])
    candidate = found.matched & (np.arange(steps) >= first[:, None])
    count = candidate.sum(1)
    rank = np.floor(rng.random(len(step)) * count).astype(np.int64)
    chosen = (candidate.cumsum(1) > rank[:, None]).argmax(1)
    index = found.index[np.arange(len(step)), chosen]
    return take_goal(frames(objects, episode, chosen), index), count > 0


def future_goals_of_moved(
    objects: ObjectSet,
    episode: np.ndarray,
    step: np.ndarray,
    goal: ObjectGoal,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
) -> tuple[ObjectGoal, np.ndarray]:
    """Like `future_goals`, for an object that moves: any of the frame, whatever `goal` says.

    Most objects rest most of the time, and a future goal where an object already is teaches
    nothing about moving it. So a later step is drawn, and one of the objects that are somewhere
    else by then (further than `config.moved`) becomes the goal. Returns goals (B, .) and whether
    an object moved (B,).
    """
    last = objects.present.shape[1] - 1
    first = np.minimum(step + (1 if config.future_includes_next else 2), last)
    now = frames(objects, episode, step)
    later = frames(objects, episode, rng.integers(first, last + 1))
    found = space.find(for_each(later, now.present.shape[1]), now.goals())  # of every object (B, N)
    place = take_objects(later.position, found.index, 1)
    distance = lengths(place - now.position)
    moved = now.present & found.matched & (distance > config.moved)
    chosen = draw_object(moved, space.lots(now, rng))
    return take_goal(later, take_object(found.index, chosen)), moved.any(1)


def _write(goal: ObjectGoal, rows: np.ndarray, source: ObjectGoal) -> None:
    for (_, target), (_, value) in zip(goal.arrays(), source.arrays(), strict=True):
        target[rows] = value
