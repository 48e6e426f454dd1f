"""One finished run, copied for whoever wants to damage it."""

import shutil

import pytest

from smorl.cli import main

# The cheapest run that has every part.
TINY = ("--collect.total_steps", "120", "--collect.initial_steps", "40", "--evaluation.every", "80",
        "--evaluation.episodes", "2", "--learner.batch_size", "8")  # fmt: skip


def train(out, *more):
    """Run `smorl train debug` on the smallest scale; return the exit code."""
    return main(["train", "debug", "--out", str(out), "--quiet", *TINY, *more])


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    out = tmp_path_factory.mktemp("faults") / "run"
    assert train(out) == 0
    return out


@pytest.fixture
def finished(finished_once, tmp_path):
    """A copy of a finished run of one's own."""
    return shutil.copytree(finished_once, tmp_path / "run")


@pytest.fixture
def stopped(finished):
    """A run that was killed between its last checkpoint and its result."""
    (finished / "result.json").unlink()
    return finished
