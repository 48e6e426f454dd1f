"""Commands that make results: what each writes, what it needs, and whether it has been done."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from smorl.config import diff, from_json, override, to_json
from smorl.errors import DamagedFile, InvalidInput, RunConflict
from smorl.formats import read_json

if TYPE_CHECKING:
    from smorl.representations.pretraining import PerceptionConfig
    from smorl.training.settings import RunConfig

CONFIG, RESULT = "config.json", "result.json"
# Folders of runs whose names alone say too little.
_NAMED_WITH = ("ablation", "long", "mig")
# kept: the run itself is not here, but its results are on record.
State = Literal["finished", "kept", "begun", "new"]


@dataclass(frozen=True)
class Training:
    """A preset with overrides, as `smorl train` or `smorl perception train` takes them."""

    preset: str
    seed: int
    overrides: tuple[tuple[str, str], ...] = ()
    perception: bool = False

    def words(self) -> tuple[str, ...]:
        """Return the command without its run folder."""
        verb = ("perception", "train") if self.perception else ("train",)
        options = [word for name, value in self.overrides for word in (f"--{name}", value)]
        return ("smorl", *verb, self.preset, "--seed", str(self.seed), *options)

    def settings(self) -> RunConfig | PerceptionConfig:
        """Return the settings the run will have."""
        # Imported here so that listing figures needs neither torch nor the simulator.
        from smorl.presets import get_preset
        from smorl.presets.perception import get_perception_preset

        preset = get_perception_preset if self.perception else get_preset
        given = {"seed": str(self.seed), **dict(self.overrides)}
        return override(preset(self.preset).build(), given)

    def config(self) -> dict[str, Any]:
        """Return the settings as the run's `config.json` holds them."""
        return json.loads(json.dumps(to_json(self.settings())))


@dataclass(frozen=True)
class Job:
    """One command. It is finished when `writes`, a run folder or a file, is there and whole.

    `needs` are what other jobs write. `keep` are the folders that its small files are copied to.
    A `printed` file holds what the command prints. A job that is not `wanted` is done only if
    another one needs it. A file must mention every word of `about`: what was made from other runs
    does not count.
    """

    command: tuple[str, ...]
    writes: Path
    needs: tuple[Path, ...] = ()
    minutes: float = 1.0
    training: Training | None = None
    keep: tuple[Path, ...] = ()
    printed: bool = False
    wanted: bool = True
    about: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What people are told, e.g. gt-rearrange-2-seed0 or clusters.json."""
        folder = self.writes.parent.name
        return f"{folder}/{self.writes.name}" if folder in _NAMED_WITH else self.writes.name

    def line(self) -> str:
        """Return the command as one types it into a shell."""
        text = shlex.join(self.command)
        if self.printed:
            text += f" > {shlex.quote(str(self.writes))}"
        folder = self.writes.parent
        if self.training is None and not folder.is_dir():
            return f"mkdir -p {shlex.quote(str(folder))} && {text}"
        return text


def train(training: Training, folder: Path, **fields: Any) -> Job:
    """Return the job that runs a training in `folder`."""
    return Job((*training.words(), "--out", str(folder)), folder, training=training, **fields)


def with_tensorboard(job: Job) -> Job:
    """Return the job with TensorBoard's files beside its metrics, if it trains an agent."""
    if job.training is None or job.training.perception:
        return job
    return replace(job, command=(*job.command, "--tensorboard"))


def state_of(job: Job) -> State:
    """Look at the disk. Raises `RunConflict` if a folder of the job holds another run."""
    if job.training is None:
        return "finished" if _whole(job) else "new"
    places = [folder / job.writes.name for folder in job.keep]
    on_record = [_compare(place, job.training, "--results") for place in places]
    found = _compare(job.writes, job.training, "--out")
    if found == "new" and job.keep and all(state == "finished" for state in on_record):
        return "kept"
    return found


def pending(jobs: Sequence[Job], states: Sequence[State]) -> list[Job]:
    """Return what there is to do: what is wanted and not done, and what that needs.

    Of a kept run only the numbers are there, so who needs the run itself has it trained again.
    """
    needed: set[Path] = set()
    found = []
    for job, state in reversed(list(zip(jobs, states, strict=True))):
        asked = job.writes in needed or (job.wanted and state != "kept")
        if state != "finished" and asked:
            needed |= set(job.needs)
            found.append(job)
    return found[::-1]


def conflicts(jobs: Iterable[Job]) -> tuple[list[State], list[str]]:
    """Return the state of every job, and a sentence for each that holds something else."""
    states: list[State] = []
    sentences = []
    for job in jobs:
        try:
            states.append(state_of(job))
        except (RunConflict, DamagedFile) as error:
            states.append("new")
            sentences.append(str(error))
    return states, sentences


def _compare(folder: Path, training: Training, option: str) -> State:
    """Compare a folder with the settings asked for; `option` chose where it lies."""
    if not (folder / CONFIG).exists():
        return "new"
    text = _json(folder / CONFIG)
    if text is None:
        raise DamagedFile(f"{folder / CONFIG} cannot be read; restore or remove {folder}.")
    found, finished = json.loads(text), _json(folder / RESULT) is not None
    # A run is resumed with exactly its settings only. One that is finished may be older than some
    # options, which then were what they are by default.
    different = diff(_completed(found, training) if finished else found, training.config())
    if different:
        raise RunConflict(
            f"{folder} was made with other settings ({'; '.join(different)}); move it away or use "
            f"another {option}."
        )
    return "finished" if finished else "begun"


def _completed(found: dict[str, Any], training: Training) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(to_json(from_json(type(training.settings()), found))))
    except InvalidInput:  # it has settings that are no more
        return found


def _whole(job: Job) -> bool:
    path = job.writes
    if path.suffix != ".json":
        return path.is_file() and path.stat().st_size > 0
    text = _json(path)
    return text is not None and all(word in text for word in job.about)


def _json(path: Path) -> str | None:
    """Return the text of a file that holds a JSON object, else None."""
    try:
        return json.dumps(read_json(path))
    except DamagedFile:
        return None
