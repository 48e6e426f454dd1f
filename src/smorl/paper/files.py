"""Reports of analyses as JSON files, and figures as PNG and PDF: written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from smorl.errors import DamagedFile, InvalidInput
from smorl.files import appearing, write_text
from smorl.formats import read_json

SUFFIXES = (".png", ".pdf")


def check_figures(names: Iterable[str | Path]) -> list[Path]:
    """Return the paths of figures to write; raise before long work if one cannot be."""
    paths = [Path(name) for name in names]
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise InvalidInput(f"--out {path} must end in .png or .pdf.")
        with appearing(path, keep=False):
            pass
    return paths


def save_figure(figure: Any, outs: Sequence[Path]) -> list[Path]:
    """Save a matplotlib figure under each name; the same figure gives the same bytes."""
    for out in outs:
        dated = {"CreationDate": None} if out.suffix == ".pdf" else {"Software": None}
        with appearing(out) as partial:
            figure.savefig(partial, dpi=150, metadata=dated)
    return list(outs)


def write_report(path: Path, report: Mapping[str, Any]) -> Path:
    """Write a report, one line per entry, so that versions of it can be compared."""
    lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in report.items())
    return write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_report(path: Path, analysis: str) -> dict[str, Any]:
    """Read a file of `write_report` made by the analysis of this name."""
    report = read_json(Path(path))
    made_by = report.get("analysis")
    if not isinstance(made_by, str):
        raise DamagedFile(f"{path} is not a report; `smorl analyse {analysis} --keep` makes one.")
    if made_by != analysis:
        raise InvalidInput(f"{path} is a report of {made_by!r}; use `smorl analyse {made_by}`.")
    return report
