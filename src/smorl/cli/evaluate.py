"""`smorl evaluate RUN`: evaluate a trained run on fixed episodes."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from smorl.errors import InvalidInput


def main(argv: list[str]) -> int:
    """Evaluate a run and print its numbers."""
    args = _parser().parse_args(argv)
    for name in ("episodes", "threads", "films"):
        if getattr(args, name) < 1:
            raise InvalidInput(f"--{name} {getattr(args, name)} must be at least 1.")
    # Imported here so that `--help` answers at once.
    from smorl.evaluation.evaluate import evaluate
    from smorl.evaluation.video import check_writable
    from smorl.methods import make_envs
    from smorl.training.loading import load_run
    from smorl.training.trainer import MAX_EVALUATION_ROWS, evaluation_space

    if args.video:
        check_writable(args.video)
    run = load_run(Path(args.run), args.env)
    for note in run.notes:
        sys.stderr.write(f"{note}\n")
    settings = run.config.evaluation
    subgoals = settings.subgoals if args.env is None else _fit_attempts(run)
    rows = min(args.episodes, MAX_EVALUATION_ROWS)
    parts = {
        "space": evaluation_space(run.space, settings.solved_threshold),
        "config": subgoals,
        "seed": settings.seed if args.seed is None else args.seed,
    }
    envs = make_envs(run.env, rows, args.threads)
    result = evaluate(
        envs, run.encoder, run.agent, episodes=args.episodes, progress=_show_progress, **parts
    )
    sys.stderr.write("\r" + " " * 40 + "\r")
    summary = {"run": str(args.run), "env": run.env, "env_steps": run.env_steps}
    summary |= {"seed": parts["seed"], **result.summary()}
    if args.video:
        from smorl.evaluation.video import write_video

        write_video(args.video, _film(run, parts, min(args.films, args.episodes)))
        sys.stderr.write(f"Video: {args.video}\n")
    sys.stdout.write(json.dumps(summary) + "\n" if args.json else _table(summary))
    return 0


def _fit_attempts(run):
    """Another number of pucks gets its own number of attempts, 2 (n + 1) - 1."""
    from dataclasses import replace

    items = run.encoder.layout.slots
    return replace(run.config.evaluation.subgoals, attempts=2 * items - 1)


def _film(run, parts: dict, count: int) -> Iterator[np.ndarray]:
    """Play the first `count` episodes again, one by one, and yield their frames."""
    from smorl.evaluation.evaluate import evaluate
    from smorl.evaluation.filming import Camcorder
    from smorl.methods import make_envs

    for episode in range(count):
        envs = make_envs(run.env, 1, 1)
        camera = Camcorder(envs.unwrapped.world)  # pyright: ignore[reportAttributeAccessIssue]
        frames: list[np.ndarray] = []

        def observe(
            state: dict, frames: list = frames, camera: Camcorder = camera, episode: int = episode
        ) -> None:
            goal = int(state["current"][0])
            name = "arm" if goal == 0 else f"puck {goal}"
            solved = int(state["solved"].sum())
            text = f"episode {episode + 1}  step {len(frames)}  goal: {name}  solved: {solved}"
            frames.append(camera.frame(text))

        evaluate(
            envs,
            run.encoder,
            run.agent,
            parts["space"],
            parts["config"],
            episodes=1,
            seed=parts["seed"] + episode,
            observer=observe,
        )
        yield from frames
        yield from [frames[-1]] * 8  # a moment to look at the result


def _show_progress(done: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} episodes")
        sys.stderr.flush()


def _table(summary: dict) -> str:
    width = max(map(len, summary))
    lines = (
        f"{k:<{width}}  {v:.4f}" if isinstance(v, float) else f"{k:<{width}}  {v}"
        for k, v in summary.items()
    )
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl evaluate",
        description="Evaluate a run on fixed episodes: every sub-goal of the goal state is tried "
        "in turn (Alg. 3). object_distance is the paper's metric, the mean distance of the pucks "
        "to their goals on the last step, in metres; passive_distance is what doing nothing "
        "leaves on the same episodes. The same --seed is the same episodes for every run.",
    )
    parser.add_argument("run", help="a run folder, e.g. runs/gt-rearrange-2-seed0")
    parser.add_argument("--episodes", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", type=int, help="of the first episode (default: the run's own)")
    parser.add_argument("--env", help="another environment, e.g. smorl/Rearrange1-v0")
    parser.add_argument("--video", help="film the first episodes into this .mp4 or .gif")
    parser.add_argument("--films", type=int, default=3, help="how many to film (default 3)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser
