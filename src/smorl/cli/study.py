"""`smorl study NAME`: the reward by tracker ID, what parts and settings are worth, intervals."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smorl.cli.options import check_numbers, show_episodes
from smorl.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from smorl.studies.tracking import Played

_STUDIES = {
    "tracking": "is the object that earns the reward the puck, or the arm?",
    "foretelling": "do agents fare as the self-check of their perception says?",
    "parts": "what is each part of the tracker worth?",
    "worth": "what is a setting worth, over seeds?",
    "calibration": "how often are the intervals wrong that decide the paper's claims?",
}
_SHARES = ("own_puck", "other_puck", "arm", "hidden", "unclear", "nobody", "arm_at_end")
_REWARDS = ("reward", "reward_at_end", "unearned")


def main(argv: list[str]) -> int:
    """Run one study with the remaining arguments; return the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        lines = "".join(f"  {name:<13}{line}\n" for name, line in _STUDIES.items())
        sys.stdout.write(f"usage: smorl study <name> [options]\n\nstudies:\n{lines}")
        return 0
    if argv[0] not in _STUDIES:
        hint = did_you_mean(argv[0], _STUDIES)
        raise InvalidInput(f"no study called {argv[0]!r}; use {', '.join(_STUDIES)}.{hint}")
    if argv[0] in ("foretelling", "parts", "worth"):
        from smorl.cli import foretelling, parts, worth

        return {"foretelling": foretelling, "parts": parts, "worth": worth}[argv[0]].main(argv[1:])
    if argv[0] == "calibration":
        return _calibration(argv[1:])
    return _tracking(check_numbers(_parser().parse_args(argv[1:])))


def _calibration(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="smorl study calibration",
        description="Simulate comparisons of two equally good methods at 2, 3 and 5 seeds, and "
        "count how often the 95 % interval of their difference misses zero: the interval claims "
        "are answered by, and the bootstrap that was used before. Takes minutes.",
    )
    parser.add_argument("--trials", type=int, default=2000, help="of each case (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="decides everything (default 0)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--keep", metavar="F.json", help="write the numbers to this file")
    args = check_numbers(parser.parse_args(argv))
    from smorl.paper.calibration import calibrate
    from smorl.paper.files import write_report
    from smorl.runs.versions import current_versions

    found = calibrate(args.seed, args.trials)
    words = shlex.join(["smorl", "study", "calibration", *argv])
    report = {"analysis": "calibration", **found, "made": current_versions(words)}
    if args.keep:
        write_report(Path(args.keep), report)
        sys.stderr.write(f"Report: {args.keep}\n")
    sys.stdout.write(json.dumps(found) + "\n" if args.json else _rates(found["rows"]))
    return 0


def _rates(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'seeds':<26}{'noise':<8}{'spread [cm]':<14}{'too low':>9}{'too high':>9}"
             f"{'covers':>9}{'before':>9}"]  # fmt: skip
    for row in rows:
        sides = f"{row['seeds']} against {row['against'] or 'doing nothing'}"
        spread = ", ".join(f"{100 * value:g}" for value in row["deviations"])
        rates = [row["now"][key] for key in ("low", "high", "covers")] + [row["before"]["covers"]]
        cells = "".join(f"{100 * rate:>7.1f} %" for rate in rates)
        lines.append(f"{sides:<26}{row['noise']:<8}{spread:<14}{cells}")
    return "\n".join(lines) + "\n"


def _tracking(args: argparse.Namespace) -> int:
    # Imported here so that `--help` answers at once.
    from smorl.studies.tracking_film import filmstrip
    from smorl.visualise.video import PICTURE_SUFFIXES, check_writable, write_png

    if args.film:
        check_writable(args.film, PICTURE_SUFFIXES)
    rows, film, longest = [], None, 0
    _check_one_tracker(args.runs)
    cases = [(run, False) for run in args.runs] + [(args.runs[0], True)] * args.random
    for run, random in cases:
        played, row = _play(run, args, random)
        rows.append(row)
        episode, frames = played.most_exploited()
        if args.film and frames > longest:
            film, longest = filmstrip(played, episode), frames
    report = {"seed": args.seed, "runs": rows}
    sys.stdout.write(json.dumps(report) + "\n" if args.json else _table(rows))
    if film is not None:
        write_png(args.film, film)
        sys.stderr.write(f"Picture: {args.film}\n")
    elif args.film:
        sys.stderr.write("No picture: the arm never carried the ID of a goal's puck.\n")
    return 0


def _check_one_tracker(names: list[str]) -> None:
    """The reward alone is compared: refuse runs that see through trackers set differently."""
    from smorl.trained.loading import load_run

    first, *others = names
    for name in others:
        if load_run(name).config.tracker != load_run(first).config.tracker:
            raise InvalidInput(
                f"{first} and {name} differ in their tracker, so the reward alone cannot be "
                "compared; train both with the same --tracker settings, as `smorl reproduce "
                "tracking` does."
            )


def _play(name: str, args: argparse.Namespace, random: bool) -> tuple[Played, dict[str, Any]]:
    """Play one run, or random actions before its eyes; return what happened and its row."""
    import torch

    from smorl.methods import get_method
    from smorl.studies.tracking import random_actions, study_tracking
    from smorl.trained.loading import load_run
    from smorl.training.scores import rewards_over_training

    run = load_run(name)
    if not get_method(run.config.method).needs_perception:
        raise InvalidInput(
            f"{name} is a {run.config.method} run, and only objects tracked in pictures have IDs "
            f"that can go astray; use a run of e.g. visual-rearrange-2."
        )
    for note in run.notes:
        sys.stderr.write(f"{note}\n")
    torch.set_num_threads(args.threads)
    played = study_tracking(
        run.encoder,
        random_actions(args.seed) if random else run.agent.act,
        run.space,
        run.env,
        episodes=args.episodes,
        horizon=run.config.collect.horizon,
        seed=args.seed,
        threads=args.threads,
        progress=lambda done: show_episodes(done, args.episodes, f"{name}: "),
    )
    trained = None if random else run.config.goals.reward
    row = {"run": name, "trained_by": trained, "env": run.env}
    row |= {"env_steps": run.env_steps, "played": args.episodes, "episodes": len(played)}
    metrics = Path(name) / "metrics.jsonl"  # an agent's file has none
    if trained is not None and metrics.exists():
        row["training"] = rewards_over_training(metrics)
    return played, {**row, **played.numbers()}


def _table(rows: list[dict[str, Any]]) -> str:
    """Return two lines per run: what is paid for by ID, and what matching would pay for."""
    width = max(len("run"), *(len(row["run"]) for row in rows))
    titles = [f"{name.replace('_', ' '):>14}" for name in (*_SHARES, *_REWARDS, "true at end")]
    lines = [f"{'run':<{width}}  {'trained by':<10}  {'found by':<9}{''.join(titles)}"]
    for row in rows:
        for way in ("id", "matching"):
            found = row[f"by_{way}"]
            cells = [_cell(found[name], "%") for name in _SHARES]
            cells += [_cell(found[name]) for name in _REWARDS] + [_cell(row["true_reward_at_end"])]
            trained = row["trained_by"] or "(random)"
            lines.append(f"{row['run']:<{width}}  {trained:<10}  {way:<9}{''.join(cells)}")
    counts = ", ".join(f"{row['episodes']} of {row['played']}" for row in rows)
    lines.append(f"Episodes with a goal for a puck: {counts}. Rewards are in image coordinates.")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, unit: str = "") -> str:
    if value is None:
        return f"{'-':>14}"
    return f"{100 * value:>12.1f} %" if unit else f"{value:>14.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl study tracking",
        description="Play episodes for goals the agents set themselves, as in training, each for a "
        "puck. Say what the object is that earns the reward in every frame: found by the goal's "
        "tracker ID, as `--reward tracking` does, and found by appearance (Eq. 7). arm: the "
        "exploit of the paper's appendix, the puck's ID has gone over to the arm. unearned: how "
        "much the reward exceeds minus the puck's true distance to the goal's place. With --json "
        "also what the rollouts of a run's training were paid on their last step, by its own "
        "reward.",
    )
    parser.add_argument("runs", nargs="+", metavar="run", help="run folders or agent files")
    parser.add_argument("--episodes", type=int, default=50, help="of each run (default 50)")
    parser.add_argument("--seed", type=int, default=2_000_000, help="default 2000000")
    parser.add_argument(
        "--random", action="store_true", help="also random actions, seen by the first run"
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--film", metavar="F.png", help="draw the longest exploit frame by frame")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser
