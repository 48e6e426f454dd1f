"""Objects of a stranger's state: which numbers of the observation are which object.

Goal environments of Gymnasium-Robotics observe one long vector (`observation`), and their
`desired_goal` holds the wanted place of one object or of several. Slices say what is what:

    0:3, 3:6=0:3

The first object (the gripper) is at observation[0:3] and never part of a goal; the second (the
block) is at observation[3:6], and desired_goal[0:3] says where it should be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from smorl.errors import InvalidInput
from smorl.types import ObjectLayout, ObjectSet, Spaces

_FORM = re.compile(r"^(\d+):(\d+)(?:=(\d+):(\d+))?$")
_EXAMPLE = 'e.g. "0:3, 3:6=0:3"'


@dataclass(frozen=True)
class Slices:
    """Where one object's place stands in the observation, and in the goal if it has one."""

    observed: slice
    goal: slice | None


class SlicedObjects:
    """State (K, D) -> one object per slice, with one-hot appearance; the places' own units."""

    def __init__(self, slices: str, spaces: Spaces) -> None:
        self.slices = parse_slices(slices, spaces)
        self.items, size = len(self.slices), _length(self.slices[0].observed)
        self.layout = ObjectLayout(slots=self.items, what=self.items, position=size, motion=size)
        self._what = np.eye(self.items, dtype=np.float32)

    def init(self, batch: int) -> None:
        """Before the first frame there are no places to carry."""

    def step(
        self, carry: np.ndarray | None, observation: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, ObjectSet]:
        places = np.stack([observation[:, s.observed] for s in self.slices], 1).astype(np.float32)
        found = self._objects(places, np.ones(places.shape[:2], bool))
        ids = np.broadcast_to(np.arange(self.items), found.present.shape)
        motion = found.motion if carry is None else places - carry
        return places, replace(found, ids=ids, motion=motion)

    def encode_goal(self, observation: np.ndarray) -> ObjectSet:
        """Return the objects that the goal (K, G) mentions; the others are absent."""
        places = np.zeros((len(observation), self.items, self.layout.position), np.float32)
        present = np.zeros(places.shape[:2], bool)
        for item, entry in enumerate(self.slices):
            if entry.goal is not None:
                places[:, item], present[:, item] = observation[:, entry.goal], True
        return self._objects(places, present)

    def _objects(self, places: np.ndarray, present: np.ndarray) -> ObjectSet:
        nothing = np.zeros((*present.shape, 0), np.float32)
        what = np.broadcast_to(self._what, (len(places), *self._what.shape)) * present[..., None]
        return ObjectSet(what, places, nothing, nothing, present, motion=np.zeros_like(places))


def parse_slices(text: str, spaces: Spaces) -> list[Slices]:
    """Read slices and check them against what the environment shows."""
    found = [_parse(part.strip(), text) for part in text.split(",") if part.strip()]
    if not found:
        raise InvalidInput(f"state_objects is empty; name the slices of the objects, {_EXAMPLE}.")
    goal = (spaces.goal or (0,))[0]
    for entry in found:
        if entry.observed.stop > spaces.observation[0]:
            raise InvalidInput(
                f"state_objects {text!r} reaches {entry.observed.stop}, and an observation has "
                f"{spaces.observation[0]} numbers."
            )
        if entry.goal is not None and entry.goal.stop > goal:
            raise InvalidInput(
                f"state_objects {text!r} reaches {entry.goal.stop} of a goal of {goal} numbers."
            )
    sizes = {_length(s) for e in found for s in (e.observed, e.goal) if s is not None}
    if len(sizes) > 1 or 0 in sizes:
        raise InvalidInput(f"state_objects {text!r}: all places must be of one length, {_EXAMPLE}.")
    if all(entry.goal is None for entry in found):
        raise InvalidInput(
            f"state_objects {text!r} names no goal; write which part of the desired goal belongs "
            f"to which object, {_EXAMPLE}."
        )
    return found


def _parse(part: str, text: str) -> Slices:
    match = _FORM.match(part)
    if match is None:
        raise InvalidInput(
            f"state_objects {text!r}: {part!r} is no slice; write start:stop or "
            f"start:stop=goal_start:goal_stop, {_EXAMPLE}."
        )
    start, stop, goal_start, goal_stop = match.groups()
    goal = None if goal_start is None else slice(int(goal_start), int(goal_stop))
    return Slices(slice(int(start), int(stop)), goal)


def _length(part: slice) -> int:
    return max(0, part.stop - part.start)
