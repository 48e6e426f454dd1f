"""`smorl train PRESET`: train an agent; the same command again resumes."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from smorl.cli.options import fields, orderly_stop, overrides
from smorl.config import override, to_json
from smorl.methods import get_method
from smorl.presets import get_preset
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
    given = {"seed": str(args.seed), **short, **overrides(rest, _EXAMPLE)}
    if given.get("perception") == "shipped":  # the one that comes with the package
        given["perception"] = f"shipped:{preset.build().perception}"
    config = override(preset.build(), given)
    # Runs that differ in the reward are there to be compared, so they do not share a folder.
    name = args.preset + ("-tracking" if config.goals.reward == "tracking" else "")
    out = Path(args.out) if args.out else Path("runs") / f"{name}-seed{config.seed}"
    return _train(config, out, "smorl train " + " ".join(argv), args.quiet, args.tensorboard)


def _train(config: RunConfig, out: Path, command: str, quiet: bool, tensorboard: bool) -> int:
    before = time.monotonic()
    # Imported here so that a typo in the options answers at once.
    from smorl.presets.perception import PERCEPTION_PRESETS
    from smorl.runs.folder import RunDir
    from smorl.runs.progress import Progress
    from smorl.training.cost_estimate import announce, cost_estimate
    from smorl.training.loop import Trainer
    from smorl.training.perception_stage import check_perception

    imports = time.monotonic() - before
    check_perception(config, out, PERCEPTION_PRESETS)
    with RunDir.open(out, to_json(config), command) as run:
        if run.result is not None:
            sys.stderr.write(f"{out} is finished. `smorl evaluate {out}` evaluates it again.\n")
            return _show(out, run.result)
        perception, preset = None, _trained_first(config, out)
        stages = cost_estimate(config, preset)
        if stages and not quiet:
            sys.stderr.write(f"{announce(stages)}\n")
        if get_method(config.method).pixels:
            perception = _see(config, out, preset, quiet, stages)
            if perception is None:
                sys.stderr.write(f"Stopped and saved. The same command resumes: {command}\n")
                return 130
        leg = stages[-1] if stages else None
        with (
            _collecting(config, perception) as collectors,
            Progress(config.collect.total_steps, quiet, leg=leg) as progress,
        ):
            trainer = Trainer(
                config,
                run,
                progress,
                perception=perception,
                tensorboard=tensorboard,
                collectors=collectors,
            )
            resumed = trainer.resume()
            steps = trainer.state.counters.env_steps
            progress.note(f"{out}: {'resumed at' if resumed else 'starts at'} step {steps}.")
            for change in run.version_changes if resumed else []:
                progress.note(f"Note: {change}; the rest of the run may differ in the last digits.")
            with orderly_stop(trainer, progress, "this round"):
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
            **evaluation.by_episode(config.evaluation.seed),
        }
        run.write_result(result)
        return _show(out, result)


@contextmanager
def _collecting(config: RunConfig, perception: Any) -> Iterator[Any]:
    """Open the collectors that the settings ask for; None if the run collects by itself."""
    if not config.collect.collectors:
        yield None
        return
    from smorl.cluster.collectors import RayCollectors

    collectors = RayCollectors(config, perception)
    try:
        yield collectors
    finally:
        collectors.close()


def _trained_first(config: RunConfig, out: Path) -> Any:
    """Return the settings of the perception that the run trains first, or None."""
    from smorl.presets.perception import PERCEPTION_PRESETS
    from smorl.training.perception_stage import PERCEPTION

    known = PERCEPTION_PRESETS.get(config.perception or "")
    if known is None or (out / PERCEPTION).exists():
        return None
    shared = {name: getattr(config, name) for name in ("seed", "threads", "checkpoint_minutes")}
    return replace(known.build(), **shared)


def _see(config: RunConfig, out: Path, preset: Any, quiet: bool, stages: list) -> Any:
    """Return the run's perception, trained first if need be; None if the user stopped that."""
    from smorl.cli.perception_train import WORDS, climb
    from smorl.representations.scalor.training.settings import total_frames
    from smorl.runs.progress import Progress
    from smorl.training.perception_stage import obtain_perception

    frames = 1 if preset is None else total_frames(preset.optimise)
    leg = stages[0] if preset is not None else None
    with Progress(frames, quiet, words=WORDS, leg=leg) as progress:
        return obtain_perception(
            config, out, preset, lambda trainer: climb(trainer, progress), progress
        )


def _show(out: Path, result: dict) -> int:
    distance, passive = result["object_distance"], result["passive_distance"]
    sys.stderr.write(
        f"{out}: {distance:.3f} m from the goals at the end (doing nothing: {passive:.3f} m), "
        f"{100 * result['pucks_within_5cm']:.0f} % of pucks within 5 cm.\n"
    )
    # The distances of single episodes are for the file.
    shown = {name: value for name, value in result.items() if not isinstance(value, list)}
    sys.stdout.write(json.dumps(shown) + "\n")
    return 0


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
    parser.add_argument("--seed", type=int, default=0, help="decides everything random (default 0)")
    parser.add_argument(
        "--reward", help="--goals.reward for short: matching (Eq. 7) or tracking (by tracker ID)"
    )
    parser.add_argument(
        "--controller",
        help="--evaluation.controller for short: policy (its mode), or critic (the best action "
        "near it by the critic)",
    )
    parser.add_argument(
        "--collectors", metavar="N",
        help="play rounds on N Ray actors, one round ahead of the learner (docs/scale.md)",
    )  # fmt: skip
    parser.add_argument("--out", help="run folder (default runs/PRESET-seedN)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--tensorboard", action="store_true", help="also log for TensorBoard")
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser
