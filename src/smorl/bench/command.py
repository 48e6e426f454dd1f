"""What the benchmark commands with torch threads share: their options, and how they report."""

import argparse
import json
import os
import platform
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from smorl.errors import InvalidInput

THREADS = (1, 2)


def run(
    name: str,
    description: str | None,
    argv: list[str],
    measure: Callable[[tuple[int, ...], bool], dict],
    as_text: Callable[[dict], str],
    draw: Callable[[dict, Path], None] | None = None,
) -> int:
    """Measure and report to stdout (progress to stderr); return the exit code.

    `measure(threads, quick)` returns the report; with `draw(report, path)` it can be drawn too.
    """
    parser = argparse.ArgumentParser(prog=f"smorl bench {name}", description=description)
    parser.add_argument("--json", action="store_true", help="report as JSON")
    parser.add_argument("--quick", action="store_true", help="shorter, noisier measurements")
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=list(THREADS),
        metavar="N",
        help="threads to measure with, of torch and where they matter of physics and drawing "
        "(default: 1 2)",
    )
    if draw is not None:
        parser.add_argument(
            "--figure", type=Path, metavar="FILE", help="also draw it, e.g. scaling.png"
        )
    arguments = parser.parse_args(argv)
    if min(arguments.threads) < 1:
        raise InvalidInput(
            f"--threads {min(arguments.threads)} is not a number of threads; use 1 or more."
        )
    before = torch.get_num_threads()
    try:
        report = measure(tuple(arguments.threads), arguments.quick)
    finally:
        torch.set_num_threads(before)
    if draw is not None and arguments.figure is not None:
        draw(report, arguments.figure)
    text = json.dumps(report, indent=2) if arguments.json else as_text(report)
    sys.stdout.write(text + "\n")
    return 0


def peak_memory() -> float:
    """The most memory this process has held so far, in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e9 / 1024)


def say(what: str) -> None:
    """Say what is measured now, and with how many threads."""
    sys.stderr.write(f"{what}, {torch.get_num_threads()} thread(s)\n")


def machine() -> dict:
    """Return what was measured on."""
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }
