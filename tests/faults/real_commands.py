"""Verbs that use what was trained, on real runs: every option at boundary values, to the end.

What a boundary value asks for may be more than any machine has: it must be refused, not begun. So
every try has an allowance of processor time, and one that needs more has failed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from tests.faults.commands import parser_of
from tests.faults.mutations import make_files
from tests.faults.outcomes import Tally, command

HUGE = "100000000000000000000"
NUMBERS = ("-1", "0", "1", HUGE, "x", "nan")
FILES = ("", "/", "pipe", "no/such.png", "x.txt", "a" * 300 + ".png", "a\0.png", "out.png")
NAMES = ("", "x", "no/Env-v0", ":", ":x", "a:", "..:x", "no.py:x", "shipped:x", "CartPole-v1")
WAYS = {
    "--env": NAMES,
    "--controller": ("policy", "plan", "x"),
    "--host": ("", "x", "999.9.9.9", "a\nb"),
    "--set": ("", "=", "x=1", "learner.lr=", "learner.lr=log(", "learner.lr=log(0,1)", "seed=1",
              "learner.lr=1e-3,1e-4", "learner.lr=log(1e-4,1e-2)", "method=no.py:X",
              "learner.lr=log(1e-2,1e-4)", "env=CartPole-v1", "collect.num_envs=int(1,x)"),
}  # fmt: skip
SECONDS = 120  # of processor time for one try
LONGEST, LEAST = 300, 1  # who uses less than this much of the processor in so long is waiting


class TooLong(BaseException):
    """A try that went beyond its allowance."""


def verbs(files: dict[str, Path]) -> dict[str, list[str]]:
    """Return every verb with words that make it end soon and well."""
    run, eyes = str(files["run"]), str(files["scalor"])
    few = ["--episodes", "1"]
    return {
        "evaluate": [run, *few],
        "gap": [run, *few],
        "view": [run, "--no-open", "--port", "0"],
        "sweep": ["debug", "--dry-run", "--out", "no\0where"],
        "results": [run],
        "curves": [run, "--out", "out.png"],
        "export": [run, "agent.safetensors"],
        "demo": [run, *few, "--films", "1", "--out", "demo"],
        "play": ["Push1-v0", *few, "--policy", "passive"],
        "perception evaluate": [eyes, *few],
        "perception show": [eyes, "--steps", "2"],
        "perception collect": ["smorl/VisualPush1-v0", *few, "--steps", "2", "--out", "data"],
        "analyse clusters": ["--perception", eyes, *few, "--steps", "2", "--points", "20"],
        "study tracking": [run, *few],
    }


def run(folder: Path, every: int) -> list[Tally]:
    """Try every `every`-th pair of an option and a value."""
    files = make_files(folder)
    tally, before, here = Tally("options on real runs"), Path.cwd(), folder / "here"
    here.mkdir()
    os.chdir(here)
    try:
        with _nobody_waits():
            for number, words in enumerate(_words(files)):
                if number % every == 0:
                    os.mkfifo("pipe")
                    tally.add(" ".join(words)[-160:], _limited(words))
                    for path in here.iterdir():
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        os.chdir(before)
    return [tally]


def _words(files: dict[str, Path]) -> Iterator[list[str]]:
    for verb, words in verbs(files).items():
        name = verb.split()
        yield [*name, *words]
        parser = parser_of(name, tuple(words))
        for action in [] if parser is None else parser._actions:
            if not action.option_strings or action.nargs == 0:
                continue
            option = action.option_strings[-1]
            values = WAYS.get(option, NUMBERS if action.type is int else FILES)
            for value in values:
                yield [*name, *words, option, value]


def _limited(words: list[str]) -> str:
    """Return the outcome of a command that may use the processor for `SECONDS`.

    On a busy machine these may take long, so only a command that does nothing has waited too long.
    """
    used = time.process_time()

    def busy(*_: object) -> None:
        raise TooLong(f"more than {SECONDS} s of processor time")

    def idle(*_: object) -> None:
        nonlocal used
        before, used = used, time.process_time()
        if used - before < LEAST:
            raise TooLong(f"less than {LEAST} s of processor time in {LONGEST} s: it waits")

    timers = {signal.SIGPROF: (busy, signal.ITIMER_PROF, SECONDS),
              signal.SIGALRM: (idle, signal.ITIMER_REAL, LONGEST)}  # fmt: skip
    before = {number: signal.signal(number, stop) for number, (stop, _, _) in timers.items()}
    for _, timer, seconds in timers.values():
        signal.setitimer(timer, seconds, seconds)
    try:
        return command(words)
    finally:
        for number, (_, timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


@contextlib.contextmanager
def _nobody_waits() -> Iterator[None]:
    """Somebody presses Ctrl-C a second after the live page is open."""
    from smorl.cli import view

    def wait() -> None:
        time.sleep(1)
        raise KeyboardInterrupt

    closing = mock.Mock()
    closing.Event.return_value.wait = wait
    with mock.patch.object(view, "threading", closing):
        yield
