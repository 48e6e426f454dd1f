"""`smorl study worth FOLDER`: what is a setting worth, over seeds?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Compare the variants in a folder with the base; return the exit code."""
    args = _parser().parse_args(argv)
    from smorl.paper.worth import compare, table

    sys.stdout.write(table(compare(Path(args.folder), args.base)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl study worth",
        description="What is a setting worth? Reads evaluations of agents that differ in one "
        "thing, `smorl evaluate RUN --episodes 100 --json > FOLDER/VARIANT-seedN.json`, and prints "
        "a Markdown table: every variant beside the base, on the same episodes, with the "
        "difference of their distances over seeds and its t interval.",
    )
    parser.add_argument("folder", help="with files VARIANT-seedN.json")
    parser.add_argument("--base", default="default", help="what to compare with (default: default)")
    return parser
