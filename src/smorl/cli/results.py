"""`smorl results`: a table of finished runs; keep their small files for the record."""

import argparse
import sys
from pathlib import Path

from smorl.errors import InvalidInput
from smorl.paper.configurations import warnings_about
from smorl.paper.figures.curves import find_runs
from smorl.paper.results import keep, read_result, table


def main(argv: list[str]) -> int:
    """Print the table, and copy what is worth committing if asked."""
    parser = argparse.ArgumentParser(
        prog="smorl results",
        description="Print a Markdown table of the finished runs below the given folders: final "
        "distance on the fixed evaluation episodes (mean and standard deviation over seeds, every "
        "seed listed), wall-clock minutes. Runs whose settings differ are rows of their own, and "
        "what differs is said. --keep copies config, versions (with command, machine "
        "and date), evaluations and result of each run, a few kB, to a folder to commit.",
    )
    parser.add_argument("folders", nargs="*", default=["runs"], help="default: runs")
    parser.add_argument("--keep", help="copy the small files here, e.g. results/gt")
    args = parser.parse_args(argv)
    paths = find_runs([Path(f) for f in args.folders])
    results = [result for path in paths if (result := read_result(path)) is not None]
    for warning in warnings_about(paths, results):
        sys.stderr.write(f"warning: {warning}\n")
    if not results:
        raise InvalidInput(f"no finished run in {', '.join(args.folders)}; let one finish first.")
    if args.keep:
        for path in keep(results, Path(args.keep)):
            sys.stderr.write(f"kept {path}\n")
    sys.stdout.write(table(results))
    return 0
