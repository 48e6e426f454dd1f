"""`smorl sweep PRESET`: many runs of a preset with settings varied, by grid or by search."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from smorl.cli.options import overrides
from smorl.cli.places import (
    add_place_options,
    campaign_of,
    carry_out,
    check_place,
    open_place,
    say_end,
)
from smorl.cluster.axes import grid, parse_axes
from smorl.cluster.remote import Campaign
from smorl.cluster.search import FILE, Search
from smorl.cluster.sweep import Sweep, check_sweep, grid_name
from smorl.cluster.sweep_report import Row, draw, keep, read_row, table
from smorl.errors import InvalidInput, RunConflict
from smorl.files import write_text
from smorl.paper.costs import said
from smorl.paper.jobs import Job, conflicts, pending
from smorl.presets import get_preset

_EXAMPLE = "--learner.lr 1e-3"


def main(argv: list[str]) -> int:
    """Plan, run, tabulate and draw."""
    args, rest = _parser().parse_known_args(argv)
    check_place(args)
    sweep = _sweep(args, rest)
    command = shlex.join(["smorl", "sweep", *argv])
    if args.search is not None:
        return _search(sweep, args, command)
    jobs = sweep.grid(args.seeds)
    points = grid(sweep.axes)
    code = _run_all(jobs, args, sweep, command)
    if args.dry_run:
        return code
    rows = [
        read_row(sweep.out / grid_name(point, seed), point, seed)
        for point in points
        for seed in range(args.seeds)
    ]
    return _conclude(rows, sweep, args, []) or code


def _sweep(args: argparse.Namespace, rest: list[str]) -> Sweep:
    if args.search is not None and not args.set:
        raise InvalidInput("--search needs to know what to vary: --set learner.lr=log(1e-4,1e-2).")
    get_preset(args.preset)
    out = Path(args.out) if args.out else Path("runs") / "sweep" / args.preset
    fixed = tuple(overrides(rest, _EXAMPLE).items())
    sweep = Sweep(args.preset, fixed, parse_axes(args.set), out, args.tensorboard)
    check_sweep(sweep)
    return sweep


def _run_all(jobs: Sequence[Job], args: argparse.Namespace, sweep: Sweep, command: str) -> int:
    """Run what is not finished; 0 if all went well."""
    campaign = campaign_of(args, jobs)
    states, wrong = conflicts(jobs)
    todo = pending(jobs, states)
    if args.dry_run:
        sys.stderr.write(f"Note: {wrong[0]}\n" if wrong else "")
        sys.stdout.write("".join(f"{job.line()}\n" for job in todo))
        return 0
    if wrong:
        raise RunConflict(wrong[0])
    if not todo:
        return 0
    with open_place(args, campaign, sweep.out / "logs", todo) as place:
        cost = said(sum(job.minutes for job in todo) / place.size)
        sys.stderr.write(f"{len(todo)} of {len(jobs)} runs to do, about {cost}.\n")
        outcome = carry_out(todo, place, args.retries)
    return say_end(outcome, len(todo), command, "the table is of the others")


def _search(sweep: Sweep, args: argparse.Namespace, command: str) -> int:
    """Search, then try the best point with the other seeds."""
    campaign = campaign_of(args, [])
    path = sweep.out / FILE
    if campaign is not None:
        campaign.bring(path)
        campaign.bring(sweep.out, records=True)
    if args.dry_run:
        return _show_first(sweep, args)
    with open_place(args, campaign, sweep.out / "logs", []) as place:
        search = Search(sweep, args.search, place.size, _sharing(campaign))
        todo = search.begin()
        sys.stderr.write(f"{sum(job.wanted for job in todo)} trials begin, of {args.search}.\n")
        outcome = carry_out(todo, place, args.retries, planned=args.search, steer=search.steer)
    code = say_end(outcome, args.search, command, "the search went on without them")
    best = search.best()
    if code == 0 and best is not None and args.seeds > 1:
        point = search.texts(best)
        jobs = [j for s in range(1, args.seeds) for j in sweep.job(point, s, f"best-seed{s}")]
        code = _run_all(jobs, args, sweep, command)
    rows = [read_row(sweep.out / t.name, search.texts(t), 0) for t in search.trials]
    if best is not None:
        point = search.texts(best)
        rows += [
            read_row(sweep.out / f"best-seed{seed}", point, seed) for seed in range(1, args.seeds)
        ]
    return _conclude(rows, sweep, args, [path]) or code


def _sharing(campaign: Campaign | None):
    return (lambda path: None) if campaign is None else campaign.send


def _show_first(sweep: Sweep, args: argparse.Namespace) -> int:
    """Print the commands that a search would begin with; later ones depend on their results."""
    number = min(args.search, args.jobs or 1)
    search = Search(sweep, args.search, number, write=False)
    jobs = search.begin()
    sys.stdout.write("".join(f"{job.line()}\n" for job in jobs))
    more = args.search - len(search.trials)
    sys.stderr.write(f"{more} more trials follow, where the results of these point.\n")
    return 0


def _conclude(
    rows: Sequence[Row], sweep: Sweep, args: argparse.Namespace, extra: Sequence[Path]
) -> int:
    """Write table and picture beside the runs, and keep what was asked for."""
    rows = [row for row in rows if row.path.exists()]
    if not rows:
        return 0
    text, picture = table(rows, sweep.axes), draw(rows, sweep.axes, sweep.out / "sweep.png")
    page = sweep.out / "sweep.md"
    write_text(page, text)
    sys.stdout.write(text)
    sys.stderr.write(f"{picture}\n")
    if args.keep:
        for path in keep(rows, [page, picture, *extra], Path(args.keep)):
            sys.stderr.write(f"kept {path}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl sweep",
        description="Train a preset many times with settings varied. Values make a grid: "
        "--set learner.lr=1e-3,2e-3 --set goals.prior=uniform,fitted --seeds 5. With --search N "
        "ranges are searched: --set 'learner.lr=log(1e-4,1e-2)'; Optuna proposes N points, and "
        "runs that fall behind are stopped early by their evaluation distance (ASHA: a third goes "
        "on after 1, 3, 9, ... evaluations). The same command again skips what is finished and "
        "resumes what is not. Ctrl-C saves all runs.",
        epilog="Other options are settings of all runs, as for `smorl train`: "
        "--collect.total_steps 20000 --evaluation.every 2500. A perception that the preset trains "
        "first is trained once per seed and shared. `smorl results`, `smorl curves` and "
        "TensorBoard work on the folder at any time.",
        allow_abbrev=False,
    )
    parser.add_argument("preset", metavar="PRESET", help="a name from `smorl presets`")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUES",
        help="what to vary: a,b,c; with --search also log(a,b), uniform(a,b), int(a,b)",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N",
        help="seeds 0 to N - 1 (default 1); of a search: for its best point",
    )  # fmt: skip
    parser.add_argument("--search", type=int, metavar="N", help="search with N trials")
    parser.add_argument("--dry-run", action="store_true", help="only print the commands")
    parser.add_argument("--out", help="where runs go (default runs/sweep/PRESET)")
    parser.add_argument("--keep", help="copy small files of all runs, table and picture here")
    add_place_options(parser)
    return parser
