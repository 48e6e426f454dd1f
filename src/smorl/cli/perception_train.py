"""`smorl perception train PRESET`: train SCALOR; the same command again resumes."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from smorl.cli.options import fields, overrides
from smorl.config import override
from smorl.errors import InvalidInput
from smorl.formats import check_kinds, understood
from smorl.presets.perception import PERCEPTION_PRESETS, get_perception_preset

_EXAMPLE = "--optimise.lr 1e-3"
_NUMBERS = ("f1", "median_error_px", "identity_accuracy", "arm_detected")
_KINDS = {
    **dict.fromkeys(_NUMBERS, int | float | None),
    "healthy": bool,
    "attempts": [{"findings": [str]}],
}


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
    # Imported here so that a typo in the options answers at once.
    from smorl.library.running import run_perception
    from smorl.representations.pretraining import Source

    if args.data and args.video:
        raise InvalidInput("give --data or --video, not both.")
    folder, video = (Path(given) if given else None for given in (args.data, args.video))
    source = Source(folder, args.keep_data, video)
    command = " ".join(["smorl perception train", *argv])
    outcome = run_perception(config.fitted(source), out, source, command, args.quiet)
    if outcome.result is None:
        sys.stderr.write(f"Stopped and saved. The same command resumes: {command}\n")
        return 130
    if outcome.earlier:
        sys.stderr.write(f"{out} is finished. `smorl perception evaluate {out}` repeats it.\n")
    return _show(out, outcome.result)


def _show(out: Path, result: dict[str, Any]) -> int:
    with understood(out / "result.json", "a result"):
        return _said(out, result)


def _said(out: Path, result: dict[str, Any]) -> int:
    if result["f1"] is None and "objects" in result:
        sys.stderr.write(
            f"{out}: {result['objects']:.1f} objects per frame, {_number(result['kept'])} of them "
            "kept from frame to frame; nobody knows the truth of these pictures.\n"
        )
        sys.stdout.write(json.dumps(result) + "\n")
        return 0
    check_kinds(result, _KINDS, "result")
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
    parser.add_argument(
        "--video", help="your own pictures instead: a folder, a film (.mp4) or an .npz file"
    )
    parser.add_argument("--keep-data", action="store_true", help="keep the run's own data")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser
