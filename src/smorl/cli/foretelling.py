"""`smorl study foretelling PERCEPTION...`: does the self-check's score rank with agents?"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from smorl.cli.options import check_numbers
from smorl.errors import InvalidInput

_SHOWN = ("object_distance", "pucks_within_5cm", "goals_matched", "passive_distance")


def main(argv: list[str]) -> int:
    """Judge, train, compare; return the exit code."""
    args = check_numbers(_parser().parse_args(argv))
    import smorl
    from smorl.files import make_folder
    from smorl.paper.files import write_report
    from smorl.representations.perceptions import load_perception, studied
    from smorl.runs.versions import current_versions

    out, names = Path(args.out), [Path(name).name.replace(":", "-") for name in args.perceptions]
    if len(set(names)) < len(names):
        raise InvalidInput("two of the perceptions have the same name; rename a folder.")
    given = [load_perception(name) for name in args.perceptions]
    if len({perception.env for perception in given}) > 1:
        raise InvalidInput("the perceptions are of different environments; compare one at a time.")
    study = studied(args.perceptions[0])
    cases = dict(zip(names, given, strict=True))
    if args.spoil:
        cases |= dict(study.spoiled(given[0], args.seed))
    make_folder(out)
    data, rows = study.video(given[0], args.seed, args.threads), []
    for name, perception in cases.items():
        file = study.save(out / f"{name}.safetensors", perception)
        row = {"perception": name, **study.judged(perception, data)}
        results = []
        for seed in range(args.seed, args.seed + args.agents):
            sys.stderr.write(f"{name}: score {row['score']:.3f}, agent of seed {seed}\n")
            result = smorl.train(
                args.preset, seed=seed, out=out / f"{name}-seed{seed}", perception=str(file),
                threads=args.threads, collect__total_steps=args.steps,
                evaluation__every=args.steps, evaluation__final_episodes=args.episodes,
            )  # fmt: skip
            if result is None:
                sys.stderr.write("Stopped; the same command goes on from here.\n")
                return 130
            results.append(result)
        means = {key: sum(r[key] for r in results) / len(results) for key in _SHOWN}
        rows.append({**row, **means, "distances": [r["object_distance"] for r in results]})
    report = {
        "analysis": "foretelling", "preset": args.preset, "steps": args.steps,
        "episodes": args.episodes, "agents": args.agents, "seed": args.seed, "env": given[0].env,
        "rank_correlation": rank_correlation(rows), "rows": rows,
    }  # fmt: skip
    if args.keep:
        words = shlex.join(["smorl", "study", "foretelling", *argv])
        write_report(Path(args.keep), {**report, "made": current_versions(words)})
        sys.stderr.write(f"Report: {args.keep}\n")
    sys.stdout.write(json.dumps(report) + "\n" if args.json else table(report))
    return 0


def rank_correlation(rows: list[dict[str, Any]]) -> float | None:
    """Spearman's, of the score with how near agents come; 1: the same order."""
    from scipy.stats import spearmanr

    score, distance = ([row[key] for row in rows] for key in ("score", "object_distance"))
    if len(rows) < 3 or len(set(score)) == 1 or len(set(distance)) == 1:
        return None
    found: Any = spearmanr(score, [-value for value in distance])
    return float(found.statistic)


def table(report: dict[str, Any]) -> str:
    """Return a line per perception, the best score first, and the correlation."""
    rows = sorted(report["rows"], key=lambda row: -row["score"])
    width = max(len("perception"), *(len(row["perception"]) for row in rows))
    lines = [f"{'perception':<{width}}{'score':>8}  {'healthy':<9}{'distance':>9}{'in 5 cm':>9}"]
    for row in rows:
        healthy = "yes" if row["healthy"] else "no"
        lines.append(
            f"{row['perception']:<{width}}{row['score']:>8.3f}  {healthy:<9}"
            f"{row['object_distance']:>9.3f}{row['pucks_within_5cm']:>9.0%}"
        )
    found = report["rank_correlation"]
    told = "-" if found is None else f"{found:.2f}"
    lines.append(f"Rank correlation of score and nearness over {len(rows)}: {told}.")
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl study foretelling",
        description="Judge perceptions by the self-check that ends their training, on the same "
        "fresh video, then train short agents from each, and compare: does a better score mean "
        "better agents? With --spoil six worse ones are made of the first. Ctrl-C saves; the same "
        "command goes on.",
    )
    parser.add_argument(
        "perceptions", nargs="+", metavar="perception", help="run folders, weights files, shipped:"
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="for the agents' runs")
    parser.add_argument("--spoil", action="store_true", help="also six spoiled ones of the first")
    parser.add_argument("--preset", default="visual-rearrange-1", help="of the agents")
    parser.add_argument("--agents", type=int, default=3, help="from each (default 3)")
    parser.add_argument("--steps", type=int, default=15_000, help="of each (default 15000)")
    parser.add_argument("--episodes", type=int, default=50, help="of evaluation (default 50)")
    parser.add_argument("--seed", type=int, default=100, help="decides everything (default 100)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--keep", metavar="F.json", help="write the numbers to this file")
    return parser
