"""How a trained SCALOR is used as a tracker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smorl.ranges import within
from smorl.representations.perceptions import TrackerSettings
from smorl.representations.scalor.tracking.masks import FOOT

# Everything that is ours switched off; `same` has no effect without a memory.
PLAIN = {
    "memory": 0,
    "search": False,
    "own_masks": False,
    "unique": False,
    "smooth": 0.0,
    "patience": 0,
    "settle": 0.0,
    "foot": 0.0,
    "depth_order": False,
    "hand": False,
    "known": False,
}


@dataclass(frozen=True)
class TrackerConfig(TrackerSettings):
    """How a trained model is used; all but `first_passes` is ours, see `plain`.

    The model's own thresholds of birth and death apply.
    """

    first_passes: int = 5  # Paper: the first frame and goal images are processed 5 times.
    memory: int = 40  # frames a hidden object keeps its last place; 0: none
    search: bool = True  # hidden objects are looked for, by their colour; assumes one colour each
    # What a smaller object shows in its own colour is not the larger one's, even if drawn as such.
    own_masks: bool = True
    # Normalised distance of appearances below which a new object is a remembered one; None: the
    # matching threshold of the perception.
    same: float | None = None
    # Objects that look the same are one object seen twice; the larger view counts. Matching by
    # appearance (Eq. 7) assumes as much. Switch it off where objects are alike.
    unique: bool = True
    smooth: float = 0.8  # share of the former appearance kept each frame, per tracked object
    # Frames on end in which a tracked object may look like another one and keep its appearance.
    patience: int = 8
    # Image coordinates within which a place that is measured anew counts in part only, the less the
    # nearer it is to the former one: an object at rest does not tremble. 0: it counts in full.
    settle: float = 0.02
    # Image coordinates: how much of an object's lower end decides where it stands, about the height
    # of the things to be moved. 0: the centre of all of it counts.
    foot: float = FOOT
    depth_order: bool = True  # depth as an order from far to near; False: the model's own number
    # The own hand is where the whole picture says, if the perception has learned to tell.
    hand: bool = True
    # Things of the video are where the whole picture says, too, and are what it says.
    known: bool = True

    def __post_init__(self) -> None:
        within(self, {
            "first_passes": (1, 100), "memory": (0, 10**6), "same": (0, 1e6), "smooth": (0, 0.9999),
            "patience": (0, 10**6), "settle": (0, 10), "foot": (0, 10),
        })  # fmt: skip

    @classmethod
    def plain(cls, **settings: Any) -> TrackerConfig:
        """The model's own objects, IDs and appearances, as in the paper: nothing added."""
        return cls(**{**PLAIN, **settings})

    @classmethod
    def without(cls) -> dict[str, TrackerSettings]:
        """Without each of the parts that are ours; a memory that is off searches for nothing."""
        each: dict[str, TrackerSettings] = {n: cls(**{n: off}) for n, off in PLAIN.items()}
        return each | {"all": cls.plain()}
