"""`smorl perception collect ENV`: record random-policy sequences."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from smorl.cli.options import check_numbers


def main(argv: list[str]) -> int:
    """Collect, save, and say what was saved."""
    args = check_numbers(_parser().parse_args(argv))
    # Imported here so that `--help` answers at once.
    from smorl.representations.video import describe
    from smorl.representations.video_files import obtain_sequences

    out = Path(args.out)
    before, existed = time.monotonic(), os.path.exists(out)
    data = obtain_sequences(
        out, args.env, args.episodes, args.steps, args.seed, args.threads, _progress(args.quiet)
    )
    frames = data.images.shape[0] * data.images.shape[1]
    seconds = time.monotonic() - before
    done = "was complete already" if existed else f"{frames} frames in {seconds:.1f} s"
    sys.stderr.write(f"{out}: {done}. `smorl perception train PRESET --data {out}` uses it.\n")
    sys.stdout.write(json.dumps({"out": str(out), "frames": frames, **describe(data)}) + "\n")
    return 0


def _progress(quiet: bool):
    started = time.monotonic()

    def show(done: int, total: int) -> None:
        left = (time.monotonic() - started) / max(1, done) * (total - done)
        end = "\r" if sys.stderr.isatty() and done < total else "\n"
        sys.stderr.write(f"{done}/{total} episodes, {left:.0f} s left {end}")
        sys.stderr.flush()

    return None if quiet else show


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception collect",
        description="Record sequences of a uniformly random policy: pictures and actions, and, "
        "apart from them, the simulator's positions, which only evaluation may read. The same "
        "seed gives the same sequences. `smorl perception train` collects by itself; this is for "
        "sharing one data set between runs (--data).",
    )
    parser.add_argument("env", help="a visual environment, e.g. smorl/VisualRearrange2-v0")
    parser.add_argument("--episodes", type=int, default=101, help="how many (default 101)")
    parser.add_argument("--steps", type=int, default=100, help="per episode (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="decides everything (default 0)")
    parser.add_argument("--out", required=True, help="folder to write; must not hold other things")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser
