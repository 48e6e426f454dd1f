"""Shared helpers: small object sets and goals made from plain numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch

from smorl.plugins import trust
from smorl.types import ObjectGoal, ObjectSet

for example in (Path(__file__).parents[1] / "examples").glob("own_*.py"):
    trust(str(example))


@pytest.fixture(autouse=True)
def _one_thread():
    """Tests run side by side, one thread each, whatever the verb before has set."""
    torch.set_num_threads(1)


def make_set(what, position, present=None) -> ObjectSet:
    """An ObjectSet without scale and depth from nested lists."""
    what, position = np.asarray(what, np.float32), np.asarray(position, np.float32)
    if present is None:
        present = np.ones(what.shape[:-1], bool)
    nothing = np.zeros((*what.shape[:-1], 0), np.float32)
    return ObjectSet(what, position, nothing, nothing, np.asarray(present, bool))


def make_goal(what, position) -> ObjectGoal:
    """An ObjectGoal without scale from nested lists."""
    what, position = np.asarray(what, np.float32), np.asarray(position, np.float32)
    return ObjectGoal(what, position, np.zeros((*what.shape[:-1], 0), np.float32))
