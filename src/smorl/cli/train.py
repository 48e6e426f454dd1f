"""`smorl train PRESET`: train an agent; the same command again resumes."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from smorl.cli.options import check_numbers, fields, overrides
from smorl.errors import InvalidInput
from smorl.formats import check_kinds, understood
from smorl.library import default_folder, make_config
from smorl.presets import get_preset
from smorl.runs.boards import Boards
from smorl.settings_file import read_settings
from smorl.training.settings import RunConfig

_EXAMPLE = "--learner.lr 1e-3"


def main(argv: list[str]) -> int:
    """Train, or resume, or say that the run is finished."""
    parser = _parser()
    if not argv or argv[0].startswith("-"):
        parser.print_help() if "-h" in argv or "--help" in argv else parser.error(
            "name a preset first, e.g. `smorl train gt-rearrange-2`; `smorl presets` lists them"
        )
        return 0
    preset = get_preset(argv[0])
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        sys.stdout.write(fields(preset.build()))
        return 0
    args, rest = parser.parse_known_args(argv)
    shortcuts = {"goals.reward": args.reward, "evaluation.controller": args.controller}
    shortcuts["collect.collectors"] = args.collectors
    short = {path: value for path, value in shortcuts.items() if value is not None}
    given = {} if args.config is None else read_settings(Path(args.config))
    seed = {} if args.seed is None else {"seed": str(args.seed)}
    given |= {**seed, **short, **overrides(rest, _EXAMPLE)}
    command = "smorl train " + " ".join(argv)
    if args.seeds is not None:
        return _train_seeds(args, given, command)
    config = make_config(args.preset, None, given)
    out = Path(args.out) if args.out else default_folder(args.preset, config)
    boards = Boards(args.tensorboard, args.wandb)
    return _train(config, out, command, args.quiet, boards)


def _train_seeds(args: argparse.Namespace, given: dict[str, str], command: str) -> int:
    """Several seeds, from the one that was named on."""
    # Imported here, because who trains one agent needs none of it.
    from smorl.cli.seeds import train_seeds

    check_numbers(args)
    if args.wandb:
        raise InvalidInput("--wandb follows one run; train the seeds one by one, or leave it out.")
    first = int(given.pop("seed", 0))
    folder = None if args.out is None else Path(args.out)
    seeds = range(first, first + args.seeds)
    return train_seeds(args.preset, given, seeds, folder, command, tensorboard=args.tensorboard)


def _train(config: RunConfig, out: Path, command: str, quiet: bool, boards: Boards) -> int:
    # Imported here so that a typo in the options answers at once.
    from smorl.library.running import run_training

    outcome = run_training(config, out, command, quiet=quiet, boards=boards)
    if outcome.result is None:
        at = f" at step {outcome.steps}" if outcome.steps else ""
        sys.stderr.write(f"Stopped and saved{at}. The same command resumes: {command}\n")
        return 130
    if outcome.earlier:
        sys.stderr.write(f"{out} is finished. `smorl evaluate {out}` evaluates it again.\n")
    return _show(out, outcome.result)


def _show(out: Path, result: dict) -> int:
    names = ("object_distance", "passive_distance", "pucks_within_5cm", "subgoals_solved")
    with understood(out / "result.json", "a result"):
        check_kinds(result, dict.fromkeys(names, int | float | None), "result")
        sentence = in_words(result)
    sys.stderr.write(f"{out}: {sentence}\n")
    # The distances of single episodes are for the file.
    shown = {name: value for name, value in result.items() if not isinstance(value, list)}
    sys.stdout.write(json.dumps(shown) + "\n")
    return 0


def in_words(result: dict[str, Any]) -> str:
    """Say in a sentence how good an agent is, by the truth or, if nobody knows it, by itself."""
    distance, passive = result["object_distance"], result["passive_distance"]
    if distance is None:
        return (
            f"{100 * result['subgoals_solved']:.0f} % of sub-goals solved by the agent's own "
            "measure; this environment has no outside judge."
        )
    return (
        f"{distance:.3f} m from the goals at the end (doing nothing: {passive:.3f} m), "
        f"{100 * result['pucks_within_5cm']:.0f} % of pucks within 5 cm."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl train",
        description="Train an agent. The run folder holds config, metrics (JSONL), evaluations "
        "(CSV) and checkpoints; running the same command again resumes it exactly. Ctrl-C saves.",
        epilog="Any field of the preset can be changed: --learner.lr 1e-3 --collect.horizon 25. "
        "`smorl train PRESET --help` lists the fields. Visual presets train a perception first; "
        "--perception shipped takes the one that comes with the package, --perception RUN that of "
        "another run.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("preset", help="a name from `smorl presets`, e.g. gt-rearrange-2")
    parser.add_argument("--seed", type=int, help="decides everything random (default 0)")
    parser.add_argument(
        "--seeds", type=int, metavar="N",
        help="train so many seeds, from --seed on, side by side: a process per core, a run folder "
        "each (in --out, if given). Ctrl-C saves all, the same command goes on",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings from a .json or .yaml file")
    parser.add_argument(
        "--reward", help="--goals.reward for short: matching (Eq. 7) or tracking (by tracker ID)"
    )
    parser.add_argument(
        "--controller",
        help="--evaluation.controller for short: policy (its mode), critic (the best action "
        "near it by the critic), or plan (look ahead with the model of objects)",
    )
    parser.add_argument(
        "--collectors", metavar="N",
        help="play rounds in N processes, one round ahead of the learner; 1 is for a machine "
        "with two free cores, where it is 1.6 times as fast. Part of the run, like its seed "
        "(default 0). On the Ray cluster that RAY_ADDRESS names, if any (docs/scale.md)",
    )  # fmt: skip
    parser.add_argument("--out", help="run folder (default runs/PRESET-seedN)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--tensorboard", action="store_true", help="also log for TensorBoard")
    parser.add_argument(
        "--wandb", metavar="PROJECT",
        help="also log to Weights & Biases; WANDB_MODE=offline keeps it on this machine",
    )  # fmt: skip
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser
