"""Speed of the learner: update, its engines, relabelling, cost against objects, whole loop.

The sides of a comparison take turns within one run, and medians are reported, of wall-clock and
of CPU time. On a machine busy with other things trust the CPU columns at one thread; with more
threads CPU time includes their waiting for each other, so only the wall clock counts there.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from smorl.bench import command
from smorl.bench.clock import columns, take_turns
from smorl.bench.engines import measure_engines
from smorl.bench.reference_sac import ReferenceSac
from smorl.bench.synthetic import ACTIONS, LAYOUT, NETWORKS, filled_replay, random_batch
from smorl.learners.sac import Sac, SacConfig
from smorl.replay.relabel import RelabelConfig, sample_batch
from smorl.types import Batch

BATCHES, SLOTS = (256, 512, 2048), (3, 6, 12, 24)
EPISODES = 5000  # of replay, 100,000 environment steps
RELABELLING = {
    "paper": RelabelConfig(),
    "any_object + moved": RelabelConfig(any_object=0.9, moved=0.01),
}
GOALS = {"update ratio at 2048": 3.0, "relabelling share": 0.15, "slots over linear": 1.0}


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""
    return command.run("learner", __doc__, argv, take, as_text)


def take(threads: tuple[int, ...], quick: bool) -> dict:
    """Return the report, of shorter measurements if it has to be quick."""
    return measure(threads, repeats=5 if quick else 25, rounds=1 if quick else 5)


def measure(threads: tuple[int, ...], repeats: int, rounds: int) -> dict:
    """Return every measurement; medians over `repeats`, the loop over `rounds` of training."""
    report: dict = {
        "machine": command.machine(),
        "goals": GOALS,
        "updates": [],
        "engines": [],
        "relabelling": [],
        "slots": [],
    }
    for count in threads:
        torch.set_num_threads(count)
        for name, measured in (
            ("updates", measure_updates(repeats)),
            ("engines", measure_engines(repeats)),
            ("relabelling", measure_relabelling(repeats)),
            ("slots", measure_slots(repeats)),
        ):
            report[name] += [{"threads": count, **row} for row in measured]
    report["loop"] = measure_loop(rounds)
    return report


def measure_updates(repeats: int) -> Iterator[dict]:
    """Our update against the straight line, same batch, taking turns."""
    for size in BATCHES:
        command.say(f"update, batch {size}")
        config, batch = SacConfig(batch_size=size), random_batch(size, LAYOUT, seed=0)
        noise = torch.randn(2, size, ACTIONS, generator=torch.Generator().manual_seed(0))
        ours = Sac(config, NETWORKS, LAYOUT, ACTIONS, seed=0)
        theirs = ReferenceSac(config, NETWORKS, LAYOUT, ACTIONS)
        cases = {
            "ours": partial(ours.update, batch, noise),
            "theirs": partial(theirs.update, batch, noise),
        }
        cost = take_turns(cases, repeats)
        yield {
            "batch": size,
            **columns("ours", "ms", cost["ours"]),
            **columns("reference", "ms", cost["theirs"]),
            **columns("", "ratio", cost["theirs"] / cost["ours"]),
        }


def measure_relabelling(repeats: int) -> Iterator[dict]:
    """Drawing and relabelling a batch, conversion and noise included, as a share of the update."""
    replay, space = filled_replay(LAYOUT, EPISODES, seed=0)
    rng = np.random.default_rng(0)

    def draw(size: int, config: RelabelConfig) -> tuple[Batch, torch.Tensor]:
        batch = sample_batch(replay.episodes, replay.size, size, space, config, rng)
        noise = rng.standard_normal((2, size, ACTIONS), np.float32)
        return batch.map(torch.from_numpy), torch.from_numpy(noise)

    for size in BATCHES[1:]:
        command.say(f"relabelling, batch {size}")
        sac = Sac(SacConfig(batch_size=size), NETWORKS, LAYOUT, ACTIONS, seed=0)
        cases = {name: partial(draw, size, config) for name, config in RELABELLING.items()}
        update = partial(sac.update, *draw(size, RelabelConfig()))
        cost = take_turns({"update": update, **cases}, repeats)
        for name in cases:
            yield {
                "batch": size,
                "relabel": name,
                **columns("relabel", "ms", cost[name]),
                **columns("update", "ms", cost["update"]),
                **columns("", "share", cost[name] / cost["update"]),
            }


def measure_slots(repeats: int, size: int = 512) -> Iterator[dict]:
    """Update time against the number of slots; `over_linear` is 1 where cost is proportional."""
    command.say(f"slots {', '.join(map(str, SLOTS))}, batch {size}")
    cases = {}
    for slots in SLOTS:
        layout = replace(LAYOUT, slots=slots)
        sac = Sac(SacConfig(batch_size=size), NETWORKS, layout, ACTIONS, seed=0)
        batch, noise = random_batch(size, layout, seed=0), torch.zeros(2, size, ACTIONS)
        cases[str(slots)] = partial(sac.update, batch, noise)
    cost = take_turns(cases, repeats)
    first = cost[str(SLOTS[0])] / SLOTS[0]
    for slots in SLOTS:
        each = cost[str(slots)]
        over = each / slots / first
        yield {
            "slots": slots,
            **columns("ours", "ms", each),
            **columns("", "over_linear", over),
        }


def measure_loop(rounds: int, preset: str = "gt-rearrange-2") -> dict:
    """Train for real, `rounds` rounds after the first updates, and split the time."""
    # Imported here, because only the loop needs the simulator.
    from smorl.config import to_json
    from smorl.presets import get_preset
    from smorl.runs.folder import RunDir
    from smorl.runs.progress import Progress
    from smorl.training.loop import Trainer

    config = get_preset(preset).build()
    steps = config.collect.num_envs * config.collect.horizon
    config = replace(config, collect=replace(config.collect, initial_steps=2 * steps))
    torch.set_num_threads(config.threads)
    command.say(f"loop, {rounds} round(s) of {preset}")
    with (
        tempfile.TemporaryDirectory() as folder,
        RunDir.open(Path(folder) / "run", to_json(config), "smorl bench learner") as run,
        Progress(config.collect.total_steps, quiet=True) as progress,
    ):
        trainer = Trainer(config, run, progress)
        for _ in range(2 + rounds):
            trainer.round()
        trainer.envs.close()
        trainer.logger.close()
        timing = [json.loads(line) for line in run.timing.read_text("utf-8").splitlines()]
    # The first row ends with the first updates, which pay for every warm-up.
    spent = {name: timing[-1][name] - timing[0][name] for name in timing[0]}
    env_steps, wall = spent.pop("env_steps"), sum(spent.values())
    return {
        "preset": preset,
        "threads": config.threads,
        "batch": config.learner.batch_size,
        "updates_per_step": config.collect.updates_per_step,
        "env_steps_per_second": env_steps / wall,
        "split": {name: seconds / wall for name, seconds in spent.items()},
    }


def as_text(report: dict) -> str:
    """Return the report as tables for people."""
    sizes = f"{'batch':>7}{'threads':>9}"
    lines = [f"{'update':20}{sizes}{'ours ms':>10}{'plain ms':>10}{'ratio':>9}{'by CPU':>9}"]
    for row in report["updates"]:
        lines.append(
            f"{'visual two-object':20}{row['batch']:>7}{row['threads']:>9}{row['ours_ms']:>10.2f}"
            f"{row['reference_ms']:>10.2f}{row['ratio']:>9.2f}{row['cpu_ratio']:>9.2f}"
        )
    lines += ["", f"{'engines':20}{sizes}{'compiled':>10}{'torch ms':>10}{'ratio':>9}{'by CPU':>9}"]
    for row in report["engines"]:
        lines.append(
            f"{row['preset']:20}{row['batch']:>7}{row['threads']:>9}{row['compiled_ms']:>10.2f}"
            f"{row['torch_ms']:>10.2f}{row['ratio']:>9.2f}{row['cpu_ratio']:>9.2f}"
        )
    lines += [
        "",
        f"{'relabelling':20}{sizes}{'ms':>10}{'update ms':>10}{'share':>9}{'by CPU':>9}",
    ]
    for row in report["relabelling"]:
        lines.append(
            f"{row['relabel']:20}{row['batch']:>7}{row['threads']:>9}{row['relabel_ms']:>10.2f}"
            f"{row['update_ms']:>10.2f}{row['share']:>9.1%}{row['cpu_share']:>9.1%}"
        )
    lines += ["", f"{'slots':27}{'threads':>9}{'ours ms':>10}{'over linear':>19}{'by CPU':>9}"]
    for row in report["slots"]:
        lines.append(
            f"{row['slots']:<27}{row['threads']:>9}{row['ours_ms']:>10.2f}"
            f"{row['over_linear']:>19.2f}{row['cpu_over_linear']:>9.2f}"
        )
    loop = report["loop"]
    split = ", ".join(f"{name} {share:.0%}" for name, share in loop["split"].items())
    lines += [
        "",
        f"{'whole loop':20}{sizes}{'steps/s':>10}  split",
        f"{loop['preset']:20}{loop['batch']:>7}{loop['threads']:>9}"
        f"{loop['env_steps_per_second']:>10.0f}  {split}",
    ]
    goals = ", ".join(f"{name} {value:g}" for name, value in report["goals"].items())
    return "\n".join([*lines, "", f"goals: {goals}"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
