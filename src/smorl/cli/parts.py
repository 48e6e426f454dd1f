"""`smorl study parts PERCEPTION...`: what is each part of the tracker worth?"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from smorl.cli.options import check_numbers
from smorl.errors import InvalidInput
from smorl.evaluation.pushing import STEPS

# score of `smorl perception evaluate` -> head of the column, and how a number is written
COLUMNS = {
    "free/matched": ("matched: free", "{:.3f}"),
    "touching_or_pushed/matched": ("touching or pushed", "{:.3f}"),
    "half_hidden/matched": ("half hidden", "{:.3f}"),
    "wrong": ("wrong object", "{:.4f}"),
    "touching_or_pushed/error_median": ("place: median", "{:.2f}"),
    "touching_or_pushed/error_90": ("90 %", "{:.2f}"),
    "jitter": ("jitter at rest", "{:.3f}"),
    "hand_near": ("hand within 2", "{:.3f}"),
}
AS_IS = "as it is"


def main(argv: list[str]) -> int:
    """Switch off one part at a time, measure, and print; return the exit code."""
    args = check_numbers(_parser().parse_args(argv))
    import torch

    from smorl.evaluation.pushing import record, scores
    from smorl.paper.files import write_report
    from smorl.representations.perceptions import load_perception, settings_for
    from smorl.runs.versions import current_versions

    cases: dict[str, Any] = {AS_IS: None}
    for name in args.perceptions:
        cases |= settings_for(name).without()
    if len(cases) == 1:
        raise InvalidInput(f"{args.perceptions[0]}: encoders of this kind have no parts of ours.")
    torch.set_num_threads(args.threads)
    rows = []
    for name in args.perceptions:
        perception = load_perception(name)
        for part, settings in cases.items():
            sys.stderr.write(f"{name}, without {part}\n" if settings else f"{name}\n")
            seen = record(
                perception.tracker(settings), perception.env, args.episodes, args.seed,
                args.threads, steps=args.steps, num_envs=min(25, args.episodes),
            )  # fmt: skip
            found = scores(seen, perception.threshold)
            rows.append({"perception": Path(name).name, "without": part, **found})
    report = {"analysis": "parts", "episodes": args.episodes, "seed": args.seed, "rows": rows}
    if args.keep:
        words = ["smorl", "study", "parts", *(Path(name).name for name in args.perceptions)]
        words += ["--episodes", str(args.episodes), "--seed", str(args.seed)]
        write_report(Path(args.keep), {**report, "made": current_versions(shlex.join(words))})
        sys.stderr.write(f"Report: {args.keep}\n")
    sys.stdout.write(json.dumps(report) + "\n" if args.json else table(rows))
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table, a line per part: means over the perceptions."""
    lines = [
        "| without | " + " | ".join(head for head, _ in COLUMNS.values()) + " |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    for part in dict.fromkeys(row["without"] for row in rows):
        cells = [part if part in (AS_IS, "all") else f"`{part}`"]
        for name, (_, form) in COLUMNS.items():
            known = [row[name] for row in rows if row["without"] == part and row[name] is not None]
            cells.append(form.format(sum(known) / len(known)) if known else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl study parts",
        description="Follow the same pushed pucks again and again, each time with one part of the "
        "tracker switched off that is ours (and in the end with all of them off, as in the paper), "
        "and compare with the simulator. The columns are those of `smorl perception evaluate`: "
        "shares of frames, and pixels; means over the perceptions. A perception without a network "
        "for hand and things shows no difference there.",
    )
    parser.add_argument(
        "perceptions", nargs="+", metavar="perception", help="run folders, weights files, shipped:"
    )
    parser.add_argument("--episodes", type=int, default=50, help="of each case (default 50)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each (default {STEPS})")
    parser.add_argument("--seed", type=int, default=3_000_000, help="default 3000000")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--keep", metavar="F.json", help="write the numbers to this file")
    return parser
