"""Runs killed at every write by injection, and at random moments; resumed, and compared bit by bit.

A try is a child process forked from this one, which has imported everything: it dies by SIGKILL
right before or after its n-th write, a second one resumes the run, and what they leave must equal
what a run leaves that was never killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from smorl.cli import main
from smorl.runs.checkpoint import load_latest
from tests.faults.conftest import TINY
from tests.faults.outcomes import SURVIVED, Tally

SMALL = ("--quiet", "--checkpoint_minutes", "0")
STATE = ("--collect.total_steps", "120", "--evaluation.every", "80", "--evaluation.episodes", "1")
# Every method and perception, on the smallest scale that has all their parts.
RUNS: dict[str, tuple[str, ...]] = {
    "smorl-gt": ("train", "debug", *TINY),
    "sac-her": ("train", "debug", *TINY, "--method", "sac-her", "--networks.torso.kind", "flat",
                "--networks.matched", "false", "--networks.body", "false",
                "--networks.relative", "false", "--goals.disturbance_penalty", "0",
                "--relabel.any_object", "0"),
    "passive": ("train", "debug", *TINY, "--method", "passive"),
    "rig": ("train", "debug-rig", *STATE, "--latent.training.initial", "20"),
    "skewfit": ("train", "debug-skewfit", *STATE, "--latent.training.initial", "20"),
    "smorl": ("train", "debug-visual", *TINY),
    "perception": ("perception", "train", "debug-scalor"),
}  # fmt: skip
# Calls that change the disk; a process may die right before and right after each of them.
WRITES = ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "ftruncate")
_CLOCK = {"seconds", "stages"}  # what no two runs share


def run(folder: Path, methods: list[str], stride: int, random_kills: int) -> list[Tally]:
    """Kill each run at every `stride`-th write, then at random moments."""
    injected, random = Tally("killed at a write"), Tally("killed at a random moment")
    rng = np.random.default_rng(0)
    for method in methods:
        words = RUNS[method]
        started = time.monotonic()
        count = writes_of(words, folder / "whole")
        seconds = time.monotonic() - started
        expected = remains(folder / "whole")
        for at in range(1 + int(rng.integers(stride)), 2 * count + 1, stride):
            name = f"{method} at write {at / 2} of {count}"
            injected.add(name, _tried(words, folder, expected, lambda at=at: dies_at(at)))
        for _ in range(random_kills):
            after = float(rng.uniform(0, seconds))
            name = f"{method} after {after:.2f} s"
            random.add(name, _tried(words, folder, expected, contextlib.nullcontext, after))
    return [injected, random]


def _tried(
    words: tuple[str, ...],
    folder: Path,
    expected: dict,
    injection: Callable[[], contextlib.AbstractContextManager],
    after: float | None = None,
) -> str:
    out = folder / "killed"
    shutil.rmtree(out, ignore_errors=True)
    forked(words, out, injection, after)
    code = forked(words, out)
    if code != 0:
        return f"the resumed run ended with {code}"
    found = remains(out)
    different = [name for name in expected if found.get(name) != expected[name]]
    return SURVIVED if not different else f"differs in {different}"


def forked(
    words: tuple[str, ...],
    out: Path,
    injection: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
    after: float | None = None,
) -> int:
    """Run a command in a child, killed `after` seconds; return its exit code, or minus a signal."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with injection():
                code = main([*words, *SMALL, "--out", str(out)])
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def dies_at(at: int) -> Iterator[None]:
    """Kill this process at half a count of writes: odd numbers before a write, even ones after."""
    with _counted(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == at else None):
        yield


@contextlib.contextmanager
def _counted(at: Callable[[int], None]) -> Iterator[None]:
    """Call `at` with 1, 2, 3, ... before and after every write."""
    original, number = {name: getattr(os, name) for name in WRITES}, 0

    def wrap(call: Callable) -> Callable:
        def counted(*args: object, **kwargs: object) -> object:
            nonlocal number
            number += 1
            at(number)
            result = call(*args, **kwargs)
            number += 1
            at(number)
            return result

        return counted

    for name, call in original.items():
        setattr(os, name, wrap(call))
    try:
        yield
    finally:
        for name, call in original.items():
            setattr(os, name, call)


def writes_of(words: tuple[str, ...], out: Path) -> int:
    """Run a command to its end in a child and return how many writes it makes."""
    shutil.rmtree(out, ignore_errors=True)
    note = out.with_name("writes")

    @contextlib.contextmanager
    def counting() -> Iterator[None]:
        counts: list[int] = [0]
        with _counted(lambda number: counts.__setitem__(0, number)):
            yield
        note.write_text(str(counts[0] // 2))

    code = forked(words, out, counting)
    assert code == 0, f"{' '.join(words)} ended with {code}"
    return int(note.read_text())


def remains(run: Path) -> dict[str, object]:
    """Return what a finished run leaves, but for readings of the clock."""
    found: dict[str, object] = {
        name: (run / name).read_bytes() for name in ("metrics.jsonl", "evaluations.csv")
    }
    checkpoint = load_latest(run / "checkpoints")
    assert checkpoint is not None
    parts = {**checkpoint.tensors, **checkpoint.arrays}
    found |= {f"checkpoint/{k}": np.asarray(v).tobytes() for k, v in parts.items()}
    result = json.loads((run / "result.json").read_text())
    found["result.json"] = {k: v for k, v in result.items() if k not in _CLOCK}
    for weights in run.rglob("*.safetensors"):
        if "checkpoints" not in weights.parts:
            found[str(weights.relative_to(run))] = weights.read_bytes()
    return found
