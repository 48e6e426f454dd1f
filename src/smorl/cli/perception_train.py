"""`smorl perception train PRESET`: train SCALOR; the same command again resumes."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from smorl.cli.options import fields, orderly_stop, overrides
from smorl.config import override, to_json
from smorl.errors import InvalidInput
from smorl.presets.perception import PERCEPTION_PRESETS, get_perception_preset
from smorl.representations.scalor.training.settings import PerceptionConfig, total_frames
from smorl.runs.progress import Words

_EXAMPLE = "--optimise.lr 1e-3"
WORDS = Words("frame", "frames", "iterations", "{:.1f} objects per frame")


def main(argv: list[str]) -> int:
    """Train, or resume, or say that the run is finished."""
    parser = _parser()
    if not argv or argv[0].startswith("-"):
        if "-h" not in argv and "--help" not in argv:
            raise InvalidInput(
                "name a preset first, e.g. `smorl perception train scalor-2`; --help lists them."
            )
        parser.print_help()
        width = max(map(len, PERCEPTION_PRESETS))
        lines = (f"  {name:<{width}}  {p.line}" for name, p in PERCEPTION_PRESETS.items())
        sys.stdout.write("\npresets:\n" + "\n".join(lines) + "\n")
        return 0
    preset = get_perception_preset(argv[0])
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        sys.stdout.write(fields(preset.build()))
        return 0
    args, rest = parser.parse_known_args(argv)
    config = override(preset.build(), {"seed": str(args.seed), **overrides(rest, _EXAMPLE)})
    out = Path(args.out) if args.out else Path("runs") / f"{args.preset}-seed{config.seed}"
    return _train(_fit_data(config, args.data), out, args, "smorl perception train", argv)


def _fit_data(config: PerceptionConfig, folder: str | None) -> PerceptionConfig:
    """With --data the config says what that data is, so that the run describes itself."""
    if folder is None:
        return config
    from smorl.representations.video_files import load_sequences

    data = load_sequences(Path(folder), verify=False)
    return replace(config, data=replace(config.data, episodes=data.episodes, steps=data.steps))


def _train(
    config: PerceptionConfig, out: Path, args: argparse.Namespace, verb: str, argv: list[str]
) -> int:
    # Imported here so that a typo in the options answers at once.
    from smorl.representations.scalor.training.data import Source, remove_sequences
    from smorl.representations.scalor.training.loop import PerceptionTrainer
    from smorl.runs.folder import RunDir
    from smorl.runs.progress import Progress

    command = " ".join([verb, *argv])
    source = Source(Path(args.data) if args.data else None, args.keep_data)
    with RunDir.open(out, to_json(config), command) as run:
        if run.result is not None:
            if not args.keep_data:
                remove_sequences(out)  # a kill right after the end leaves it behind
            sys.stderr.write(f"{out} is finished. `smorl perception evaluate {out}` repeats it.\n")
            return _show(out, run.result)
        with Progress(total_frames(config.optimise), args.quiet, words=WORDS) as progress:
            trainer = PerceptionTrainer(config, run, progress, source, command)
            result = climb(trainer, progress)
        if result is None:
            sys.stderr.write(f"Stopped and saved. The same command resumes: {command}\n")
            return 130
        run.write_result(result)
        trainer.clean()
        return _show(out, result)


def climb(trainer: Any, progress: Any) -> dict[str, Any] | None:
    """Run a perception trainer to its result; None if the user stopped it."""
    from smorl.representations.scalor.training.data import Stopped

    with orderly_stop(trainer, progress, "this iteration"):
        try:
            resumed = trainer.start()
            _announce(trainer, resumed, progress)
            return trainer.train()
        except Stopped:
            progress.note("Stopped while collecting; the collection starts again.")
            return None


def _announce(trainer: Any, resumed: bool, progress: Any) -> None:
    where = "resumed at" if resumed else "starts at"
    progress.note(f"{trainer.run.path}: {where} iteration {trainer.state.iteration}.")
    for change in trainer.run.version_changes if resumed else []:
        progress.note(f"Note: {change}; the rest of the run may differ in the last digits.")


def _show(out: Path, result: dict[str, Any]) -> int:
    sys.stderr.write(
        f"{out}: F1 {_number(result['f1'])} on visible pucks, median error "
        f"{_number(result['median_error_px'])} pixels, identity "
        f"{_number(result['identity_accuracy'])}, arm detected {_number(result['arm_detected'])}.\n"
    )
    if not result["healthy"]:
        sys.stderr.write(
            "These weights are of no use: " + " ".join(result["attempts"][-1]["findings"]) + "\n"
        )
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl perception train",
        description="Train SCALOR on random-policy data. The run folder holds config, metrics "
        "(JSONL), diagnoses (evaluations.csv), checkpoints and in the end weights.safetensors and "
        "result.json; running the same command again resumes exactly. Ctrl-C saves. Training that "
        "goes wrong is described in words and starts again with another seed (--restarts).",
        epilog="Any field of the preset can be changed: --optimise.lr 1e-3 --scalor.slots 6. "
        "`smorl perception train PRESET --help` lists the fields.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("preset", help="e.g. scalor-2")
    parser.add_argument("--seed", type=int, default=0, help="decides everything random (default 0)")
    parser.add_argument("--out", help="run folder (default runs/PRESET-seedN)")
    parser.add_argument("--data", help="a folder of `smorl perception collect` (default: collect)")
    parser.add_argument("--keep-data", action="store_true", help="keep the run's own data")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser
