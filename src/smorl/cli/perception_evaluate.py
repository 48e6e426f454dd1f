"""`smorl perception evaluate RUN`: compare detections with the simulator."""

import argparse
import json
import sys

from smorl.cli.options import add_device, aligned, check_numbers, show_episodes

_ROWS = 25  # episodes tracked at a time


def main(argv: list[str]) -> int:
    """Evaluate a run or shipped weights and print the numbers."""
    args = check_numbers(_parser().parse_args(argv))
    # Imported here so that `--help` answers at once.
    import torch

    from smorl import devices
    from smorl.devices import check_device
    from smorl.evaluation.detection import evaluate_perception
    from smorl.evaluation.pushing import record, scores
    from smorl.representations.perceptions import load_perception
    from smorl.representations.pretraining import HELD_OUT_SEED
    from smorl.visualise.video import check_writable, write_png
    from smorl.visualise.worst_frames import worst_frames

    check_device(args.device)
    if args.worst is not None:
        check_writable(args.worst, (".png",))
    weights = load_perception(args.run)
    torch.set_num_threads(args.threads)
    env, where = args.env or weights.env, devices.place(args.device)
    seed = HELD_OUT_SEED if args.seed is None else args.seed
    report = evaluate_perception(
        weights.tracker(device=where),
        env,
        episodes=args.episodes,
        seed=seed,
        threads=args.threads,
        threshold=weights.threshold,
        num_envs=min(args.episodes, _ROWS),
        progress=show_episodes,
    )
    rows = min(args.episodes, _ROWS)
    pushed = record(
        weights.tracker(device=where), env, args.episodes, seed, args.threads, num_envs=rows,
        progress=show_episodes,
    )  # fmt: skip
    numbers = scores(pushed, weights.threshold)
    summary = {"run": str(args.run), **report.numbers}
    summary |= {f"pushing/{name}": value for name, value in numbers.items()}
    if args.worst is not None:
        write_png(args.worst, worst_frames(pushed, weights.threshold))
    sys.stdout.write(json.dumps(summary) + "\n" if args.json else aligned(summary))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception evaluate",
        description="Track held-out random-policy episodes, and episodes in which a scripted "
        "pusher moves pucks about, and compare with the simulator. f1, "
        "precision and recall are of visible pucks (a detection within 4 pixels of the projected "
        "centre); median_error_px is in pixels; identity_accuracy is the share of detections whose "
        "appearance is nearest to their own puck's of the first frame; arm_detected the share of "
        "frames with a visible arm in which it is found. pushing/...: what an agent needs while "
        "pucks are pushed, by how a puck stands (free, touching or pushed, half hidden, hidden): "
        "matched, the share of frames in which the puck as it looked at first is found again (Eq. "
        "7; matched_goal: as it looks in the goal image), wrong, the share of matches that are "
        "something else, error_median and error_90 of its place, jitter of a puck at rest, all in "
        "pixels; hand_near, the share of frames in which an object is within 2 pixels of the hand. "
        "The same --seed is the same episodes.",
    )
    parser.add_argument("run", help="a run folder, a weights file, or e.g. shipped:scalor-2")
    parser.add_argument("--episodes", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--seed", type=int, help="of the episodes (default 1000000)")
    parser.add_argument("--env", help="another environment, e.g. smorl/VisualRearrange1-v0")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    add_device(parser)
    parser.add_argument("--worst", help="draw the worst frames of pushing into this .png")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser
