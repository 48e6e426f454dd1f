"""Put the small files of finished runs on record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from smorl.formats import read_json
from smorl.paper.jobs import RESULT, Job
from smorl.paper.results import keep, read_result


def put_on_record(jobs: Iterable[Job]) -> tuple[list[Path], list[str]]:
    """Copy what is worth committing of every finished run; return the new copies, and notes.

    What is on record stays: two runs of the same settings differ in their wall-clock at least,
    and in more if the program has changed in between.
    """
    kept, notes = [], []
    for job in jobs:
        for folder in job.keep:
            there, here = folder / job.writes.name / RESULT, job.writes / RESULT
            if not there.exists():
                result = read_result(job.writes)
                kept += keep([result], folder) if result is not None else []
            elif here.exists() and there.read_bytes() != here.read_bytes():
                notes.append(f"{there.parent} stays as it was; remove it to keep {job.writes}.")
            elif "distances" not in read_json(there):
                notes.append(
                    f"{there.parent} is older than the record of single episodes, so intervals "
                    "cannot be computed; remove it to have it run again."
                )
    return kept, notes
