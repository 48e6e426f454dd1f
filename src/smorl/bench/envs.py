"""Speed of the environments: steps per second, and what pictures cost next to physics."""

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass

import gymnasium
import numpy as np

STATE_ID, VISUAL_ID = "smorl/Rearrange2-v0", "smorl/VisualRearrange2-v0"
ROWS, THREADS = (1, 16, 64), (1, 2)


@dataclass(frozen=True)
class Speed:
    """One measurement; `rows` is None for the single env made by `gymnasium.make`."""

    id: str
    rows: int | None
    threads: int
    steps_per_second: float
    cpu_ms_per_step: float


def main(argv: list[str]) -> int:
    """Measure and report to stdout (progress to stderr); return the exit code."""
    parser = argparse.ArgumentParser(prog="smorl bench envs", description=__doc__)
    parser.add_argument("--json", action="store_true", help="report as JSON")
    parser.add_argument("--quick", action="store_true", help="shorter, noisier measurements")
    parser.add_argument(
        "--physics", action="store_true", help="compare the default physics with the reference"
    )
    arguments = parser.parse_args(argv)
    report = take(THREADS, arguments.quick)
    if arguments.physics:
        from smorl.bench.physics import compare

        sys.stderr.write("comparing with the reference physics\n")
        report["physics"] = compare(rows=16 if arguments.quick else 128)
    text = json.dumps(report, indent=2) if arguments.json else as_text(report)
    sys.stdout.write(text + "\n")
    return 0


def take(threads: tuple[int, ...], quick: bool) -> dict:
    """Return the report, of shorter measurements if it has to be quick."""
    return measure(0.3 if quick else 3.0, threads)


def measure(seconds: float, threads: tuple[int, ...] = THREADS) -> dict:
    """Return all speeds and ratios; each case runs for about `seconds`."""
    speeds = []
    for env_id in (STATE_ID, VISUAL_ID):
        cases = [(None, 1), *((rows, count) for count in threads for rows in ROWS)]
        for rows, count in cases:
            name = "single" if rows is None else f"K={rows}, {count} thread(s)"
            sys.stderr.write(f"{env_id} {name}\n")
            speeds.append(_speed(env_id, rows, count, seconds))
    return {
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "speeds": [asdict(speed) for speed in speeds],
        "ratios": _ratios(speeds),
    }


def _speed(env_id: str, rows: int | None, threads: int, seconds: float) -> Speed:
    """Step with uniformly random actions, autoresets included, for about `seconds`."""
    if rows is None:
        env = gymnasium.make(env_id, disable_env_checker=True)
        shape: tuple[int, ...] = (2,)
    else:
        env = gymnasium.make_vec(
            env_id, num_envs=rows, vectorization_mode="vector_entry_point", threads=threads
        )
        shape = (rows, 2)
    actions = np.random.default_rng(0).uniform(-1, 1, (64, *shape)).astype(np.float32)
    env.reset(seed=0)
    env.step(actions[0])
    calls, wall, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        truncated = env.step(actions[calls % len(actions)])[3]
        if rows is None and truncated:
            env.reset()
        calls += 1
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    env.close()
    steps = calls * (rows or 1)
    return Speed(env_id, rows, threads, steps / wall, 1e3 * cpu / steps)


def _ratios(speeds: list[Speed]) -> dict[str, float]:
    """Ratios within this run; they vary less between machines than the speeds do."""
    by_case = {(s.id, s.rows, s.threads): s for s in speeds}
    rows, threads = ROWS[-1], max(s.threads for s in speeds)
    ratios = {}
    for name, env_id in (("state", STATE_ID), ("visual", VISUAL_ID)):
        vector, single = by_case[env_id, rows, threads], by_case[env_id, None, 1]
        ratios[f"{name}/vector_over_single"] = vector.steps_per_second / single.steps_per_second
        one = by_case[env_id, rows, 1]
        ratios[f"{name}/two_threads_over_one"] = vector.steps_per_second / one.steps_per_second
    state, visual = by_case[STATE_ID, rows, 1], by_case[VISUAL_ID, rows, 1]
    image_ms = visual.cpu_ms_per_step - state.cpu_ms_per_step
    ratios["image_over_physics"] = image_ms / state.cpu_ms_per_step
    return ratios


def as_text(report: dict) -> str:
    """Return the report as a table for people."""
    lines = [f"{'environment':28}{'K':>8}{'threads':>9}{'steps/s':>10}{'cpu ms/step':>13}"]
    for speed in report["speeds"]:
        rows = "single" if speed["rows"] is None else speed["rows"]
        lines.append(
            f"{speed['id']:28}{rows:>8}{speed['threads']:>9}"
            f"{speed['steps_per_second']:>10.0f}{speed['cpu_ms_per_step']:>13.3f}"
        )
    lines += [f"{name}: {value:.2f}" for name, value in report["ratios"].items()]
    for name, value in report.get("physics", {}).items():
        lines.append(f"physics/{name}: {value}")
    return "\n".join(lines)
