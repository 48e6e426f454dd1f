"""Speed of the whole visual training loop: environment steps per second, with updates.

Every part of a step is timed where it happens, in real training of the fast preset with the
shipped perception; checkpoints are left out, and evaluations are measured apart. With a second
core a process of its own plays, one round ahead of the learner: what is left of playing in the
learner's time is waiting for it. Then the released recipe runs for a few seconds with as many
threads (`reference_loop` says what it is), for a ratio within one run. On a machine busy with other
things trust the CPU columns at one core; with more, only the wall clock counts.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from smorl.bench import command
from smorl.bench.parts import REST, as_text, summary
from smorl.bench.reference_loop import ReferenceLoop
from smorl.bench.stopwatch import Stopwatch
from smorl.config import to_json
from smorl.envs.factory import make_envs
from smorl.evaluation.evaluate import evaluate
from smorl.presets import get_preset
from smorl.representations.perceptions import load_perception
from smorl.runs.folder import RunDir
from smorl.runs.progress import Progress
from smorl.training.acting import make_actor
from smorl.training.loop import Trainer
from smorl.training.processes import ProcessCollectors
from smorl.training.settings import RunConfig

PRESET, PERCEPTION = "visual-rearrange-1", "shipped:scalor-1"
PAPER_PRESET, PAPER_PERCEPTION = "paper-gt-rearrange-1", "paper-scalor-1"
# Parts the trainer itself delimits; fitting is that of the model of objects.
TIMED = {"relabel": "relabelling", "update": "updating", "dynamics": "fitting"}
GOALS = {"env steps per second on two cores": 250.0, "memory GB": 3.0}
EVALUATED = 16  # episodes of the evaluation that is measured


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""
    return command.run("loop", __doc__, argv, take, as_text)


def take(threads: tuple[int, ...], quick: bool) -> dict:
    """Return the report, of shorter measurements if it has to be quick."""
    return measure(threads, rounds=1 if quick else 4)


def measure(threads: tuple[int, ...], rounds: int) -> dict:
    """Return every measurement, over `rounds` rounds of training after a first one."""
    report: dict = {
        "machine": command.machine(),
        "goals": GOALS,
        "loops": [measure_ours(count, rounds) for count in threads],
    }
    # Memory only grows: asked before the released recipe runs, it is that of our loop.
    report["memory_gb"] = command.peak_memory()
    report["evaluation"] = measure_evaluation()
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
    """Train for real: one round of random actions, then `rounds` that explore and learn.

    With more than one core the last of them plays in a process of its own, ahead of the learner.
    """
    config = our_settings(threads)
    command.say(f"loop, {rounds} round(s) of {PRESET}")
    with opened(config) as trainer:
        trainer.round()  # pays for every warm-up, and for the data of the first updates
        counters, watch = trainer.state.counters, Stopwatch()
        steps, updates = counters.env_steps, counters.updates
        with watch_trainer(watch, trainer):
            for _ in range(rounds):
                with watch.part(REST):
                    trainer.round()
        steps, updates = counters.env_steps - steps, counters.updates - updates
    collect = config.collect
    settings = {
        "preset": PRESET,
        "rows": collect.num_envs,
        "batch": config.learner.batch_size,
        "collectors": collect.collectors,
    }
    return {"threads": threads, **settings, **summary(watch, steps, updates)}


def our_settings(threads: int) -> RunConfig:
    """Return the fast preset's, with the shipped perception, for so many cores."""
    config = get_preset(PRESET).build()
    collect = config.collect
    first = collect.num_envs * collect.horizon * collect.goals_per_reset
    ahead = min(1, threads - 1)
    collect = replace(collect, initial_steps=first, collectors=ahead)
    torch.set_num_threads(threads - ahead)
    return replace(config, collect=collect, perception=PERCEPTION, threads=threads - ahead)


@contextmanager
def opened(config: RunConfig) -> Iterator[Trainer]:
    """A trainer in a folder that is gone afterwards, with the collectors it asks for."""
    perception = load_perception(PERCEPTION)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        run = stack.enter_context(
            RunDir.open(Path(folder) / "run", to_json(config), "smorl bench loop")
        )
        progress = stack.enter_context(Progress(config.collect.total_steps, quiet=True))
        collectors = None
        if config.collect.collectors:
            collectors = stack.enter_context(closing(ProcessCollectors(config, perception)))
        trainer = Trainer(config, run, progress, perception=perception, collectors=collectors)
        yield trainer
        trainer.envs.close()
        trainer.logger.close()


def measure_evaluation() -> dict:
    """What an evaluation of the run costs, per environment step of training, and planning in it."""
    config = our_settings(1)
    settings = config.evaluation
    command.say(f"evaluation, {EVALUATED} episodes")
    with opened(config) as trainer:
        trainer.round()
        watch, actor = Stopwatch(), make_actor(trainer.state, config)
        envs = make_envs(config.env, EVALUATED, config.threads, view=trainer.view)
        with watch.watch_calls(actor.controller, "act", "planning"), watch.part(REST):
            evaluate(envs, actor, episodes=EVALUATED, seed=settings.seed)
        envs.close()
    share = settings.episodes / EVALUATED / settings.every
    return {
        "controller": settings.controller,
        "ms_per_training_step": 1e3 * sum(watch.seconds.values()) * share,
        "planning_ms_per_training_step": 1e3 * watch.seconds.get("planning", 0.0) * share,
    }


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

    waiting = () if trainer.ahead is None else (("waiting", trainer.ahead, "next_round"),)
    with ExitStack() as stack:
        for part, owner, method in (
            *environment_calls(trainer.envs),
            ("encoding", state.encoder, "step"),
            ("acting", state.learner, "act"),
            *waiting,
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


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
