"""Who earns the reward? Reward by tracker ID and by appearance, against the simulator.

Paper: App. "Problems with SCALOR Tracking during RL Training". The agent plays episodes as in
training, each for a goal it sets itself: one of the pucks found in the first frame, at a place from
p(where | what). In every later frame there is an object that is paid for, found by the goal's ID
(`match_id`) or by its appearance (`match`, Eq. 7), and the simulator says what it is:

- *own puck* or *other puck*: a detection of that puck, as in the evaluation of perception;
- *arm*: on the arm, and no puck nearby that it could mean instead;
- *hidden*: not seen now but remembered at its last place;
- *unclear*: everything else, false detections included;
- *nobody*: no object has this ID, or looks like the goal's.

The exploit is an ID that goes over from the own puck to the arm. Distances and rewards are in image
coordinates. The true reward is minus the distance of the own puck's projected centre to the place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import gymnasium as gym
import numpy as np

from smorl.envs.contract import require_truth
from smorl.envs.factory import make_visual_envs
from smorl.errors import InvalidInput
from smorl.evaluation.detection import known
from smorl.evaluation.detection_metrics import Detections, Kind, Labels, Truth, label
from smorl.goals.base import GoalSpace
from smorl.goals.matching import Match, match, match_id, take_object
from smorl.goals.rewards import place_reward
from smorl.representations.base import Encoder
from smorl.seeding import stream
from smorl.types import ObjectGoal, ObjectSet

ROWS = 25  # episodes played at a time
Act = Callable[[ObjectSet, ObjectGoal], np.ndarray]


def random_actions(seed: int) -> Act:
    """Return a policy without aims: how often do IDs go astray when nobody is after it?"""
    rng = stream(seed, "random-actions")
    return lambda objects, goal: rng.uniform(-1, 1, (len(objects.present), 2)).astype(np.float32)


class Paid(IntEnum):
    """What the object that is paid for turned out to be."""

    OWN_PUCK = 0
    OTHER_PUCK = 1
    ARM = 2
    HIDDEN = 3
    UNCLEAR = 4
    NOBODY = 5


@dataclass(frozen=True)
class Played:
    """E episodes of T + 1 frames, each for a goal that means a puck.

    images uint8 (E, T + 1, S, S, 3); objects (E, T + 1, N, .); seen (E, T + 1, N) bool, present and
    not only remembered; goal (E, .); puck (E,) the puck it means; paid: what is paid for in the
    frames after the first, (E, T), by "id" and by "matching"; reward by either and "true" (E, T).
    """

    images: np.ndarray
    objects: ObjectSet
    seen: np.ndarray
    goal: ObjectGoal
    puck: np.ndarray
    paid: dict[str, np.ndarray]
    reward: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.puck)

    def numbers(self) -> dict[str, Any]:
        """Return shares of frames and mean rewards, by "id" and by "matching"; None: no frames."""
        return {
            "true_reward": _mean(self.reward["true"]),
            "true_reward_at_end": _mean(self.reward["true"][:, -1:]),
            **{f"by_{name}": self._numbers(name) for name in self.paid},
        }

    def _numbers(self, name: str) -> dict[str, float | None]:
        paid, reward, true = self.paid[name], self.reward[name], self.reward["true"]
        arm = paid == Paid.ARM
        return {
            **{kind.name.lower(): _mean(paid == kind) for kind in Paid},
            "arm_at_end": _mean(arm[:, -1:]),
            "episodes_with_arm": _mean(arm.any(1)),
            "reward": _mean(reward),
            "reward_at_end": _mean(reward[:, -1:]),
            # What is paid too much, in frames in which somebody is paid.
            "unearned": _mean((reward - true)[paid != Paid.NOBODY]),
            "unearned_while_arm": _mean((reward - true)[arm]),
        }

    def most_exploited(self) -> tuple[int, int]:
        """Return the episode in which the arm carries the goal's ID longest, and its frames."""
        if not len(self):
            return 0, 0
        frames = (self.paid["id"] == Paid.ARM).sum(1)
        # Of those that are equally long, the one in which the most was paid for nothing.
        excess = (self.reward["id"] - self.reward["true"])[:, -1]
        episode = int(np.lexsort((excess, frames))[-1])
        return episode, int(frames[episode])


def study_tracking(
    encoder: Encoder,
    act: Act,
    space: GoalSpace,
    env_id: str,
    *,
    episodes: int,
    horizon: int,
    seed: int,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """Play `episodes` episodes of `horizon` steps; the same seed is the same starts for anyone.

    Episodes without a puck in the first detections, or with diverged physics, are left out.
    """
    if episodes < 1 or horizon < 1:
        raise InvalidInput(f"episodes={episodes}, horizon={horizon}; both must be 1 or more.")
    rng, parts = stream(seed, "tracking-study"), []
    for first in range(0, episodes, ROWS):
        count = min(ROWS, episodes - first)
        envs = make_visual_envs(env_id, count, threads)
        try:
            seeds = [seed + first + i for i in range(count)]
            frames, goal, puck = _play(envs, encoder, act, space, horizon, seeds, rng)
        finally:
            envs.close()
        parts.append(_judge(frames, goal, puck, space))
        if progress is not None:
            progress(first + count)
    return _join(parts)


def _play(
    envs: gym.vector.VectorEnv,
    encoder: Encoder,
    act: Act,
    space: GoalSpace,
    horizon: int,
    seeds: list[int],
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], ObjectGoal, np.ndarray]:
    """Return the frames (K, T + 1, ...), the goals, and the puck each means (-1: left out)."""
    envs.reset(seed=seeds)  # pyright: ignore[reportArgumentType]
    action = np.zeros(envs.action_space.shape or (), np.float32)
    observation = envs.step(action)[0]  # as in training, where the pucks settle first
    carry, objects = encoder.step(encoder.init(len(seeds)), observation["observation"], action)
    frames = [_frame(envs, observation, carry, objects)]
    goal, puck = _propose(frames[0], objects, space, rng)
    for _ in range(horizon):
        action = act(objects, goal)
        observation, _, _, truncated, _ = envs.step(action)
        puck = np.where(truncated, -1, puck)  # the row shows another episode from here on
        carry, objects = encoder.step(carry, observation["observation"], action)
        frames.append(_frame(envs, observation, carry, objects))
    return {k: np.stack([f[k] for f in frames], axis=1) for k in frames[0]}, goal, puck


def _frame(
    envs: gym.vector.VectorEnv, observation: dict, carry: Any, objects: ObjectSet
) -> dict[str, np.ndarray]:
    """Return what is seen and what the simulator knows, by name."""
    age = getattr(carry, "age", None)
    seen = objects.present if age is None else objects.present & (np.asarray(age) == 0)
    truth = require_truth(envs, "the tracking study")
    said = {f"said/{name}": array for name, array in objects.arrays()}
    return {"images": observation["observation"], "seen": seen, **said, **known(truth)}


def _propose(
    frame: dict[str, np.ndarray], objects: ObjectSet, space: GoalSpace, rng: np.random.Generator
) -> tuple[ObjectGoal, np.ndarray]:
    """Set goals as in training, for pucks only; return them and their pucks (K,), -1 if none."""
    labels = _labels({name: array[:, None] for name, array in frame.items()})
    shown = labels.kind[:, 0] == Kind.PUCK
    goal = space.propose(replace(objects, present=shown), rng)
    own = match_id(replace(objects, present=shown), goal.id)
    return goal, np.where(own.matched, take_object(labels.puck[:, 0], own.index), -1)


def _labels(frames: dict[str, np.ndarray]) -> Labels:
    said = Detections(frames["seen"], frames["said/position"], frames["said/what"])
    names = ("centres", "visible", "alone", "arm", "hand", "objects")
    return label(said, Truth(*(frames[name] for name in names)))


def _judge(
    frames: dict[str, np.ndarray], goal: ObjectGoal, puck: np.ndarray, space: GoalSpace
) -> Played:
    """Say for every later frame who was paid, how much, and what it should have been."""
    rows = np.flatnonzero(puck >= 0)
    frames = {name: array[rows] for name, array in frames.items()}
    goal, puck, labels = goal[rows], puck[rows], _labels(frames)
    said = {k.removeprefix("said/"): v for k, v in frames.items() if k.startswith("said/")}
    objects = ObjectSet(**said)
    later, aim, none = objects[:, 1:], goal[:, None], space.config.no_match_reward
    ways = {"id": match_id(later, aim.id), "matching": match(later, aim.what, space.threshold)}
    reward = {name: place_reward(later, aim, found, none) for name, found in ways.items()}
    centre = take_object(frames["centres"][:, 1:], np.repeat(puck[:, None], later.ids.shape[1], 1))
    reward["true"] = -np.linalg.norm(centre - aim.position, axis=-1)
    paid = {name: _paid(found, frames["seen"], labels, puck) for name, found in ways.items()}
    return Played(frames["images"], objects, frames["seen"], goal, puck, paid, reward)


def _paid(found: Match, seen: np.ndarray, labels: Labels, puck: np.ndarray) -> np.ndarray:
    """Return what the found object of the frames after the first is, (E, T) of `Paid`."""
    of = (seen, labels.kind, labels.puck, labels.doubtful)
    now, kind, which, doubtful = (take_object(array[:, 1:], found.index) for array in of)
    cases = {
        Paid.NOBODY: ~found.matched,
        Paid.HIDDEN: ~now,
        Paid.OWN_PUCK: (kind == Kind.PUCK) & (which == puck[:, None]),
        Paid.OTHER_PUCK: kind == Kind.PUCK,
        Paid.ARM: (kind == Kind.ARM) & ~doubtful,
    }
    return np.select(list(cases.values()), [int(case) for case in cases], int(Paid.UNCLEAR))


def _join(parts: list[Played]) -> Played:
    def joined(arrays: list[Any]) -> Any:
        if isinstance(arrays[0], dict):
            return {name: joined([part[name] for part in arrays]) for name in arrays[0]}
        if isinstance(arrays[0], ObjectSet | ObjectGoal):
            return type(arrays[0]).join(arrays)
        return np.concatenate(arrays)

    return Played(**{name: joined([vars(part)[name] for part in parts]) for name in vars(parts[0])})


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if np.size(values) else None
