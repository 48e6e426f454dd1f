"""`smorl perception results`: a table of finished runs; keep their small files for the record."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smorl.errors import DamagedFile, InvalidInput, RunConflict
from smorl.files import copy_file, make_folder, read_bytes
from smorl.formats import check_kinds, read_json, understood

KEPT = ("config.json", "versions.json", "evaluations.csv", "metrics.jsonl", "result.json")
# Written by hand: `smorl perception evaluate RUN --episodes 200 --json > RUN/evaluation.json`.
LATER = "evaluation.json"
# name in result.json -> head of the column
_COLUMNS = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "median_error_px": "median error [px]",
    "identity_accuracy": "identity",
    "arm_detected": "arm",
    "false_positives_per_frame": "false/frame",
    "match_rate": "match",
    "false_match_rate": "false match",
}


_KINDS = {
    "seconds": int | float,
    "episodes": int,
    "attempt": int,
    **dict.fromkeys(_COLUMNS, int | float | None),
}


def main(argv: list[str]) -> int:
    """Print the table, and copy what is worth committing if asked."""
    args = _parser().parse_args(argv)
    runs = sorted(_finished([Path(f) for f in args.folders]), key=_order)
    if not runs:
        raise InvalidInput(f"no finished perception run in {', '.join(args.folders)}.")
    if args.keep:
        for path, _, _ in runs:
            sys.stderr.write(f"kept {_keep(path, Path(args.keep) / path.name)}\n")
    heads = ["environment", "seed", *_COLUMNS.values(), "episodes", "attempt", "minutes"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += [_line(config, result) for _, config, result in runs]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _finished(folders: list[Path]) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """Yield folder, config and result of every finished perception run below the folders."""
    for path in sorted({p.parent for folder in folders for p in folder.rglob("result.json")}):
        try:
            config, result = read_json(path / "config.json"), read_json(path / "result.json")
            if (path / LATER).exists():  # a longer evaluation than that at the end of training
                result |= read_json(path / LATER)
            if "scalor" in config and "f1" in result:
                with understood(path / "result.json", "a result"):
                    check_kinds(config, {"env": str, "seed": int}, "config")
                    check_kinds(result, _KINDS, "result")
        except DamagedFile as error:
            sys.stderr.write(f"{path} is left out: {error}\n")
            continue
        if "scalor" in config and "f1" in result:
            yield path, config, result


def _order(run: tuple[Path, dict[str, Any], dict[str, Any]]) -> tuple[str, int]:
    return run[1]["env"], run[1]["seed"]


def _line(config: dict[str, Any], result: dict[str, Any]) -> str:
    env = config["env"].removeprefix("smorl/").removesuffix("-v0")
    values = [result.get(name) for name in _COLUMNS]
    numbers = ["-" if value is None else f"{value:.3f}" for value in values]
    minutes = f"{result['seconds'] / 60:.1f}"
    counts = [str(result["episodes"]), str(result["attempt"] + 1)]
    cells = [env, str(config["seed"]), *numbers, *counts, minutes]
    return "| " + " | ".join(cells) + " |"


def _keep(source: Path, target: Path) -> Path:
    """Copy the small files; never over something different."""
    names = [*KEPT, LATER] if (source / LATER).exists() else list(KEPT)
    for name in names:
        copy = target / name
        if copy.exists() and read_bytes(copy) != read_bytes(source / name):
            raise RunConflict(
                f"{copy} exists and differs from {source / name}; remove it or keep it elsewhere."
            )
    make_folder(target)
    for name in names:
        if (source / name).resolve() != (target / name).resolve():
            copy_file(source / name, target / name)
    return target


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception results",
        description="Print a Markdown table of the finished perception runs below the given "
        "folders, every seed on a line of its own; numbers come from result.json, or from "
        "evaluation.json if a longer evaluation was saved there. --keep copies config, versions "
        "(with command, machine and date), metrics, diagnoses and results of each run to a folder "
        "to commit.",
    )
    parser.add_argument("folders", nargs="*", default=["runs"], help="default: runs")
    parser.add_argument("--keep", help="copy the small files here, e.g. results/perception")
    return parser
