"""`smorl figures`: every figure of the paper from `results/`, and the page of its claims."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from smorl.errors import InvalidInput

_NAMES = ("gt", "visual", "ood", "clusters", "mig", "reconstructions", "ablation", "long",
          "tracking", "worth")  # fmt: skip


def main(argv: list[str]) -> int:
    """Draw the figures asked for, all by default, and write the page if asked."""
    args = _parser().parse_args(argv)
    # Imported here so that `--help` answers at once.
    from smorl.paper.evidence import NotYetRun
    from smorl.paper.figures.table import FIGURES, draw, get_figure

    results, images = Path(args.results), Path(args.out)
    for name in args.figures:
        get_figure(name)
    if not results.is_dir():
        raise InvalidInput(
            f"--results {results} is not a folder. The raw results lie in the source repository, "
            f"not in the package: `git clone {_repository()}`, then `smorl figures --results "
            "smorl/results`. `smorl reproduce` makes results of your own."
        )
    drawn = 0
    if args.figures or args.report is None:
        for name in args.figures or FIGURES:
            try:
                paths = draw(name, results, images)
            except NotYetRun as missing:
                sys.stderr.write(f"{missing}\n")
                continue
            drawn += 1
            sys.stdout.write("".join(f"{path}\n" for path in paths))
    if args.report is not None:
        _write(results, Path(args.report))
        return 0
    return 0 if drawn else 1


def _repository() -> str:
    from importlib.metadata import metadata

    addresses = metadata("smorl").get_all("Project-URL") or []
    pairs = dict(entry.split(", ", 1) for entry in addresses)
    return pairs.get("Repository", "<the repository>")


def _write(results: Path, page: Path) -> None:
    from smorl.files import write_text
    from smorl.paper.report import write_page

    text = write_page(results)
    write_text(page, text)
    sys.stdout.write(f"{page}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl figures",
        description="Draw the figures of the paper from committed results, without training: "
        "FIGURE.png and FIGURE.pdf each. Curves are means with standard deviations over seeds, "
        "single seeds thin behind them; what doing nothing leaves is dotted. A figure without "
        "results is skipped, and what makes them is said.",
    )
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help=f"{', '.join(_NAMES)} (default: all)"
    )
    parser.add_argument("--results", default="results", help="default: results")
    parser.add_argument("--out", default="docs/images/paper", help="default: docs/images/paper")
    parser.add_argument(
        "--report",
        nargs="?",
        const="docs/reproduction.md",
        metavar="PAGE.md",
        help="write the page of claims, numbers and verdicts (default docs/reproduction.md); "
        "without FIGURE nothing is drawn then",
    )
    return parser
