"""Speed of perception: training, its parts, tracking, and sampling against `grid_sample`.

Models have random weights and pictures are noise. Training has static shapes, so that its cost does
not depend on what is found; tracking costs more the more is found, which noise exaggerates
(`smorl bench loop` tracks real frames). The sides of a comparison take turns within one run, and
medians are reported, of wall-clock and of CPU time. On a machine busy with other things trust
ratios, and the CPU columns at one thread.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from smorl.bench import command
from smorl.bench.clock import columns, take_turns
from smorl.bench.stopwatch import Stopwatch
from smorl.bench.synthetic import ACTIONS
from smorl.presets.perception import get_perception_preset
from smorl.representations.scalor.bench.grid_sampling import measure_sampling
from smorl.representations.scalor.tracking.tracker import Carry, ScalorTracker
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.training.step import train_step
from smorl.representations.video import Sequences, sample_batch

FAST, PAPER = "scalor-2", "paper-scalor-2"
ROWS = (1, 16, 64)
PAPER_ROWS = 16  # the paper-size model tracks at most so many rows here; more take too long
PAPER_STEP = {"batch": 2, "lengths": (4,), "rotations": False}  # its training step takes seconds
GOALS = {"tracking ms per frame at 16 rows": 2.0, "training memory GB": 3.0}


def main(argv: list[str]) -> int:
    """Measure and report; return the exit code."""
    return command.run("perception", __doc__, argv, take, as_text)


def take(threads: tuple[int, ...], quick: bool) -> dict:
    """Return the report, of shorter measurements if it has to be quick."""
    return measure(threads, repeats=3 if quick else 15)


def measure(threads: tuple[int, ...], repeats: int) -> dict:
    """Return every measurement; medians over `repeats`."""
    fast, paper = (get_perception_preset(name).build() for name in (FAST, PAPER))
    paper = replace(paper, optimise=replace(paper.optimise, **PAPER_STEP))
    report: dict = {
        "machine": command.machine(),
        "goals": GOALS,
    }
    parts: dict[str, list] = {"training": [], "parts": [], "tracking": [], "sampling": []}
    for count in threads:
        torch.set_num_threads(count)
        parts["training"].append({"threads": count, **measure_training(FAST, fast, repeats)})
        # Memory only grows: asked before the paper-size model, it is that of the fast one.
        report.setdefault("training_memory_gb", command.peak_memory())
        parts["training"].append(
            {"threads": count, **measure_training(PAPER, paper, 1 + repeats // 8)}
        )
        parts["parts"].append({"threads": count, **measure_parts(fast, repeats)})
        for row in measure_tracking(fast, paper, repeats):
            parts["tracking"].append({"threads": count, **row})
        command.say("sampling")
        for row in measure_sampling(fast.scalor, fast.optimise.batch, repeats):
            parts["sampling"].append({"threads": count, **row})
    return report | parts


def noise_sequences(config: ScalorTrainingConfig) -> Sequences:
    """A few sequences of noise, long enough for the config's windows."""
    rng = np.random.default_rng(0)
    size, steps = config.scalor.image_size, max(config.optimise.lengths)
    images = rng.integers(0, 256, (8, steps + 1, size, size, 3), np.uint8)
    actions = rng.uniform(-1, 1, (8, steps + 1, ACTIONS)).astype(np.float32)
    return Sequences(config.env, 0, images, actions)


def begin(config: ScalorTrainingConfig) -> PerceptionState:
    """A model at the end of its training, when windows are longest; its weights are random."""
    size = config.scalor.image_size
    grey = np.full((size, size, 3), 0.5, np.float32)
    state = PerceptionState.create(config, 0, grey, ACTIONS)
    state.iteration = config.optimise.iterations - 1
    return state


def measure_training(name: str, config: ScalorTrainingConfig, repeats: int) -> dict:
    """Frames trained on per second, drawing of batches included; rotated ones count."""
    command.say(f"training, {name}")
    state, data = begin(config), noise_sequences(config)
    cost = take_turns({"step": partial(train_step, config, state, data)}, repeats)["step"]
    frames = state.frames / (repeats + 2)
    return {
        "preset": name,
        "batch": config.optimise.batch,
        "frames": frames,
        **columns("step", "ms", cost),
        **columns("", "frames_per_second", 1e3 * frames / cost),
    }


def measure_parts(config: ScalorTrainingConfig, repeats: int) -> dict:
    """Shares of the wall clock of a training step; composing has background and likelihood."""
    command.say("parts of a training step")
    state, data = begin(config), noise_sequences(config)
    model, settings, watch = state.model, config.optimise, Stopwatch()
    modules = {
        "encoding": model.image_encoder,
        "propagation": model.propagation,
        "discovery": model.discovery,
    }
    for turn in range(repeats + 2):
        if turn == 2:
            watch.clear()
        with watch.part("batch"):
            images, actions = sample_batch(
                data, settings.batch, max(settings.lengths), state.batches
            )
            frames = torch.from_numpy(images).permute(0, 1, 4, 2, 3).float().div_(255)
        with (
            watch.watch(modules),
            watch.watch_calls(model.lstm, "run", "ConvLSTM"),
            watch.part("composing"),
        ):
            annealed = model.schedule(state.iteration)
            terms = model.elbo(frames, torch.from_numpy(actions), annealed, state.noise)
        with watch.part("backward"):
            state.optimizer.zero_grad(set_to_none=True)
            terms["loss"].backward()
        with watch.part("optimiser"):
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            state.optimizer.step()
    return {"shares": watch.shares()}


def measure_tracking(
    fast: ScalorTrainingConfig, paper: ScalorTrainingConfig, repeats: int
) -> Iterator[dict]:
    """Cost of a step by rows, first frames apart, and against the paper-size model."""
    trackers = {
        name: ScalorTracker(begin(c).model) for name, c in (("ours", fast), ("paper", paper))
    }
    rng = np.random.default_rng(0)
    for rows in ROWS:
        command.say(f"tracking, {rows} row(s)")
        size = fast.scalor.image_size
        images = rng.integers(0, 256, (rows, size, size, 3), np.uint8)
        actions = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
        cases = {}
        for name, tracker in trackers.items():
            if name == "paper" and rows > PAPER_ROWS:
                continue
            fresh = tracker.init(rows)
            running: Carry = tracker.step(fresh, images, actions)[0]
            cases[name] = partial(tracker.step, running, images, actions)
            if name == "ours":
                cases["first"] = partial(tracker.step, fresh, images, actions)
        cost = take_turns(cases, repeats)
        row = {
            "rows": rows,
            **columns("step", "ms", cost["ours"]),
            **columns("frame", "ms", cost["ours"] / rows),
            **columns("first_frame", "ms", cost["first"] / rows),
        }
        if "paper" in cost:
            row |= columns("paper_frame", "ms", cost["paper"] / rows)
            row |= columns("paper", "ratio", cost["paper"] / cost["ours"])
        yield row


def as_text(report: dict) -> str:
    """Return the report as tables for people."""
    lines = [
        f"{'training':18}{'threads':>8}{'batch':>7}{'frames':>8}{'step ms':>10}{'frames/s':>10}"
    ]
    for row in report["training"]:
        lines.append(
            f"{row['preset']:18}{row['threads']:>8}{row['batch']:>7}{row['frames']:>8.0f}"
            f"{row['step_ms']:>10.1f}{row['frames_per_second']:>10.0f}"
        )
    lines += ["", "parts of a training step"]
    for row in report["parts"]:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in row["shares"].items())
        lines.append(f"{row['threads']} thread(s): {shares}")
    lines += [
        "",
        f"{'tracking, rows':18}{'threads':>8}{'step ms':>10}{'ms/frame':>10}{'first':>10}"
        f"{'paper':>10}{'ratio':>8}",
    ]
    for row in report["tracking"]:
        line = (
            f"{row['rows']:<18}{row['threads']:>8}{row['step_ms']:>10.1f}"
            f"{row['frame_ms']:>10.2f}{row['first_frame_ms']:>10.2f}"
        )
        if "paper_ratio" in row:
            line += f"{row['paper_frame_ms']:>10.2f}{row['paper_ratio']:>8.1f}"
        lines.append(line)
    lines += ["", f"{'sampling':20}{'threads':>8}{'ours ms':>10}{'grid ms':>10}{'ratio':>10}"]
    for row in report["sampling"]:
        lines.append(
            f"{row['what']:20}{row['threads']:>8}{row['ours_ms']:>10.2f}"
            f"{row['grid_sample_ms']:>10.2f}{row['ratio']:>10.2f}"
        )
    goals = ", ".join(f"{name} {value:g}" for name, value in report["goals"].items())
    memory = f"peak memory of training: {report['training_memory_gb']:.2f} GB"
    return "\n".join([*lines, "", memory, "", f"goals: {goals}"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
