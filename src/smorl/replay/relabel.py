"""Which goal is a stored transition trained on? Rollout, future and imagined goals (Alg. 2).

Pure functions of arrays and a generator: whole batches at once, no loop over samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smorl.errors import InvalidInput
from smorl.goals.spaces import GoalSpace, pick_object
from smorl.types import Batch, Episode, ObjectGoal, ObjectSet


@dataclass(frozen=True)
class RelabelConfig:
    """Fractions of a batch: the rollout's own goal, a later achieved one, an imagined one."""

    rollout: float = 0.1
    future: float = 0.4
    imagined: float = 0.5
    # Release: the transition's own next observation counts as future; the paper starts later.
    future_includes_next: bool = True
    # Ours, off in the paper presets; measured in docs/learner.md.
    any_object: float = 0.0  # share of relabelled goals that take another object of the frame
    moved: float = 0.0  # metres; a future goal must differ from now by this much, else imagine

    def __post_init__(self) -> None:
        parts = (self.rollout, self.future, self.imagined)
        if min(parts) < 0 or abs(sum(parts) - 1) > 1e-6:
            raise InvalidInput(
                f"relabelling fractions must be non-negative and sum to 1, got {parts}."
            )

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
    horizon = episodes.actions.shape[1]
    episode = rng.integers(0, size, batch)
    step = rng.integers(0, horizon, batch)
    now: ObjectSet = episodes.objects[episode, step]
    following: ObjectSet = episodes.objects[episode, step + 1]
    goal = relabel(episodes, episode, step, now, space, config, rng)
    depth = now.depth.shape[-1]
    return Batch(
        objects=now.features(),
        present=now.present,
        goal=goal.features(depth),
        action=episodes.actions[episode, step],
        reward=space.reward(following, goal),
        next_objects=following.features(),
        next_present=following.present,
    )


def relabel(
    episodes: Episode,
    episode: np.ndarray,
    step: np.ndarray,
    now: ObjectSet,
    space: GoalSpace,
    config: RelabelConfig,
    rng: np.random.Generator,
) -> ObjectGoal:
    """Return the goals (B, .): the first rows keep theirs, then future, then imagined."""
    batch = len(episode)
    rollout, future, _ = config.counts(batch)
    goal = ObjectGoal(*(array.copy() for _, array in episodes.goal[episode].arrays()))
    swap = np.zeros(batch, bool)
    if config.any_object:
        other = pick_object(now, rng)
        swap = (rng.random(batch) < config.any_object) & now.present.any(-1)
        swap[:rollout] = False
        _write(goal, swap, other[swap])
    rows = slice(rollout, rollout + future)
    imagine = np.zeros(batch, bool)
    imagine[rollout + future :] = True
    if future:
        found, exists = future_goals(
            episodes.objects, episode[rows], step[rows], goal.what[rows], space, config, rng
        )
        if config.moved:
            current, visible = space.achieved(now[rows], goal.what[rows])
            still = np.linalg.norm(found.position - current.position, axis=-1) < config.moved
            imagine[rows] = exists & visible & still
        # A swapped goal sits at the object's present place; without a future, imagine one.
        imagine[rows] |= ~exists & swap[rows]
        chosen = np.zeros(batch, bool)
        chosen[rows] = exists
        _write(goal, chosen, found[exists])
    _write(goal, imagine, space.imagine(goal[imagine], rng))
    return goal


def future_goals(
    objects: ObjectSet,
    episode: np.ndarray,
    step: np.ndarray,
    what: np.ndarray,
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
        return ObjectGoal(later.what[:, 0], later.position[:, 0], later.scale[:, 0]), exists
    path = objects[episode]  # (B, H + 1, N, .)
    achieved, matched = space.achieved(path, np.repeat(what[:, None], steps, 1))
    candidate = matched & (np.arange(steps) >= first[:, None])
    count = candidate.sum(1)
    rank = np.floor(rng.random(len(step)) * count).astype(np.int64)
    chosen = (candidate.cumsum(1) > rank[:, None]).argmax(1)
    return achieved[np.arange(len(step)), chosen], count > 0


def _write(goal: ObjectGoal, rows: np.ndarray, source: ObjectGoal) -> None:
    for (_, target), (_, value) in zip(goal.arrays(), source.arrays(), strict=True):
        target[rows] = value
