"""The runs of a sweep: a preset with settings varied, over seeds; perceptions trained once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from smorl.cluster.axes import Axis, grid, point_name
from smorl.errors import InvalidInput
from smorl.paper.costs import minutes
from smorl.paper.jobs import Job, Training, train, with_tensorboard
from smorl.presets import get_preset
from smorl.presets.perception import PERCEPTION_PRESETS

Point = Mapping[str, str]


@dataclass(frozen=True)
class Sweep:
    """What is swept: a preset, what all runs change, what they vary, and where they go."""

    preset: str
    fixed: tuple[tuple[str, str], ...]
    axes: tuple[Axis, ...]
    out: Path
    tensorboard: bool = False

    def job(self, point: Point, seed: int, name: str) -> list[Job]:
        """Return the run at a point, after the perception that it needs, if any."""
        settings = {**dict(self.fixed), **point}
        config = Training(self.preset, seed, tuple(settings.items())).config()
        needs, first = (), []
        if config["perception"] in PERCEPTION_PRESETS:
            eyes = self._perception(config["perception"], seed, int(config["threads"]))
            settings["perception"], needs, first = str(eyes.writes), (eyes.writes,), [eyes]
        usual = get_preset(self.preset).build().collect.total_steps
        run = train(
            Training(self.preset, seed, tuple(settings.items())),
            self.out / name,
            needs=needs,
            minutes=usual_minutes(self.preset) * config["collect"]["total_steps"] / max(1, usual),
        )
        return [*first, with_tensorboard(run) if self.tensorboard else run]

    def grid(self, seeds: int) -> list[Job]:
        """Return a run for every combination of values and every seed."""
        jobs: dict[Path, Job] = {}
        for point in grid(self.axes):
            for seed in range(seeds):
                for job in self.job(point, seed, grid_name(point, seed)):
                    jobs.setdefault(job.writes, job)
        return list(jobs.values())

    def _perception(self, preset: str, seed: int, threads: int) -> Job:
        training = Training(preset, seed, (("threads", str(threads)),), perception=True)
        folder = self.out / f"{preset}-seed{seed}"
        return train(training, folder, minutes=usual_minutes(preset), wanted=False)


def grid_name(point: Point, seed: int) -> str:
    """Return the name of a run of a grid."""
    return f"{point_name(dict(point)) or 'as-it-is'}-seed{seed}"


def check_sweep(sweep: Sweep) -> None:
    """Raise for settings that do not exist or are set twice, before anything is planned."""
    fixed = dict(sweep.fixed)
    for axis in sweep.axes:
        if axis.name in fixed or axis.name == "seed":
            hint = "use --seeds" if axis.name == "seed" else f"leave --{axis.name} out"
            raise InvalidInput(f"--set {axis.name} varies what is fixed already; {hint}.")
        for value in axis.values or (_text(axis.low, axis), _text(axis.high, axis)):
            Training(sweep.preset, 0, (*sweep.fixed, (axis.name, value))).config()


def text_of(value: float | int | str, axis: Axis) -> str:
    """Return a value as an option that reads back to just this value."""
    return value if isinstance(value, str) else _text(value, axis)


def _text(value: float, axis: Axis) -> str:
    return str(int(value)) if axis.kind == "int" else repr(float(value))


def usual_minutes(preset: str) -> float:
    """Return how long a run of a preset takes, as far as it was measured."""
    try:
        return minutes("fast", preset)
    except KeyError:
        return 1.0
