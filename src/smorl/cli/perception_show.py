"""`smorl perception show RUN`: the paper's reconstruction figure, as a picture and as a film."""

import argparse
import sys

from smorl.errors import InvalidInput


def main(argv: list[str]) -> int:
    """Track one held-out episode and draw it."""
    args = _parser().parse_args(argv)
    for name in ("every", "steps", "zoom"):
        if getattr(args, name) < 1:
            raise InvalidInput(f"--{name} {getattr(args, name)} must be at least 1.")
    if not args.out and not args.video:
        raise InvalidInput("nothing to write; give --out picture.png or --video film.mp4.")
    # Imported here so that `--help` answers at once.
    from smorl.evaluation.perception_pictures import film, panel, trace
    from smorl.evaluation.video import PICTURE_SUFFIXES, check_writable, write_png, write_video
    from smorl.perception.scalor.weights import load_perception

    if args.out:
        check_writable(args.out, PICTURE_SUFFIXES)
    if args.video:
        check_writable(args.video)
    weights = load_perception(args.run)
    episode = trace(weights.tracker(), args.env or weights.env, args.steps, args.seed)
    if args.out:
        write_png(args.out, panel(episode, args.every, args.zoom))
        sys.stderr.write(f"Picture: {args.out}\n")
    if args.video:
        write_video(args.video, film(episode, args.zoom), fps=5)
        sys.stderr.write(f"Video: {args.video}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception show",
        description="Track one held-out random episode and draw it over time: the original with "
        "boxes (green: recognised, red: newly found, grey: remembered while hidden), the "
        "reconstruction, the boxes alone, the foreground, and the masks, coloured by identity.",
    )
    parser.add_argument("run", help="a run folder, a weights file, or e.g. shipped:scalor-2")
    parser.add_argument("--out", help="write this .png: every k-th frame as a column")
    parser.add_argument("--video", help="write this .mp4 or .gif: the five views side by side")
    parser.add_argument("--every", type=int, default=2, help="k, frames per column (default 2)")
    parser.add_argument("--steps", type=int, default=20, help="of the episode (default 20)")
    parser.add_argument("--zoom", type=int, default=3, help="size of a pixel (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the episode (default 0)")
    parser.add_argument("--env", help="another environment, e.g. smorl/VisualRearrange1-v0")
    return parser
