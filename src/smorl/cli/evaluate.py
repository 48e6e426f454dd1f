"""`smorl evaluate RUN`: evaluate a trained run on fixed episodes."""

import argparse
import json
import sys
from typing import get_args

from smorl.cli.options import add_device, aligned, check_numbers, overrides, show_episodes
from smorl.errors import InvalidInput
from smorl.planning.controllers import ControllerName


def main(argv: list[str]) -> int:
    """Evaluate a run and print its numbers."""
    args, rest = _parser().parse_known_args(argv)
    check_numbers(args)
    settings = overrides(rest, "--planning.samples 64")
    # Imported here so that `--help` answers at once.
    from smorl.library import load
    from smorl.studies.foresight import Tracks
    from smorl.visualise.video import PICTURE_SUFFIXES, check_writable

    if args.video:
        check_writable(args.video)
    if args.attention:
        check_writable(args.attention, PICTURE_SUFFIXES)
    if args.foresight:
        check_writable(args.foresight, PICTURE_SUFFIXES)
    run = load(args.run, args.env, threads=args.threads, device=args.device).playing(settings)
    if args.foresight and (run.state.foresight is None or run.state.foresight.view is None):
        raise InvalidInput(
            f"--foresight asks for a model of objects, and {args.run} has none; train with a "
            "preset that has `dynamics`, e.g. gt-rearrange-2."
        )
    for note in run.notes:
        sys.stderr.write(f"{note}\n")
    seed = run.config.evaluation.seed if args.seed is None else args.seed
    tracks = Tracks() if args.foresight else None
    result = run.evaluate(
        args.episodes,
        seed=seed,
        threads=args.threads,
        controller=args.controller,
        observer=tracks,
        progress=lambda done: show_episodes(done, args.episodes),
    )
    if not result.distances.size:
        sys.stderr.write(f"{run.env} has no outside judge: this is the agent's own measure.\n")
    summary = {"run": str(args.run), "env": run.env, "env_steps": run.env_steps}
    summary |= {**settings, "seed": seed, **result.summary()}
    if tracks is not None:
        summary |= _foresee(run, tracks, seed, args.foresight)
    full = {**summary, **result.by_episode(seed)}
    sys.stdout.write(json.dumps(full) + "\n" if args.json else aligned(summary))
    sys.stdout.flush()
    _draw(run, run.actor(args.controller), seed, args)
    return 0


def _foresee(run, tracks, seed: int, picture: str) -> dict:
    """Measure the run's model of objects on what was played, and draw the first episode."""
    from smorl.studies.foresight import draw_foresight, foresight_errors
    from smorl.visualise.video import write_png

    model, view = run.state.foresight.model, run.state.foresight.view
    background = None
    if run.encoder.layout.scale:  # places are image coordinates
        envs = run.envs(1)
        background = envs.reset(seed=[seed])[0]["observation"][0]
        envs.close()
    write_png(picture, draw_foresight(model, view, tracks, background))
    sys.stderr.write(f"Foresight: {picture}\n")
    return foresight_errors(model, view, tracks, run.state.foresight.config.moved)


def _draw(run, actor, seed: int, args: argparse.Namespace) -> None:
    """Play the first episodes again for the pictures asked for."""
    from smorl.cli.films import attention_picture, film
    from smorl.visualise.video import write_png, write_video

    if args.video:
        write_video(args.video, film(run, actor, seed, min(args.films, args.episodes)))
        sys.stderr.write(f"Video: {args.video}\n")
    if args.attention:
        write_png(args.attention, attention_picture(run, actor, seed))
        sys.stderr.write(f"Attention: {args.attention}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl evaluate",
        description="Evaluate a run on fixed episodes: every sub-goal of the goal state is tried "
        "in turn (Alg. 3). object_distance is the paper's metric, the mean distance of the pucks "
        "to their goals on the last step, in metres; passive_distance is what doing nothing "
        "leaves on the same episodes. goals_detected: objects found in a goal image; "
        "goals_matched: share of them that match an object in every frame of their episode; "
        "false_solved: share of puck sub-goals considered solved at the end whose puck is farther "
        "than 5 cm from its goal. The same --seed is the same episodes for every run.",
        epilog="How the agent plays can be changed: any of --planning.*, --evaluation.subgoals.* "
        "and --evaluation.solved_threshold, e.g. --planning.samples 64 --planning.horizon 5 or "
        "--evaluation.subgoals.order gain. `smorl train PRESET --help` explains them.",
    )
    parser.add_argument(
        "run",
        help="a run folder, e.g. runs/gt-rearrange-2-seed0, a file of `smorl export`, or an agent "
        "that comes with the package, e.g. shipped:visual-rearrange-1",
    )
    parser.add_argument("--episodes", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", type=int, help="of the first episode (default: the run's own)")
    parser.add_argument(
        "--controller",
        choices=get_args(ControllerName),
        help="who moves: the policy's mode, the best action near it by the critic, or a plan with "
        "the run's model of objects (default: the run's own)",
    )
    parser.add_argument("--env", help="another environment, e.g. smorl/Rearrange1-v0")
    parser.add_argument("--video", help="film the first episodes into this .mp4 or .gif")
    parser.add_argument("--films", type=int, default=3, help="how many to film (default 3)")
    parser.add_argument(
        "--attention",
        metavar="PNG",
        help="draw the policy's attention over the first episode: heads by time, by object",
    )
    parser.add_argument(
        "--foresight",
        metavar="PNG",
        help="measure the run's model of objects on these episodes (1 to 6 steps ahead, on pushed "
        "and resting things, against staying put) and draw imagined tracks against real ones",
    )
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    add_device(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one line of JSON, with the distance of every episode",
    )
    return parser
