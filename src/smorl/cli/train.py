"""`smorl train PRESET`: train an agent; the same command again resumes."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smorl.config import override, paths, to_json
from smorl.errors import InvalidInput
from smorl.presets import get_preset
from smorl.training.settings import RunConfig


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
        sys.stdout.write(_fields(preset.build()))
        return 0
    args, rest = parser.parse_known_args(argv)
    config = override(preset.build(), {"seed": str(args.seed), **_overrides(rest)})
    out = Path(args.out) if args.out else Path("runs") / f"{args.preset}-seed{config.seed}"
    return _train(config, out, "smorl train " + " ".join(argv), args.quiet, args.tensorboard)


def _train(config: RunConfig, out: Path, command: str, quiet: bool, tensorboard: bool) -> int:
    before = time.monotonic()
    # Imported here so that a typo in the options answers at once.
    from smorl.training.progress import Progress
    from smorl.training.run_dir import RunDir
    from smorl.training.trainer import Trainer

    imports = time.monotonic() - before
    with RunDir.open(out, to_json(config), command) as run:
        if run.result is not None:
            sys.stderr.write(f"{out} is finished. `smorl evaluate {out}` evaluates it again.\n")
            return _show(out, run.result)
        with Progress(config.collect.total_steps, quiet) as progress:
            trainer = Trainer(config, run, progress, tensorboard=tensorboard)
            resumed = trainer.resume()
            steps = trainer.state.counters.env_steps
            progress.note(f"{out}: {'resumed at' if resumed else 'starts at'} step {steps}.")
            for change in run.version_changes if resumed else []:
                progress.note(f"Note: {change}; the rest of the run may differ in the last digits.")
            with _stop_between_rounds(trainer, progress):
                evaluation = trainer.train()
        if evaluation is None:
            sys.stderr.write(
                f"Stopped and saved at step {trainer.state.counters.env_steps}. "
                f"The same command resumes: {command}\n"
            )
            return 130
        result = {
            **evaluation.summary(),
            "env_steps": trainer.state.counters.env_steps,
            "updates": trainer.state.counters.updates,
            "seconds": round(trainer.seconds() + imports, 1),
        }
        run.write_result(result)
        return _show(out, result)


@contextmanager
def _stop_between_rounds(trainer, progress) -> Iterator[None]:
    """Turn the first Ctrl-C (or SIGTERM) into a checkpoint at the end of the round."""

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        progress.note("Stopping: finishing this round and saving. Ctrl-C again stops at once.")

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(out: Path, result: dict) -> int:
    distance, passive = result["object_distance"], result["passive_distance"]
    sys.stderr.write(
        f"{out}: {distance:.3f} m from the goals at the end (doing nothing: {passive:.3f} m), "
        f"{100 * result['pucks_within_5cm']:.0f} % of pucks within 5 cm.\n"
    )
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl train",
        description="Train an agent. The run folder holds config, metrics (JSONL), evaluations "
        "(CSV) and checkpoints; running the same command again resumes it exactly. Ctrl-C saves.",
        epilog="Any field of the preset can be changed: --sac.lr 1e-3 --collect.total_steps 20000. "
        "`smorl train PRESET --help` lists the fields.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("preset", help="a name from `smorl presets`, e.g. gt-rearrange-2")
    parser.add_argument("--seed", type=int, default=0, help="decides everything random (default 0)")
    parser.add_argument("--out", help="run folder (default runs/PRESET-seedN)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--tensorboard", action="store_true", help="also log for TensorBoard")
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser


def _overrides(rest: list[str]) -> dict[str, str]:
    """Turn `--a.b 1 --c=2` into {"a.b": "1", "c": "2"}."""
    found: dict[str, str] = {}
    words = iter(rest)
    for word in words:
        if not word.startswith("--"):
            raise InvalidInput(f"unexpected {word!r}; options look like --sac.lr 1e-3.")
        name, given, value = word[2:].partition("=")
        if not given:
            following = next(words, None)
            if following is None:
                raise InvalidInput(f"--{name} needs a value, e.g. --sac.lr 1e-3.")
            value = following
        found[name.replace("-", "_")] = value
    return found


def _fields(config: RunConfig) -> str:
    data = to_json(config)
    lines = []
    for path in paths(RunConfig, data):
        value = data
        for name in path.split("."):
            value = value[name]
        if not isinstance(value, dict):
            lines.append(f"  --{path} {json.dumps(value)}")
    return "\nfields of this preset:\n" + "\n".join(lines) + "\n"
