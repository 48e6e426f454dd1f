"""`smorl gap RUN`: which part of perception costs how much of the result."""

import argparse
import json
import sys
from typing import Any

from smorl.cli.options import check_numbers
from smorl.errors import InvalidInput


def main(argv: list[str]) -> int:
    """Measure the gap and print the table."""
    args = check_numbers(_parser().parse_args(argv))
    # Imported here so that `--help` answers at once.
    import torch

    from smorl.methods import get_method
    from smorl.studies.perception_ablation import measure_gap
    from smorl.trained.loading import load_run
    from smorl.training.loop import MAX_EVALUATION_ROWS

    torch.set_num_threads(args.threads)
    run = load_run(args.run)
    if not (get_method(run.config.method).needs_perception and run.encoder.layout.what):
        raise InvalidInput(
            f"{args.run} is a {run.config.method} run and sees no objects in pictures, so there "
            f"is no part to swap; give a run of a visual preset, e.g. "
            f"runs/visual-rearrange-1-seed0."
        )
    envs = run.envs(min(args.episodes, MAX_EVALUATION_ROWS), args.threads)
    table = measure_gap(
        envs,
        run.encoder,
        lambda encoder: run.actor(encoder=encoder),
        episodes=args.episodes,
        seed=run.config.evaluation.seed if args.seed is None else args.seed,
        progress=_tell,
    )
    envs.close()
    if args.json:
        sys.stdout.write(json.dumps({"run": str(args.run), "env": run.env, "rows": table}) + "\n")
    else:
        sys.stdout.write(as_markdown(table))
    return 0


def _tell(part: str) -> None:
    sys.stderr.write(f"measuring: {part}\n")


def as_markdown(table: dict[str, dict[str, Any]]) -> str:
    """Return the table for people and for the docs."""
    lines = [
        "| made perfect | distance | nearer by | success | goals matched | falsely solved |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in table.items():
        gain = f"{row['gain']:.4f} ± {row['gain_error']:.4f}"
        lines.append(
            f"| {name} | {row['object_distance']:.4f} | {gain} | {row['success']:.2f} | "
            f"{row['goals_matched']:.2f} | {row['false_solved']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl gap",
        description="Evaluate a visual agent on the same episodes again and again, each time with "
        "one part of its perception swapped for the simulator's truth: detection, occlusion, "
        "places, appearance, the goal image, all of these. What a swap gains is what that part "
        "costs; what remains with everything perfect is the policy's own. Distances in metres, "
        "gains with their standard error over episodes.",
    )
    parser.add_argument("run", help="a run folder, an exported file, or shipped:visual-...")
    parser.add_argument("--episodes", type=int, default=100, help="per row (default 100)")
    parser.add_argument("--seed", type=int, help="of the first episode (default: the run's own)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser
