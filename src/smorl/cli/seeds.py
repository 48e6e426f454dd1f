"""`smorl train PRESET --seeds N`: the same training with several seeds, side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from smorl.cli.places import carry_out, say_end
from smorl.cluster.sweep import usual_minutes
from smorl.errors import RunConflict
from smorl.library import default_folder, make_config
from smorl.paper.jobs import Job, Training, conflicts, pending, train, with_tensorboard
from smorl.paper.local import LocalPlace
from smorl.paper.runner import RETRIES
from smorl.training.settings import RunConfig


def train_seeds(
    preset: str,
    given: Mapping[str, str],
    seeds: range,
    folder: Path | None,
    command: str,
    *,
    tensorboard: bool = False,
) -> int:
    """Train what is not finished, a process per core; return the exit code.

    Every run is that of `smorl train PRESET --seed S` with the same settings, in its own folder.
    """
    config = make_config(preset, None, dict(given))
    jobs = [_job(preset, given, seed, folder, tensorboard) for seed in seeds]
    states, wrong = conflicts(jobs)
    if wrong:
        raise RunConflict(wrong[0])
    todo = pending(jobs, states)
    if todo:
        place = LocalPlace(min(len(todo), runs_at_once(config)), jobs[0].writes.parent / "logs")
        sys.stderr.write(f"{len(todo)} of {len(jobs)} runs to do, {place.size} at a time.\n")
        outcome = carry_out(todo, place, RETRIES)
        code = say_end(outcome, len(todo), command, "the others are finished")
        if code:
            return code
    folders = " ".join(str(job.writes) for job in jobs)
    sys.stderr.write(f"All {len(jobs)} are finished. `smorl results {folders}` compares them.\n")
    return 0


def runs_at_once(config: RunConfig) -> int:
    """Return how many such runs this machine has cores for; one at least."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (cores or 1) // (config.threads + config.collect.collectors))


def _job(
    preset: str, given: Mapping[str, str], seed: int, folder: Path | None, tensorboard: bool
) -> Job:
    usual = default_folder(preset, make_config(preset, None, {**given, "seed": str(seed)}))
    out = usual if folder is None else folder / usual.name
    job = train(Training(preset, seed, tuple(given.items())), out, minutes=usual_minutes(preset))
    return with_tensorboard(job) if tensorboard else job
