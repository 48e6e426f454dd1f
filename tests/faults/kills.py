"""Runs killed at every write, by injection, and at random moments; resumed, compared bit by bit.

SIGKILL leaves on the disk what is there at that moment. So one run, whose folder is copied right
before and right after each of its writes, shows what a kill at any of them leaves; moments that
leave the same are one state. From each state a child process, forked from this one, which has
imported everything, goes on, and what it leaves must equal what a run leaves that was never
killed. Real kills, at some of the writes and at random moments, show the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from smorl.cli import main
from smorl.presets.perception import PERCEPTION_PRESETS, PerceptionPreset
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.runs.checkpoint import load_latest
from tests.faults.conftest import TINY
from tests.faults.inject import counted, dies_at, real_calls
from tests.faults.outcomes import SURVIVED, Tally

SMALL = ("--quiet", "--checkpoint_minutes", "0")
FAST = ("--collect.updates_per_step", "0.1", "--evaluation.subgoals.length", "2",
        "--evaluation.subgoals.attempts", "1")  # fmt: skip
LATENT = ("--collect.total_steps", "80", "--evaluation.every", "60", "--evaluation.episodes", "1",
          "--latent.training.initial", "20", *FAST)  # fmt: skip
SEEING = ("--collect.total_steps", "40", "--collect.initial_steps", "20", "--evaluation.every",
          "40", "--evaluation.episodes", "1", "--collect.num_envs", "2",
          "--learner.batch_size", "8", "--collect.horizon", "10", *FAST)  # fmt: skip
# Every method and perception, on the smallest scale that has all their parts.
RUNS: dict[str, tuple[str, ...]] = {
    "smorl-gt": ("train", "debug", *TINY, *FAST),
    "sac-her": ("train", "sac-rearrange-1", *TINY, *FAST),
    "passive": ("train", "debug", *TINY, *FAST, "--method", "passive"),
    "rig": ("train", "debug-rig", *LATENT),
    "skewfit": ("train", "debug-skewfit", *LATENT),
    "smorl": ("train", "debug-visual", *SEEING, "--perception", "faults-scalor"),
    "perception": ("perception", "train", "faults-scalor"),
}
_CLOCK = {"seconds", "stages"}  # what no two runs share


def _perception() -> ScalorTrainingConfig:
    """Every part of a perception run in a second."""
    base = PERCEPTION_PRESETS["debug-scalor"].build()
    return replace(
        base,
        data=replace(base.data, episodes=2, steps=4),
        optimise=replace(base.optimise, iterations=3, batch=2, lengths=(2,), warmup=1),
        evaluation=replace(base.evaluation, episodes=1),
    )


PERCEPTION_PRESETS["faults-scalor"] = PerceptionPreset("for the fault campaign", _perception)


def run(folder: Path, methods: list[str], stride: int, real: int) -> list[Tally]:
    """Go on from what every `stride`-th moment leaves; then kill for good, `real` times each."""
    at_write, random = Tally("killed at a write"), Tally("killed at a random moment")
    rng, out = np.random.default_rng(0), folder / "run"  # in one place: some files name it
    for method in methods:
        words = RUNS[method]
        count = writes_of(words, out)
        expected = remains(out)
        started = time.monotonic()
        states = left_by_kills(words, out, folder / "states", stride)
        seconds = time.monotonic() - started
        for state, moments in states.items():
            outcome = _gone_on(words, out, expected, state)
            for at in moments:
                at_write.add(f"{method} at write {at / 2} of {count}", outcome)
        shutil.rmtree(folder / "states")
        for _ in range(real):
            at = int(rng.integers(1, 2 * count + 1))
            _killed(words, out, lambda at=at: dies_at(at))
            outcome = _gone_on(words, out, expected)
            at_write.add(f"{method} killed at write {at / 2} of {count}", outcome)
            after = float(rng.uniform(0, seconds))
            _killed(words, out, contextlib.nullcontext, after)
            outcome = _gone_on(words, out, expected)
            random.add(f"{method} killed after {after:.2f} s", outcome)
    return [at_write, random]


def left_by_kills(
    words: tuple[str, ...], out: Path, states: Path, stride: int = 1
) -> dict[Path, list[int]]:
    """Run once; return copies of what its folder holds at its moments, and at which it holds it."""
    shutil.rmtree(out, ignore_errors=True)
    states.mkdir()

    @contextlib.contextmanager
    def copying() -> Iterator[None]:
        with counted(lambda number: _copy(out, states, number) if number % stride == 0 else None):
            yield

    assert forked(words, out, copying) == 0
    return {
        state.with_suffix(""): [int(n) for n in state.read_text().split()]
        for state in states.glob("*.moments")
    }


def _copy(out: Path, states: Path, number: int) -> None:
    """Keep a copy of a folder unless the same content has been kept before."""
    digest = hashlib.sha256()
    for path in sorted(out.rglob("*")):
        digest.update(f"{path.relative_to(out)}\0".encode())
        if path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    kept = states / f"{digest.hexdigest()}-{out.exists()}"
    if out.exists() and not kept.exists():
        with real_calls():
            shutil.copytree(out, kept)
    with kept.with_suffix(".moments").open("a") as file:
        file.write(f"{number} ")


def _killed(
    words: tuple[str, ...],
    out: Path,
    injection: Callable[[], contextlib.AbstractContextManager],
    after: float | None = None,
) -> None:
    shutil.rmtree(out, ignore_errors=True)
    forked(words, out, injection, after)


def _gone_on(words: tuple[str, ...], out: Path, expected: dict, state: Path | None = None) -> str:
    """Resume what a kill has left in `out`, or in a copy of it, and compare."""
    if state is not None:
        shutil.rmtree(out, ignore_errors=True)
        if state.exists():
            state.rename(out)
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


def writes_of(words: tuple[str, ...], out: Path) -> int:
    """Run a command to its end in a child and return how many writes it makes."""
    shutil.rmtree(out, ignore_errors=True)
    note = out.with_name("writes")

    @contextlib.contextmanager
    def counting() -> Iterator[None]:
        counts: list[int] = [0]
        with counted(lambda number: counts.__setitem__(0, number)):
            yield
        note.write_text(" ".join([str(counts[0] // 2), *sys.modules]))

    code = forked(words, out, counting)
    assert code == 0, f"{' '.join(words)} ended with {code}"
    count, *modules = note.read_text().split(" ")
    for name in modules:  # so that the children to come find everything imported
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return int(count)


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
