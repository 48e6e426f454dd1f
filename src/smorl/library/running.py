"""Run a training from its settings to its result: stages, progress, stopping, resuming."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from smorl.config import to_json
from smorl.devices import check_device
from smorl.methods import get_method
from smorl.presets.perception import PERCEPTION_PRESETS
from smorl.representations.base import Perception
from smorl.representations.pretraining import (
    PerceptionConfig,
    PerceptionTrainer,
    Source,
    Stopped,
    remove_data,
)
from smorl.runs.boards import NO_BOARDS, Boards
from smorl.runs.folder import RunDir
from smorl.runs.progress import Progress, Stage, Words
from smorl.runs.stopping import orderly_stop
from smorl.training.cost_estimate import announce, cost_estimate
from smorl.training.loop import Trainer
from smorl.training.perception_stage import check_perception, obtain_perception
from smorl.training.settings import PERCEPTION, RunConfig

FRAMES = Words("frame", "frames", "iterations", "{:.1f} objects per frame")


@dataclass(frozen=True)
class Outcome:
    """How a training ended: its result, or None where it was stopped and saved at `steps`."""

    result: dict[str, Any] | None
    steps: int = 0
    earlier: bool = False  # it had been finished before


def run_training(
    config: RunConfig, out: Path, command: str, *, quiet: bool = False, boards: Boards = NO_BOARDS
) -> Outcome:
    """Train in `out`, perception first where the method needs one, or resume."""
    check_device(config.device)
    check_perception(config, out, PERCEPTION_PRESETS)
    with RunDir.open(out, to_json(config), command) as run:
        if run.result is not None:
            return Outcome(run.result, earlier=True)
        perception, first = None, _trained_first(config, out)
        stages = cost_estimate(config, first)
        if stages and not quiet:
            sys.stderr.write(f"{announce(stages)}\n")
        if get_method(config.method).needs_perception:
            perception = _obtain_perception(config, out, first, quiet, stages)
            if perception is None:
                return Outcome(None)
        leg = stages[-1] if stages else None
        with (
            _collecting(config, perception) as collectors,
            Progress(config.collect.total_steps, quiet, leg=leg) as progress,
        ):
            trainer = Trainer(
                config,
                run,
                progress,
                perception=perception,
                boards=boards,
                collectors=collectors,
            )
            resumed = trainer.resume()
            counters = trainer.state.counters
            where = "resumed at" if resumed else "starts at"
            progress.note(f"{out}: {where} step {counters.env_steps}.")
            _note_versions(run, resumed, progress)
            with orderly_stop(trainer, progress, "this round"):
                evaluation = trainer.train()
        counters = trainer.state.counters
        if evaluation is None:
            return Outcome(None, counters.env_steps)
        result = {
            **evaluation.summary(),
            "env_steps": counters.env_steps,
            "updates": counters.updates,
            "seconds": round(trainer.seconds(), 1),
            **evaluation.by_episode(config.evaluation.seed),
        }
        run.write_result(result)
        return Outcome(result, counters.env_steps)


@contextmanager
def _collecting(config: RunConfig, perception: Perception | None) -> Iterator[Any]:
    """Open the collectors that the settings ask for; None if the run collects by itself."""
    if not config.collect.collectors:
        yield None
        return
    if os.environ.get("RAY_ADDRESS"):
        from smorl.cluster.collectors import RayCollectors as Where
    else:
        from smorl.training.processes import ProcessCollectors as Where
    collectors = Where(config, perception)
    try:
        yield collectors
    finally:
        collectors.close()


def run_perception(
    config: PerceptionConfig, out: Path, source: Source, command: str, quiet: bool = False
) -> Outcome:
    """Train a perception in `out`, or resume."""
    check_device(config.device)
    with RunDir.open(out, to_json(config), command) as run:
        if run.result is not None:
            if not source.keep:
                remove_data(out)  # a kill right after the end leaves it behind
            return Outcome(run.result, earlier=True)
        with Progress(config.frames, quiet, words=FRAMES) as progress:
            trainer = config.trainer(run, progress, source, command)
            result = climb(trainer, progress)
        if result is not None:
            run.write_result(result)
            trainer.clean()
        return Outcome(result)


def climb(trainer: PerceptionTrainer, progress: Progress) -> dict[str, Any] | None:
    """Run a perception trainer to its result; None if the user stopped it."""
    with orderly_stop(trainer, progress, "this iteration"):
        try:
            resumed = trainer.start()
            where = "resumed at" if resumed else "starts at"
            progress.note(f"{trainer.run.path}: {where} iteration {trainer.iteration}.")
            _note_versions(trainer.run, resumed, progress)
            return trainer.train()
        except Stopped:
            progress.note("Stopped while collecting; the collection starts again.")
            return None


def _trained_first(config: RunConfig, out: Path) -> PerceptionConfig | None:
    """Return the settings of the perception that the run trains first, or None.

    A preset knows on which of our tables it is best trained; in other worlds it is trained there.
    """
    known = PERCEPTION_PRESETS.get(config.perception or "")
    if known is None or (out / PERCEPTION).exists():
        return None
    names = ("seed", "threads", "device", "checkpoint_minutes")
    shared = {name: getattr(config, name) for name in names}
    if not config.env.startswith("smorl/"):
        shared["env"] = config.env
    return replace(known.build(), **shared)


def _obtain_perception(
    config: RunConfig,
    out: Path,
    first: PerceptionConfig | None,
    quiet: bool,
    stages: list[Stage],
) -> Perception | None:
    """Return the run's perception, trained first if need be; None if the user stopped that."""
    frames = 1 if first is None else first.frames
    leg = stages[0] if first is not None else None
    with Progress(frames, quiet, words=FRAMES, leg=leg) as progress:
        return obtain_perception(
            config, out, first, lambda trainer: climb(trainer, progress), progress
        )


def _note_versions(run: RunDir, resumed: bool, progress: Progress) -> None:
    for change in run.version_changes if resumed else []:
        progress.note(f"Note: {change}; the rest of the run may differ in the last digits.")
