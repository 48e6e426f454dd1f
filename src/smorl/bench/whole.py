"""Everything at once: one table of what is how fast, beside what; and where the time goes.

Each part is what `smorl bench PART` measures, with its own comparison in the same run. On a quiet
machine it takes about ten minutes, with --quick about three. `--save FOLDER` keeps every report as
FOLDER/PART.json, and `--from FOLDER` makes table and figure of such files without measuring.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from smorl.bench import command
from smorl.bench.parts import PARTS
from smorl.errors import InvalidInput

MEASURED = ("envs", "learner", "perception", "loop")
Find = Callable[[str], Any]  # from the name of a part to the module with its `take`
Row = tuple[str, str, float | None, str]  # what, how fast, times something, which is


def main(argv: list[str], find: Find) -> int:
    """Measure or read, print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="smorl bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="all reports as JSON")
    parser.add_argument("--quick", action="store_true", help="shorter, noisier measurements")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the reports there")
    parser.add_argument(
        "--from", type=Path, metavar="FOLDER", dest="kept", help="read reports instead"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="also draw it, e.g. speed.png")
    arguments = parser.parse_args(argv)
    if arguments.kept is not None:
        reports = read(arguments.kept)
    else:
        reports = measure(find, arguments.quick, arguments.save)
    if arguments.figure is not None:
        draw(reports, arguments.figure)
    text = json.dumps(reports, indent=2) if arguments.json else as_text(reports)
    sys.stdout.write(text + "\n")
    return 0


def measure(find: Find, quick: bool, save: Path | None = None) -> dict[str, dict]:
    """Return the report of every part; each is kept as soon as it is there."""
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
    reports, before = {}, torch.get_num_threads()
    for number, name in enumerate(MEASURED, 1):
        sys.stderr.write(f"{name}, part {number} of {len(MEASURED)}\n")
        try:
            reports[name] = find(name).take(command.THREADS, quick)
        finally:
            torch.set_num_threads(before)
        if save is not None:
            (save / f"{name}.json").write_text(json.dumps(reports[name], indent=2) + "\n")
    return reports


def read(folder: Path) -> dict[str, dict]:
    """Return the reports that were kept in a folder."""
    reports = {}
    for name in MEASURED:
        path = folder / f"{name}.json"
        try:
            reports[name] = json.loads(path.read_text())
            table({name: reports[name]})
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise InvalidInput(
                f"{path} is no report of `smorl bench {name}` of this version "
                f"({type(error).__name__}: {error}); make it with `smorl bench --save {folder}`."
            ) from None
    return reports


def table(reports: dict[str, dict]) -> list[Row]:
    """Return a row for everything measured."""
    makers = {"loop": _loop, "learner": _learner, "perception": _perception, "envs": _envs}
    return [row for name, make in makers.items() if name in reports for row in make(reports[name])]


def _loop(report: dict) -> list[Row]:
    rows: list[Row] = []
    for ours, ratio in zip(report["loops"], report["ratios"], strict=True):
        cores = f"{ours['threads']} core{'s' * (ours['threads'] > 1)}"
        speed = f"{ours['env_steps_per_second']:.0f} steps/s"
        rows.append((f"whole loop, {cores}", speed, ratio["ratio"], "the released recipe"))
    parts, told = report["loops"][0]["parts"], report["evaluation"]
    encoding = parts["encoding"]["ms_per_step"]
    rows += [
        (f"encoding a row of {report['loops'][0]['rows']}", f"{encoding:.2f} ms", None, ""),
        ("relabelling", f"{parts['relabelling']['share']:.1%} of the loop", None, ""),
        ("fitting the model of objects", f"{parts['fitting']['share']:.1%} of the loop", None, ""),
        ("planning", f"{told['planning_ms_per_training_step']:.2f} ms a step", None, ""),
        ("memory of a run", f"{report['memory_gb']:.2f} GB", None, ""),
    ]
    return rows


def _learner(report: dict) -> list[Row]:
    return [
        (f"update, batch {row['batch']}", f"{row['ours_ms']:.1f} ms", row["ratio"], "a plain SAC")
        for row in report["updates"]
        if row["threads"] == 1
    ]


def _perception(report: dict) -> list[Row]:
    ours, theirs = (row for row in report["training"] if row["threads"] == 1)
    each = next(row for row in report["tracking"] if (row["threads"], row["rows"]) == (1, 16))
    speed, ratio = (
        ours["frames_per_second"],
        ours["frames_per_second"] / theirs["frames_per_second"],
    )
    return [
        ("training perception", f"{speed:.0f} frames/s", ratio, "paper-size networks"),
        (
            "tracking, 16 rows",
            f"{each['frame_ms']:.2f} ms a frame",
            each["paper_ratio"],
            "the same",
        ),
    ]


def _envs(report: dict) -> list[Row]:
    rows: list[Row] = []
    for kind in ("state", "visual"):
        found = [r for r in report["speeds"] if ("Visual" in r["id"]) == (kind == "visual")]
        best = max(found, key=lambda row: row["steps_per_second"])
        speed = f"{best['steps_per_second']:.0f} steps/s"
        ratio = report["ratios"][f"{kind}/vector_over_single"]
        rows.append((f"environment, {kind}", speed, ratio, "one at a time"))
    return rows


def as_text(reports: dict[str, dict]) -> str:
    """Return the table, and where the time of a training step goes."""
    lines = [f"{'what':32}{'how fast':>20}{'times':>8}  of"]
    for what, speed, ratio, beside in table(reports):
        times = "" if ratio is None else f"{ratio:.1f}x"
        lines.append(f"{what:32}{speed:>20}{times:>8}  {beside}".rstrip())
    loops = _bars(reports["loop"])
    lines += ["", f"{'where the time goes':32}" + "".join(f"{name:>18}" for name in loops)]
    for part in PARTS:
        lines.append(f"{part:32}" + "".join(f"{shares[part]:>18.1%}" for shares in loops.values()))
    return "\n".join(lines)


def _bars(report: dict) -> dict[str, dict[str, float]]:
    """The shares of every loop by its name."""
    rows = {f"ours, {row['threads']} core(s)": row for row in report["loops"]}
    rows["released recipe"] = report["reference"][0]
    return {
        name: {part: row["parts"][part]["share"] for part in PARTS} for name, row in rows.items()
    }


def draw(reports: dict[str, dict], path: Path) -> None:
    """Draw what is how many times as fast, and where the time goes."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    compared = [row for row in table(reports) if row[2] is not None][::-1]
    times = [row[2] or 0.0 for row in compared]
    bars = left.barh([row[0] for row in compared], times, color="#3b7ea1")
    labels = [f"{value:.1f}x  {row[1]}" for value, row in zip(times, compared, strict=True)]
    left.bar_label(bars, labels, padding=3, fontsize=8)
    left.set(xlabel="times what it is compared with", xlim=(0, 1.45 * max(times)))
    left.spines[["top", "right"]].set_visible(False)
    loops = _bars(reports["loop"])
    names, start = list(loops)[::-1], [0.0] * len(loops)
    colours = ["#8c564b", "#c49c94", "#1f77b4", "#aec7e8", "#dddddd", "#ff7f0e", "#d62728",
               "#9467bd", "#7f7f7f"]  # fmt: skip
    for part, colour in zip(PARTS, colours, strict=True):
        shares = [loops[name][part] for name in names]
        right.barh(names, shares, left=start, label=part, color=colour)
        start = [a + b for a, b in zip(start, shares, strict=True)]
    right.set(xlabel="share of the time of a training step", xlim=(0, 1))
    right.legend(ncols=5, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
