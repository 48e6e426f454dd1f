"""All that the tracker knows between two frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from smorl.representations.scalor.model.scalor import State
from smorl.representations.scalor.model.slots import Slots
from smorl.representations.scalor.tracking.known import Whereabouts
from smorl.representations.scalor.tracking.looks import Looks
from smorl.representations.scalor.tracking.memory import Memory
from smorl.representations.scalor.tracking.online import Sketch


@dataclass(frozen=True)
class Carry:
    """Tracker state of B rows. `age` counts frames since an object was last seen (0: now)."""

    state: State
    memory: Memory
    objects: Slots  # what the last step returned: live objects, then remembered ones
    age: np.ndarray  # (B, N) int
    ids: np.ndarray  # (B, N) int64, -1 where empty, as returned
    names: Tensor  # (B, N) the same before anything was put right (`tracking/known.py`)
    new: np.ndarray  # (B, N) bool: found in the last frame
    looks: Looks  # appearance over time, as returned but not normalised
    place: Tensor  # (B, N, 2) positions, as returned
    known: Whereabouts  # of things that the whole picture tells
    frame: Sketch | None = None
