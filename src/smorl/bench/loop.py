"""Speed of the whole visual training loop: environment steps per second, with updates.

Every part of a step is timed where it happens, in real training of the fast preset with the
shipped perception; evaluations and checkpoints are left out. Then the released recipe runs for a
few seconds (`reference_loop` says what it is), for a ratio within one run. On a machine busy with
other things trust the CPU columns at one thread; with more threads CPU time includes their
waiting for each other, so only the wall clock counts there.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from smorl.bench import command
from smorl.bench.reference_loop import ReferenceLoop
from smorl.bench.stopwatch import Stopwatch
from smorl.config import to_json
from smorl.presets import get_preset
from smorl.representations.perceptions import load_perception
from smorl.runs.folder import RunDir
from smorl.runs.progress import Progress
from smorl.training.loop import Trainer

PRESET, PERCEPTION = "visual-rearrange-1", "shipped:scalor-1"
PAPER_PRESET, PAPER_PERCEPTION = "paper-gt-rearrange-1", "paper-scalor-1"
REST = "rest"  # copies, goals, rewards of the environment, Python between the parts
PARTS = ("physics", "drawing", "encoding", "acting", "relabelling", "updating", REST)
TIMED = {"relabel": "relabelling", "update": "updating"}  # parts the trainer itself delimits
GOALS = {"env steps per second on two cores": 250.0, "memory GB": 3.0}


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""

    def take(threads: tuple[int, ...], quick: bool) -> dict:
        return measure(threads, rounds=1 if quick else 4)

    return command.run("loop", __doc__, argv, take, as_text)


def measure(threads: tuple[int, ...], rounds: int) -> dict:
    """Return every measurement, over `rounds` rounds of training after a first one."""
    report: dict = {
        "machine": command.machine(),
        "goals": GOALS,
        "loops": [measure_ours(count, rounds) for count in threads],
    }
    # Memory only grows: asked before the released recipe runs, it is that of our loop.
    report["memory_gb"] = command.peak_memory()
    report["reference"] = [measure_reference(count, rounds) for count in threads]
    report["ratios"] = [
        {
            "threads": ours["threads"],
            "ratio": ours["env_steps_per_second"] / theirs["env_steps_per_second"],
            "cpu_ratio": theirs["cpu_ms_per_step"] / ours["cpu_ms_per_step"],
        }
        for ours, theirs in zip(report["loops"], report["reference"], strict=True)
    ]
    return report


def measure_ours(threads: int, rounds: int) -> dict:
    """Train for real: one round of random actions, then `rounds` that explore and learn."""
    config = get_preset(PRESET).build()
    collect = config.collect
    first = collect.num_envs * collect.horizon * collect.goals_per_reset
    collect = replace(collect, initial_steps=first)
    config = replace(config, collect=collect, perception=PERCEPTION, threads=threads)
    torch.set_num_threads(threads)
    command.say(f"loop, {rounds} round(s) of {PRESET}")
    with (
        tempfile.TemporaryDirectory() as folder,
        RunDir.open(Path(folder) / "run", to_json(config), "smorl bench loop") as run,
        Progress(collect.total_steps, quiet=True) as progress,
    ):
        trainer = Trainer(config, run, progress, perception=load_perception(PERCEPTION))
        trainer.round()  # pays for every warm-up, and for the data of the first updates
        counters, watch = trainer.state.counters, Stopwatch()
        steps, updates = counters.env_steps, counters.updates
        with watch_trainer(watch, trainer):
            for _ in range(rounds):
                with watch.part(REST):
                    trainer.round()
        steps, updates = counters.env_steps - steps, counters.updates - updates
        trainer.envs.close()
        trainer.logger.close()
    settings = {"preset": PRESET, "rows": collect.num_envs, "batch": config.learner.batch_size}
    return {"threads": threads, **settings, **summary(watch, steps, updates)}


def measure_reference(threads: int, rounds: int) -> dict:
    """The released recipe for `rounds` of its rounds, an episode and its updates each."""
    config = get_preset(PAPER_PRESET).build()
    config = replace(config, env=get_preset(PRESET).build().env)
    torch.set_num_threads(threads)
    command.say("released recipe")
    loop, watch = ReferenceLoop(config, PAPER_PERCEPTION), Stopwatch()
    loop.update(*loop.draw())  # warm-up
    with ExitStack() as stack:
        for part, owner, method in (
            *environment_calls(loop.envs),
            ("encoding", loop.tracker, "step"),
            ("acting", loop, "act"),
            ("relabelling", loop, "draw"),
            ("updating", loop, "update"),
        ):
            stack.enter_context(watch.watch_calls(owner, method, part))
        stack.enter_context(watch.part(REST))
        steps = sum(loop.round() for _ in range(rounds))
    loop.envs.close()
    settings = {"preset": "released recipe", "rows": 1, "batch": config.learner.batch_size}
    return {"threads": threads, **settings, **summary(watch, steps, steps)}


def environment_calls(envs: Any) -> Iterator[tuple[str, Any, str]]:
    """Where a vector environment simulates and where it draws: (part, object, method)."""
    yield from envs.unwrapped.timed_calls()


@contextmanager
def watch_trainer(watch: Stopwatch, trainer: Trainer) -> Iterator[None]:
    """Count the parts of a trainer's rounds while inside."""
    state = trainer.state

    def timed(name: str):
        return watch.part(TIMED.get(name, REST))

    with ExitStack() as stack:
        for part, owner, method in (
            *environment_calls(trainer.envs),
            ("encoding", state.encoder, "step"),
            ("acting", trainer.agent, "act"),
        ):
            stack.enter_context(watch.watch_calls(owner, method, part))
        stack.enter_context(_replaced(trainer, "_timed", timed))
        yield


@contextmanager
def _replaced(owner: Any, method: str, function: Callable) -> Iterator[None]:
    setattr(owner, method, function)
    try:
        yield
    finally:
        delattr(owner, method)


def summary(watch: Stopwatch, steps: int, updates: int) -> dict:
    """Steps per second and the parts' milliseconds per environment step, wall-clock and CPU."""
    wall, cpu = sum(watch.seconds.values()), sum(watch.cpu.values())
    return {
        "env_steps": steps,
        "updates": updates,
        "updates_per_step": updates / steps,
        "env_steps_per_second": steps / wall,
        "ms_per_step": 1e3 * wall / steps,
        "cpu_ms_per_step": 1e3 * cpu / steps,
        "parts": {
            name: {
                "share": watch.seconds.get(name, 0.0) / wall,
                "ms_per_step": 1e3 * watch.seconds.get(name, 0.0) / steps,
                "cpu_ms_per_step": 1e3 * watch.cpu.get(name, 0.0) / steps,
            }
            for name in PARTS
        },
    }


def as_text(report: dict) -> str:
    """Return the report as tables for people."""
    rows = report["loops"] + report["reference"]
    lines = [
        f"{'whole loop':20}{'threads':>8}{'rows':>6}{'batch':>7}{'updates/step':>14}"
        f"{'steps/s':>9}{'ms/step':>9}{'by CPU':>9}"
    ]
    for row in rows:
        lines.append(
            f"{row['preset']:20}{row['threads']:>8}{row['rows']:>6}{row['batch']:>7}"
            f"{row['updates_per_step']:>14.2f}{row['env_steps_per_second']:>9.1f}"
            f"{row['ms_per_step']:>9.2f}{row['cpu_ms_per_step']:>9.2f}"
        )
    for title, unit, column in (
        ("share", "%", "share"),
        ("ms/step", "ms", "ms_per_step"),
        ("ms/step by CPU", "ms", "cpu_ms_per_step"),
    ):
        lines += ["", f"{title:20}{'threads':>8}" + "".join(f"{part:>13}" for part in PARTS)]
        for row in rows:
            values = (part[column] for part in row["parts"].values())
            cells = (f"{v:.1%}" if unit == "%" else f"{v:.3f}" for v in values)
            line = "".join(f"{cell:>13}" for cell in cells)
            lines.append(f"{row['preset']:20}{row['threads']:>8}{line}")
    lines.append("")
    for row in report["ratios"]:
        lines.append(
            f"{row['ratio']:.1f} times the steps/s of the released recipe at {row['threads']} "
            f"thread(s), {row['cpu_ratio']:.1f} times by CPU"
        )
    goals = ", ".join(f"{name} {value:g}" for name, value in report["goals"].items())
    return "\n".join([*lines, f"peak memory: {report['memory_gb']:.2f} GB", "", f"goals: {goals}"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
