"""`smorl evaluate RUN`: evaluate a trained run on fixed episodes."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smorl.cli.options import aligned
from smorl.errors import InvalidInput

# Height of the scene in videos, pixels; larger where detections are drawn into the agent's view.
_SIZE, _VISUAL_SIZE = 320, 448


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
    run = load_run(args.run, args.env)
    for note in run.notes:
        sys.stderr.write(f"{note}\n")
    settings = run.config.evaluation
    envs = make_envs(run.env, min(args.episodes, MAX_EVALUATION_ROWS), args.threads)
    parts = {
        "space": evaluation_space(run.space, settings.solved_threshold),
        "config": _subgoals(run, envs),
        "seed": settings.seed if args.seed is None else args.seed,
    }
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
    sys.stdout.write(json.dumps(summary) + "\n" if args.json else aligned(summary))
    return 0


def _subgoals(run, envs):
    """Return how sub-goals are visited: another number of pucks gets 2 (n + 1) - 1 attempts.

    The number is the environment's: how many objects are detected differs from image to image.
    A state in one vector is one goal, whatever the number of pucks.
    """
    from dataclasses import replace

    from smorl.methods import get_method
    from smorl.training.run_state import count_items

    own = run.config.evaluation.subgoals
    if run.env == run.config.env or not run.encoder.layout.what:
        return own
    items = count_items(envs, get_method(run.config.method).pixels)
    return replace(own, attempts=2 * items - 1)


def _film(run, parts: dict, count: int) -> Iterator[np.ndarray]:
    """Play the first `count` episodes again, one by one, and yield their frames."""
    from smorl.evaluation.evaluate import evaluate
    from smorl.methods import make_envs

    for episode in range(count):
        envs = make_envs(run.env, 1, 1)
        frames: list[np.ndarray] = []
        evaluate(
            envs,
            run.encoder,
            run.agent,
            parts["space"],
            parts["config"],
            episodes=1,
            seed=parts["seed"] + episode,
            observer=_filming(envs, f"episode {episode + 1}", frames),
        )
        envs.close()
        yield from frames
        yield from [frames[-1]] * 8  # a moment to look at the result


def _filming(envs, name: str, frames: list[np.ndarray]) -> Callable[[dict[str, Any]], None]:
    """Return an observer that appends a frame of row 0 for every moment it is told of."""
    from smorl.evaluation.filming import Camcorder, Sight

    world = envs.unwrapped.world
    camera = Camcorder(world, _VISUAL_SIZE if world.visual else _SIZE)

    def observe(state: dict[str, Any]) -> None:
        text = f"{name}  step {len(frames)}  {_aim(state, world.visual)}"
        frames.append(camera.frame(text, Sight.of(state) if world.visual else None))

    return observe


def _aim(state: dict[str, Any], visual: bool) -> str:
    """Say in words what is pursued, and how much of it is done by the agent's own judgement."""
    present, goal = state["targets"].present[0], int(state["current"][0])
    if not present.any():
        return "nothing found in the goal image"
    solved = int((state["solved"][0] & present).sum())
    if visual:
        lost = "" if state["matched"][0, goal] >= 0 else " (matches nothing)"
        name = f"object {goal + 1}{lost}"
    elif len(present) == 1:
        name = "all at once"
    else:
        name = "arm" if goal == 0 else f"puck {goal}"
    return f"goal: {name}  solved: {solved} of {int(present.sum())}"


def _show_progress(done: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} episodes")
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl evaluate",
        description="Evaluate a run on fixed episodes: every sub-goal of the goal state is tried "
        "in turn (Alg. 3). object_distance is the paper's metric, the mean distance of the pucks "
        "to their goals on the last step, in metres; passive_distance is what doing nothing "
        "leaves on the same episodes. goals_detected: objects found in a goal image; "
        "goals_matched: share of them that match an object in every frame of their episode; "
        "false_solved: share of puck sub-goals held for solved at the end whose puck is farther "
        "than 5 cm from its goal. The same --seed is the same episodes for every run.",
    )
    parser.add_argument(
        "run",
        help="a run folder, e.g. runs/gt-rearrange-2-seed0, a file of `smorl export`, or an agent "
        "that comes with the package, e.g. shipped:visual-rearrange-1",
    )
    parser.add_argument("--episodes", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", type=int, help="of the first episode (default: the run's own)")
    parser.add_argument("--env", help="another environment, e.g. smorl/Rearrange1-v0")
    parser.add_argument("--video", help="film the first episodes into this .mp4 or .gif")
    parser.add_argument("--films", type=int, default=3, help="how many to film (default 3)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser
