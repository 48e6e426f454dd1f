"""`smorl perception show RUN`: the paper's reconstruction figure, as a picture and as a film."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from smorl.cli.options import check_numbers

if TYPE_CHECKING:
    from smorl.representations.base import Perception
    from smorl.visualise.video import Picture


_DEFAULT = "perception.png"  # where nothing else is to be written


def main(argv: list[str]) -> int:
    """Track one held-out episode and draw it."""
    args = check_numbers(_parser().parse_args(argv))
    if not args.out and not args.video:
        args.out = _DEFAULT
    # Imported here so that `--help` answers at once.
    from smorl.representations.perceptions import load_perception
    from smorl.visualise.video import PICTURE_SUFFIXES, check_writable, write_png, write_video

    if args.out:
        check_writable(args.out, PICTURE_SUFFIXES)
    if args.video:
        check_writable(args.video)
    weights = load_perception(args.run)
    picture, frames = _reconstruct(weights, args) if args.imagine is None else _dream(weights, args)
    if args.out:
        write_png(args.out, picture)
        sys.stderr.write(f"Picture: {args.out}\n")
    if args.video:
        write_video(args.video, frames, fps=5)
        sys.stderr.write(f"Video: {args.video}\n")
    return 0


def _reconstruct(
    weights: Perception, args: argparse.Namespace
) -> tuple[Picture, Iterator[Picture]]:
    """Return the reconstruction figure and film of one episode."""
    from smorl.visualise.reconstructions import film, panel, trace

    episode = trace(weights.tracker(), args.env or weights.env, args.steps, args.seed)
    return panel(episode, args.every, args.zoom), film(episode, args.zoom)


def _dream(weights: Perception, args: argparse.Namespace) -> tuple[Picture, Iterator[Picture]]:
    """Return the figure and film of imagined episodes, and say how good they are."""
    from smorl.studies.imagination import imagination_film, imagination_panel, imagine

    env = args.env or weights.env
    dream = imagine(weights.tracker(), env, args.imagine, args.episodes, args.seed)
    error, still = dream.errors()
    sys.stderr.write(
        f"Imagined {args.imagine} steps ahead: squared error per pixel {error:.2e} "
        f"(of a picture that stands still: {still:.2e}).\n"
    )
    return imagination_panel(dream, args.every, args.zoom), imagination_film(dream, args.zoom)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception show",
        description="Track one held-out random episode and draw it over time: the original with "
        "boxes (green: recognised, red: newly found, grey: remembered while hidden), the "
        "reconstruction, the boxes alone, the foreground, and the masks, coloured by identity. "
        "With --imagine the model sees 5 frames only and its prior goes on from there under the "
        "actions really taken; what happened is drawn above what it imagined.",
    )
    parser.add_argument("run", help="a run folder, a weights file, or e.g. shipped:scalor-2")
    parser.add_argument(
        "--out", help=f"write this .png: every k-th frame as a column (default {_DEFAULT})"
    )
    parser.add_argument("--video", help="write this .mp4 or .gif: the five views side by side")
    parser.add_argument("--every", type=int, default=2, help="k, frames per column (default 2)")
    parser.add_argument("--steps", type=int, default=20, help="of the episode (default 20)")
    parser.add_argument("--imagine", type=int, metavar="STEPS", help="let the prior go on alone")
    parser.add_argument("--episodes", type=int, default=3, help="of --imagine (default 3)")
    parser.add_argument("--zoom", type=int, default=3, help="size of a pixel (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the episode (default 0)")
    parser.add_argument("--env", help="another environment, e.g. smorl/VisualRearrange1-v0")
    return parser
