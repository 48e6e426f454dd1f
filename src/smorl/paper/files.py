"""Reports of analyses as JSON files, and figures as PNG and PDF: written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from smorl.errors import DamagedFile, InvalidInput

SUFFIXES = (".png", ".pdf")


def check_figures(names: Iterable[str | Path]) -> list[Path]:
    """Return the paths of figures to write; raise before long work if one cannot be."""
    paths = [Path(name) for name in names]
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise InvalidInput(f"--out {path} must end in .png or .pdf.")
        if path.is_dir() or not _folder(path):
            raise InvalidInput(f"--out {path} cannot be written there; choose another place.")
    return paths


def save_figure(figure: Any, outs: Sequence[Path]) -> list[Path]:
    """Save a matplotlib figure under each name; the same figure gives the same bytes."""
    for out in outs:
        out.parent.mkdir(parents=True, exist_ok=True)
        dated = {"CreationDate": None} if out.suffix == ".pdf" else {"Software": None}
        figure.savefig(out, dpi=150, metadata=dated)
    return list(outs)


def write_report(path: Path, report: Mapping[str, Any]) -> Path:
    """Write a report, one line per entry, so that versions of it can be compared."""
    lines = (f"  {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in report.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".tmp-{path.name}")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    temporary.replace(path)
    return path


def read_report(path: Path, analysis: str) -> dict[str, Any]:
    """Read a file of `write_report` made by the analysis of this name."""
    try:
        report = json.loads(Path(path).read_text("utf-8"))
        made_by = report["analysis"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(
            f"{path} is not a readable report ({error}); `smorl analyse {analysis} --keep` makes "
            "one."
        ) from error
    if made_by != analysis:
        raise InvalidInput(f"{path} is a report of {made_by!r}; use `smorl analyse {made_by}`.")
    return report


def _folder(path: Path) -> bool:
    """Whether the folder of `path` exists or can be made."""
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    return nearest.is_dir()
