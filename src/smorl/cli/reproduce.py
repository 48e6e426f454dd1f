"""`smorl reproduce FIGURE`: from nothing to a figure of the paper, in one command."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from smorl.cli.places import (
    add_place_options,
    campaign_of,
    carry_out,
    check_place,
    open_place,
    say_end,
)
from smorl.errors import InvalidInput, RunConflict
from smorl.paper.costs import said
from smorl.paper.evidence import FIRST_SEED
from smorl.paper.jobs import Job, conflicts, pending, with_tensorboard
from smorl.paper.plan import FIGURES, Figure, get_figure, jobs_of
from smorl.paper.recipes import SCALES, Setting

_IMAGES = Path("docs/images/paper")


def main(argv: list[str]) -> int:
    """List the figures, or make one."""
    args = _parser().parse_args(argv)
    if args.figure is None:
        sys.stdout.write(_listing())
        return 0
    figure = get_figure(args.figure)
    check_place(args)
    setting = _setting(figure, args)
    jobs = jobs_of(figure, setting)
    jobs = [with_tensorboard(job) for job in jobs] if args.tensorboard else jobs
    campaign = campaign_of(args, jobs)
    states, wrong = conflicts(jobs)
    todo = pending(jobs, states)
    more = f" ({len(wrong) - 1} more like this)" if len(wrong) > 1 else ""
    if args.dry_run:
        sys.stderr.write(f"Note: {wrong[0]}{more}\n" if wrong else "")
        sys.stdout.write("".join(f"{job.line()}\n" for job in todo))
        return 0
    if wrong:
        raise RunConflict(wrong[0] + more)
    command = shlex.join(["smorl", "reproduce", *argv])
    code = 0
    if todo:
        with open_place(args, campaign, setting.runs() / "logs", todo) as place:
            cost = said(sum(job.minutes for job in todo) / place.size)
            sys.stderr.write(
                f"{figure.name}: {len(todo)} of {len(jobs)} commands to run, about {cost}.\n"
            )
            outcome = carry_out(todo, place, args.retries)
        code = say_end(outcome, len(todo), command, "no figure was drawn")
    else:
        sys.stderr.write(f"{figure.name}: nothing to run.\n")
    return code or _conclude(figure, setting, jobs, args)


def _setting(figure: Figure, args: argparse.Namespace) -> Setting:
    seeds = figure.default_seeds if args.seeds is None else args.seeds
    if figure.single and seeds != 1:
        raise InvalidInput(f"{figure.name} looks at one model; leave --seeds {seeds} out.")
    if figure.ours and args.scale == "paper":
        raise InvalidInput(
            f"{figure.name} is about what the paper's settings do not have; leave --scale paper "
            "out."
        )
    if args.perception == "shipped" and args.scale == "paper":
        raise InvalidInput(
            "no perception of the paper scale comes with the package; use --perception own, or "
            "leave it out."
        )
    own = args.perception == "own" or args.scale == "paper"
    return Setting(args.scale, _seeds(seeds), own, Path(args.out), Path(args.results))


def _seeds(count: int) -> tuple[int, ...]:
    """Seeds that no setting was tuned on."""
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def _conclude(figure: Figure, setting: Setting, jobs: list[Job], args: argparse.Namespace) -> int:
    """Put the numbers on record and draw them."""
    from smorl.paper.figures.table import draw
    from smorl.paper.record import put_on_record

    kept, notes = put_on_record(jobs)
    sys.stderr.write("".join(f"kept {path}\n" for path in kept))
    sys.stderr.write("".join(f"Note: {note}\n" for note in notes))
    apart = setting.results != setting.record
    images = Path(args.images) if args.images else setting.results / "images" if apart else _IMAGES
    for path in draw(figure.name, setting.results, images):
        sys.stdout.write(f"{path}\n")
    return 0


def _listing() -> str:
    """Return the figures with their costs at the default number of seeds."""
    rows = []
    for figure in FIGURES.values():
        jobs = jobs_of(figure, Setting(seeds=_seeds(figure.default_seeds)))
        runs = sum(job.training is not None for job in jobs)
        cost = said(sum(job.minutes for job in jobs))
        rows.append(f"{figure.name:<16} {runs:>4}  {cost:>8}  {figure.line}\n")
    return (
        f"{'figure':<16} {'runs':>4}  {'one core':>8}\n{''.join(rows)}\n"
        "Runs and time are those of `smorl reproduce FIGURE`: the fast scale, 3 seeds where there "
        "are seeds, 5 models of mig.\nFigures share runs: what one has trained the next one "
        "finds. --help explains more.\n"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl reproduce",
        description="Make a figure of the paper: plan the runs it needs, skip the finished ones, "
        "resume the broken ones, run the others side by side, keep their small files in the "
        "results and draw. Without a figure: list them. A run whose results are on record already "
        "counts as finished; --results mine starts from nothing. Ctrl-C saves; the same command "
        "goes on.",
        epilog="ablation: the fast presets hand the goal's object, the arm and offsets to the "
        "networks beside the attention (networks.matched, .body, .relative), which would hide what "
        "the attention does; all its variants have these switched off, and train for 60,000 steps. "
        "mig trains VAEs of RIG with 3 objects, and perceptions that are not on record. Runs and "
        "results of the paper scale, and those with an own perception, have folders of their own "
        "(runs/paper, results/own-perception).",
    )
    parser.add_argument("figure", nargs="?", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="so many seeds from 10 on (default 3, the least for a verdict; mig 5)",
    )
    parser.add_argument(
        "--scale", choices=SCALES, default="fast", metavar="fast|paper",
        help="presets for two cores, or the paper's settings, which take days (default fast)",
    )  # fmt: skip
    parser.add_argument(
        "--perception", choices=("shipped", "own"),
        help="of SMORL from pixels at the fast scale: the one that comes with the package "
        "(default), or one trained first for every seed",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only print the commands")
    parser.add_argument("--out", default="runs", help="where runs go (default runs)")
    parser.add_argument("--results", default="results", help="what to keep (default results)")
    parser.add_argument("--images", help=f"pictures (default {_IMAGES})")
    add_place_options(parser)
    return parser
