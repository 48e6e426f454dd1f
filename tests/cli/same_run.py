"""Are two runs the same to the last bit? For tests that kill one and resume it."""

import json
from pathlib import Path

import numpy as np

from smorl.runs.checkpoint import load_latest


def assert_same_files(a: Path, b: Path, *names: str) -> None:
    for name in names:
        assert (a / name).read_bytes() == (b / name).read_bytes(), name


def assert_same_checkpoints(a: Path, b: Path) -> None:
    one, two = (load_latest(path / "checkpoints") for path in (a, b))
    assert one is not None
    assert two is not None
    assert one.tensors.keys() == two.tensors.keys()
    assert all(one.tensors[k].equal(two.tensors[k]) for k in one.tensors)
    assert one.arrays.keys() == two.arrays.keys()
    assert all(np.array_equal(one.arrays[k], two.arrays[k]) for k in one.arrays)


def assert_same_results(a: Path, b: Path, *but: str) -> None:
    """Compare the results, except for the fields named in `but`."""
    one, two = (json.loads((path / "result.json").read_text()) for path in (a, b))
    for result in (one, two):
        for name in but:
            del result[name]
    assert one == two
