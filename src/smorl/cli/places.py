"""Where a campaign of runs is carried out: options, places, and what is said at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from smorl.cli.options import check_numbers
from smorl.cluster.estimate import longest_first
from smorl.cluster.remote import Campaign
from smorl.errors import InvalidInput
from smorl.paper.jobs import Job
from smorl.paper.progress import Board
from smorl.paper.runner import RETRIES, Outcome, Place, Runner

_SLURM_JOBS = 100  # at a time, if nothing else is said


class Sized(Place, Protocol):
    """A place that knows how much runs there at once."""

    @property
    def size(self) -> int: ...


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where jobs run."""
    group = parser.add_argument_group("where runs go")
    group.add_argument(
        "--on", default="local", metavar="local|ray|ray://HOST:PORT|slurm",
        help="this machine (default); Ray: the cluster of RAY_ADDRESS, one running here or one "
        "started here, or that at an address; SLURM (docs/scale.md)",
    )  # fmt: skip
    group.add_argument(
        "--jobs", type=int, metavar="J",
        help=f"side by side (default 1 on this machine, all cores of a Ray cluster, {_SLURM_JOBS} "
        "on SLURM)",
    )  # fmt: skip
    group.add_argument(
        "--shared", metavar="FOLDER",
        help="with Ray or SLURM: the folder that all nodes see, or an fsspec address such as "
        "s3://bucket/project (default: the current folder); results are copied here",
    )  # fmt: skip
    group.add_argument(
        "--slurm", action="append", default=[], metavar="NAME=VALUE",
        help="an option of submitit, e.g. slurm_partition=cpu or timeout_min=600; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--tensorboard", action="store_true", help="runs of agents also log for TensorBoard"
    )
    group.add_argument(
        "--retries", type=int, default=RETRIES, metavar="N",
        help=f"how often a run that crashed or lost its node is taken up again (default {RETRIES})",
    )  # fmt: skip


def check_place(args: argparse.Namespace) -> None:
    """Raise for options that cannot be meant, before anything is planned."""
    check_numbers(args)
    known = args.on in ("local", "ray", "slurm") or args.on.startswith("ray://")
    if not known:
        raise InvalidInput(
            f"--on {args.on} is unknown; choose local, ray, ray://HOST:PORT or slurm."
        )
    if args.shared is not None and args.on == "local":
        raise InvalidInput(
            f"--shared {args.shared} has no use on this machine; add --on ray or --on slurm."
        )
    if args.slurm and args.on != "slurm":
        raise InvalidInput(f"--slurm {args.slurm[0]} has no use without --on slurm.")
    _slurm_options(args.slurm)


def campaign_of(args: argparse.Namespace, jobs: Sequence[Job]) -> Campaign | None:
    """Return the shared folder with the records of `jobs` brought here; None on this machine."""
    if args.on == "local":
        return None
    from smorl.cluster.shared import Shared

    campaign = Campaign(Shared(args.shared or Path.cwd()))
    campaign.look(jobs)
    return campaign


@contextmanager
def open_place(
    args: argparse.Namespace, campaign: Campaign | None, logs: Path, jobs: Sequence[Job]
) -> Iterator[Sized]:
    """Open the place that the options name; `jobs` must fit on it."""
    if campaign is None:
        from smorl.paper.local import LocalPlace

        yield LocalPlace(args.jobs or 1, logs)
    elif args.on == "slurm":
        from smorl.cluster.slurm import SlurmPlace

        limit, options = args.jobs or _SLURM_JOBS, _slurm_options(args.slurm)
        with SlurmPlace(campaign, logs, limit, options) as place:
            yield place
    else:
        from smorl.cluster.ray import RayPlace

        address = None if args.on == "ray" else args.on
        with RayPlace(campaign, logs, address, args.jobs) as place:
            place.check(jobs)
            yield place


def carry_out(
    todo: Sequence[Job],
    place: Sized,
    retries: int,
    *,
    planned: int = 0,
    steer: Callable[[Runner, Board], None] = lambda runner, board: None,
) -> Outcome:
    """Run jobs to their end with everything on one screen; `steer` may add and halt some."""
    runner = Runner(longest_first(todo), place, retries)
    with Board(todo, place.size, planned=planned) as board:

        def show(r: Runner) -> None:
            steer(r, board)
            failed = set(r.outcome.failed)
            gone = [*r.outcome.blocked, *r.outcome.halted]
            gone += [job for job in board.jobs if job.name in failed]
            board.show(r.outcome.done, [child.job for child in r.running], gone)

        return runner.run(show, board.note)


def say_end(outcome: Outcome, number: int, command: str, lost: str) -> int:
    """Say what did not go well; return the exit code. `lost` is what was not made because of it."""
    if outcome.stopped:
        sys.stderr.write(f"Stopped and saved. The same command goes on: {command}\n")
        return 130
    if outcome.failed:
        blocked = f", {len(outcome.blocked)} that need them not started" if outcome.blocked else ""
        words = "".join(f"  {name}: {problem}\n" for name, problem in outcome.failed.items())
        sys.stderr.write(
            f"{len(outcome.failed)} of {number} failed ({', '.join(outcome.failed)}){blocked}; "
            f"{lost}. Their last words:\n{words}The same command tries again: {command}\n"
        )
        return 1
    return 0


def _slurm_options(words: Sequence[str]) -> dict[str, str]:
    options = {}
    for word in words:
        name, given, value = word.partition("=")
        if not given or not name:
            raise InvalidInput(f"--slurm {word} must look like NAME=VALUE, e.g. timeout_min=600.")
        options[name] = value
    return options
