"""A run folder describes itself: config, versions, metrics, evaluations, checkpoints, result.

`config.json` is written last when a run is created, so a folder that has one is a whole run.
"""

import fcntl
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from smorl.config import JSON, diff
from smorl.errors import DamagedFile, InvalidInput, RunConflict, SmorlError, did_you_mean
from smorl.runs.manifest import dump_json, sync_folder
from smorl.runs.versions import changed_versions, current_versions

CONFIG, VERSIONS, RESULT, LOCK = "config.json", "versions.json", "result.json", ".lock"
_TMP = ".tmp-"
_FLAT_LIST = re.compile(r"\[\n[^\[\]{}\"]*\]")  # of numbers; strings hold no line breaks


@dataclass
class RunDir:
    """One run on disk. `open` is for the process that trains, `load` for those that only read.

    `resumed` says whether the run existed before; `version_changes` lists libraries that are
    not those the run was started with, in which case a resume is no longer exact.
    """

    path: Path
    config: dict[str, JSON]
    versions: dict[str, JSON]
    resumed: bool = False
    version_changes: list[str] = field(default_factory=list)
    _lock: int | None = None

    @classmethod
    def open(cls, path: Path | str, config: dict[str, JSON], command: str) -> Self:
        """Create the run, or reopen it when it was started with the same config.

        Raises `RunConflict` when the folder belongs to something else, to other settings, or to
        a process that is still running; nothing is changed then.
        """
        path = Path(path)
        text = dump_json(config, "config", indent=2) + "\n"
        _refuse_foreign(path)
        lock = _acquire(path)
        try:
            for leftover in path.glob(f"{_TMP}*"):
                leftover.unlink(missing_ok=True)
            now = current_versions(command)
            if (path / CONFIG).exists():
                run = cls.load(path)
                run.resumed, run.version_changes = True, changed_versions(run.versions, now)
                _refuse_other_config(path, run.config, json.loads(text))
            else:
                (path / "checkpoints").mkdir(exist_ok=True)
                atomic_write_text(path / VERSIONS, dump_json(now, "versions", indent=2) + "\n")
                atomic_write_text(path / CONFIG, text)
                run = cls(path, json.loads(text), now)
        except BaseException as error:
            os.close(lock)
            if isinstance(error, OSError):
                raise _unwritable(path, error) from error
            raise
        run._lock = lock
        return run

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open an existing run for reading, also while it is still training."""
        path = Path(path)
        if not (path / CONFIG).is_file():
            siblings = path.parent.iterdir() if path.parent.is_dir() else ()
            runs = [p.name for p in siblings if (p / CONFIG).is_file()]
            raise InvalidInput(
                f"{path} is not a run: it has no {CONFIG}.{did_you_mean(path.name, runs)} "
                "`smorl train` makes one."
            )
        return cls(path, _read_json(path / CONFIG), _read_json(path / VERSIONS))

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def evaluations(self) -> Path:
        return self.path / "evaluations.csv"

    @property
    def timing(self) -> Path:
        """Wall-clock rows, apart from the metrics because no two runs share them."""
        return self.path / "timing.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def result(self) -> dict[str, JSON] | None:
        """What `write_result` wrote at the end of the run, or None before that."""
        return _read_json(self.path / RESULT) if (self.path / RESULT).exists() else None

    def write_result(self, result: dict[str, JSON]) -> None:
        """Write `result.json`, which marks the run as finished."""
        if self._lock is None:
            raise SmorlError(f"Run {self.path} was opened for reading; reopen it with RunDir.open.")
        text = dump_json(result, "result", indent=2)
        # One line per list: a hundred numbers below each other are hard to read and to compare.
        text = _FLAT_LIST.sub(lambda found: " ".join(found[0].split()), text)
        atomic_write_text(self.path / RESULT, text + "\n")

    def close(self) -> None:
        """Let other processes use the run. The kernel does the same when the process dies."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def atomic_write_text(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill at any moment, sees the old text or the new."""
    temporary = path.with_name(f"{_TMP}{path.name}-{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _refuse_foreign(path: Path) -> None:
    """Refuse a path that holds something else than a run, before anything is written to it."""
    try:
        if path.exists() and not path.is_dir():
            raise RunConflict(f"{path} is a file, not a run folder; choose another --out.")
        names = {p.name for p in path.iterdir()} if path.is_dir() else set()
    except OSError as error:
        raise _unwritable(path, error) from error
    # A kill while a run was being created leaves a lock, which no other program makes.
    begun = {LOCK, VERSIONS, "checkpoints"}
    unknown = {name for name in names if name not in begun and not name.startswith(_TMP)}
    if names and CONFIG not in names and (unknown or LOCK not in names):
        raise RunConflict(
            f"{path} is not empty and not a run (it has no {CONFIG}); nothing was written. "
            "Choose another --out, or empty it."
        )


def _acquire(path: Path) -> int:
    """Make the folder and lock it; the lock lives as long as the returned file descriptor."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
    except BlockingIOError as error:
        owner = os.read(lock, 20).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise RunConflict(
            f"Run {path} is in use by another process (pid {owner}); wait for it to end, "
            "or choose another --out."
        ) from error
    except OSError as error:
        os.close(lock)
        raise _unwritable(path, error) from error
    return lock


def _refuse_other_config(path: Path, old: dict[str, JSON], new: dict[str, JSON]) -> None:
    differences = diff(old, new)
    if differences:
        raise RunConflict(
            f"Run {path} was started with other settings ({'; '.join(differences)}). "
            "Use another --out for these, or the same settings to resume it."
        )


def _unwritable(path: Path, error: OSError) -> SmorlError:
    return SmorlError(
        f"Cannot write {path}: {error.strerror or error}. Make it writable, free some space, "
        "or choose another --out."
    )


def _read_json(path: Path) -> dict[str, JSON]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedFile(
            f"{path} cannot be read ({error}); restore it from a copy, or start a new run."
        ) from error
    if not isinstance(data, dict):
        raise DamagedFile(f"{path} holds no object; restore it from a copy, or start a new run.")
    return data
