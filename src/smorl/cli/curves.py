"""`smorl curves`: draw learning curves from run folders or committed results."""

import argparse
import sys
from pathlib import Path

from smorl.errors import InvalidInput
from smorl.paper.configurations import warnings_about
from smorl.paper.figures.curves import draw_curves, find_runs, has_curve, read_curve
from smorl.paper.files import check_figures


def main(argv: list[str]) -> int:
    """Draw the curves of every run below the given folders."""
    parser = argparse.ArgumentParser(
        prog="smorl curves",
        description="Draw learning curves: mean and standard deviation over seeds, single seeds "
        "thin behind them, one panel per task (from pixels and on ground truth alike), the passive "
        "policy dotted. Runs whose settings differ are lines of their own.",
    )
    parser.add_argument("folders", nargs="*", default=["runs"], help="default: runs")
    parser.add_argument("--out", default="curves.png", help=".png or .pdf (default curves.png)")
    args = parser.parse_args(argv)
    out = Path(args.out)
    check_figures([out])
    paths = find_runs([Path(f) for f in args.folders])
    curves = [read_curve(path) for path in paths if has_curve(path)]
    for warning in warnings_about(paths, curves):
        sys.stderr.write(f"warning: {warning}\n")
    if not curves:
        raise InvalidInput(
            f"no run in {', '.join(args.folders)} has an evaluation with distances to goals yet."
        )
    draw_curves(curves, out)
    sys.stderr.write(f"{len(curves)} runs: {out}\n")
    return 0
