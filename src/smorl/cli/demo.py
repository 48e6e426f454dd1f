"""`smorl demo`: a trained agent rearranges the table from pixels, in a film for anybody."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from smorl.cli.options import add_device, check_numbers, say
from smorl.cli.play import progress_bar
from smorl.errors import InvalidInput

if TYPE_CHECKING:
    from smorl.evaluation.evaluate import Evaluation

AGENT = "shipped:visual-rearrange-2"


def main(argv: list[str]) -> int:
    """Run the verb; return the exit code."""
    args = check_numbers(_parser().parse_args(argv))
    if not 1 <= args.films <= args.episodes:
        raise InvalidInput(f"--films is {args.films}; film 1 to {args.episodes} of the episodes.")
    # Imported here so that `--help` answers at once.
    import torch

    torch.set_num_threads(1)  # the networks are small: more threads only wait for each other
    with torch.inference_mode():  # nothing learns here
        _play_and_film(args)
    return 0


def _play_and_film(args: argparse.Namespace) -> None:
    from smorl.cli.films import attention_picture
    from smorl.cli.stories import FRAMES_PER_SECOND, choose, story
    from smorl.evaluation.evaluate import evaluate
    from smorl.files import make_folder
    from smorl.trained.loading import load_run
    from smorl.visualise.video import check_writable, write_png, write_video

    started = time.monotonic()
    video, picture = Path(args.out) / "film.mp4", Path(args.out) / "attention.png"
    run = load_run(args.run, device=args.device)
    make_folder(video.parent)
    check_writable(video)
    say(
        f"{args.run}, trained for {run.env_steps} steps, gets {args.episodes} tables of {run.env} "
        "and for each a goal: how it should look ..."
    )
    envs = run.envs(1)  # one by one, as they are filmed: so what is filmed is what was counted
    actor = run.actor()
    result = evaluate(envs, actor, episodes=args.episodes, seed=args.seed)
    envs.close()
    if not result.distances.shape[1]:
        raise InvalidInput(
            f"nobody knows how far things are from their goals in {run.env}, and this film tells; "
            f"`smorl evaluate {args.run} --video film.mp4` films without."
        )
    say(report(result))
    shown = choose(result, args.films)
    say(f"Filming episode {', '.join(str(number + 1) for number in shown)} ...")
    with progress_bar("filming", int(result.length[shown].sum())) as advance:
        frames = story(run, actor, args.seed, result, args.films, advance)
        write_video(video, frames, fps=FRAMES_PER_SECOND)
    write_png(picture, attention_picture(run, actor, args.seed))
    say(
        f"film:      {video}\nattention: {picture} (what the policy looked at, first episode)\n"
        f"{time.monotonic() - started:.0f} seconds in all."
    )


def report(result: "Evaluation") -> str:
    """Return a line per episode and one for all; distances of pucks to goals in metres."""
    ends = zip(result.passive, result.distance, result.success, strict=True)
    lines = [
        f"  episode {number:>2}: {100 * start:5.1f} cm from the goal -> {100 * end:5.1f} cm"
        f"{'   success' if good else ''}"
        for number, (start, end, good) in enumerate(ends, start=1)
    ]
    lines.append(
        f"mean: {100 * result.distance.mean():.1f} cm at the end; doing nothing leaves "
        f"{100 * result.passive.mean():.1f} cm. {result.success.sum()} of {len(result.success)} "
        "tables with every puck within 5 cm (success)."
    )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl demo",
        description="Watch a trained agent rearrange the table, from pixels alone: prints how far "
        "the pucks are from their goals, and films successes and a failure, with a closing card of "
        "the numbers; attention.png shows what its policy looked at. Takes about a minute.",
    )
    parser.add_argument(
        "run", nargs="?", default=AGENT, help=f"a run, or an agent's file (default {AGENT})"
    )
    parser.add_argument("--out", default="demo", metavar="FOLDER", help="where the files go")
    parser.add_argument("--episodes", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--films", type=int, default=3, metavar="N", help="how many are filmed")
    parser.add_argument("--seed", type=int, default=1_000_000, help="episode i uses seed + i")
    add_device(parser)
    return parser
