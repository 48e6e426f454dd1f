"""A run folder describes itself: config, versions, metrics, evaluations, checkpoints, result.

`config.json` is written last when a run is created, so a folder that has one is a whole run.
"""

import fcntl
import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from smorl.config import JSON, diff
from smorl.errors import InvalidInput, RunConflict, SmorlError, did_you_mean
from smorl.files import TEMPORARY, cannot_write, refuse_links, write_text
from smorl.formats import read_json
from smorl.runs.manifest import dump_json
from smorl.runs.versions import changed_versions, current_versions

CONFIG, VERSIONS, RESULT, LOCK = "config.json", "versions.json", "result.json", ".lock"
ROWS = ("metrics.jsonl", "evaluations.csv", "timing.jsonl")
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
    _made: list[Path] = field(default_factory=list)  # folders that this run had to make
    _place: tuple[int, int] | None = None  # device and inode of the folder

    @classmethod
    def open(cls, path: Path | str, config: dict[str, JSON], command: str) -> Self:
        """Create the run, or reopen it when it was started with the same config.

        Raises `RunConflict` when the folder belongs to something else, to other settings, or to
        a process that is still running; nothing is changed then. As a context manager, a run that
        ends in an error before it has anything to show for it leaves nothing behind.
        """
        path = Path(path)
        text = dump_json(config, "config", indent=2) + "\n"
        _refuse_foreign(path)
        made = [p for p in (path, *path.parents) if not p.exists()]
        try:
            run = cls(path, json.loads(text), {}, _lock=_acquire(path), _made=made)
        except BaseException:
            _remove_folders(made)
            raise
        try:
            run._begin(text, current_versions(command))
        except BaseException as error:
            run._withdraw()
            run.close()
            if isinstance(error, OSError):
                raise cannot_write(path, error) from error
            raise
        return run

    def _begin(self, text: str, now: dict[str, JSON]) -> None:
        """Compare the settings with those of the run that is there, or write down a new one."""
        for leftover in self.path.glob(f"{TEMPORARY}*"):
            leftover.unlink(missing_ok=True)
        self._place = _place_of(self.path)
        if (self.path / CONFIG).exists():
            self.resumed, old = True, type(self).load(self.path)
            _refuse_other_config(self.path, old.config, self.config)
            self.versions = old.versions
            self.version_changes = changed_versions(old.versions, now)
        else:
            self.checkpoints.mkdir(exist_ok=True)
            self.versions = now
            write_text(self.path / VERSIONS, dump_json(now, "versions", indent=2) + "\n")
            write_text(self.path / CONFIG, text)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open an existing run for reading, also while it is still training."""
        path = Path(path)
        if not _is_run(path):
            runs = [p.name for p in _siblings(path) if _is_run(p)]
            raise InvalidInput(
                f"{path} is not a run: it has no {CONFIG}.{did_you_mean(path.name, runs)} "
                "`smorl train` makes one."
            )
        refuse_links(path)
        return cls(path, read_json(path / CONFIG), read_json(path / VERSIONS))

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
        return read_json(self.path / RESULT) if (self.path / RESULT).exists() else None

    def write_result(self, result: dict[str, JSON]) -> None:
        """Write `result.json`, which marks the run as finished."""
        if self._lock is None:
            raise SmorlError(f"Run {self.path} was opened for reading; reopen it with RunDir.open.")
        self.require_in_place()
        text = dump_json(result, "result", indent=2)
        # One line per list: a hundred numbers below each other are hard to read and to compare.
        text = _FLAT_LIST.sub(lambda found: " ".join(found[0].split()), text)
        write_text(self.path / RESULT, text + "\n")

    def require_in_place(self) -> None:
        """Raise if the folder was removed or renamed meanwhile: what is saved would be lost."""
        if self._place is not None and self._place != _place_of(self.path):
            raise RunConflict(
                f"{self.path} was removed or renamed while the run was going on, so that nothing "
                "more can be saved there. If it was renamed, the same command with --out and its "
                "new name resumes from the last checkpoint."
            )

    def _withdraw(self) -> None:
        """Undo `open` if nothing has come of the run yet."""
        names = {LOCK, CONFIG, VERSIONS, *ROWS}
        with suppress(OSError):
            found = {p.name for p in self.path.iterdir() if not p.name.startswith(TEMPORARY)}
            begun = found - names - {"checkpoints"} or any(self.checkpoints.glob("[0-9]*"))
            if self.resumed or begun or (self.metrics.exists() and self.metrics.stat().st_size):
                return
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            for name in names:
                (self.path / name).unlink(missing_ok=True)
            _remove_folders(self._made)

    def close(self) -> None:
        """Let other processes use the run. The kernel does the same when the process dies."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._withdraw()
        self.close()


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return what identifies a folder whatever its name, None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_run(path: Path) -> bool:
    try:
        return (path / CONFIG).is_file()
    except (OSError, ValueError):  # a name that cannot be
        return False


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except (OSError, ValueError):
        return []


def _remove_folders(made: list[Path]) -> None:
    for folder in made:  # the innermost first
        with suppress(OSError, ValueError):  # somebody else may use it by now
            folder.rmdir()


def _refuse_foreign(path: Path) -> None:
    """Refuse a path that holds something else than a run, before anything is written to it."""
    try:
        if path.exists() and not path.is_dir():
            raise RunConflict(f"{path} is a file, not a run folder; choose another --out.")
        names = {p.name for p in path.iterdir()} if path.is_dir() else set()
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    if path.is_dir():
        refuse_links(path)
    # A kill while a run was being created leaves a lock, which no other program makes.
    begun = {LOCK, VERSIONS, "checkpoints"}
    unknown = {name for name in names if name not in begun and not name.startswith(TEMPORARY)}
    if names and CONFIG not in names and (unknown or LOCK not in names):
        raise RunConflict(
            f"{path} is not empty and not a run (it has no {CONFIG}); nothing was written. "
            "Choose another --out, or empty it."
        )


def _acquire(path: Path) -> int:
    """Make the folder and lock it; the lock lives as long as the returned file descriptor."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
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
        raise cannot_write(path, error) from error
    return lock


def _refuse_other_config(path: Path, old: dict[str, JSON], new: dict[str, JSON]) -> None:
    differences = diff(old, new)
    if differences:
        raise RunConflict(
            f"Run {path} was started with other settings ({'; '.join(differences)}). "
            "Use another --out for these, or the same settings to resume it."
        )
