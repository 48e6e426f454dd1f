"""Keep a folder of the shared place the same as a local one, so that it can be cut at any moment.

Order is everything. Records go before the checkpoint that counts on them, a manifest after the
files it vouches for, the result last, and nothing is removed before its successor has arrived.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from smorl.cluster.shared import CHECKPOINTS, Shared, checkpoint_of
from smorl.runs.folder import CONFIG, RESULT
from smorl.runs.manifest import MANIFEST

_SKIPPED = ("data",)  # the frames of a perception run, which a resume collects again
Stamp = tuple[int, int]  # bytes, and when it was changed


class Mirror:
    """Copies what has changed in `local` to `path` of the shared folder.

    `known` are the files that are there already, fetched from there, so that they are the same.
    """

    def __init__(self, shared: Shared, path: str, local: Path, known: dict[str, int]) -> None:
        self._shared, self._path, self._local = shared, path, local
        self._sent: dict[str, Stamp | None] = dict.fromkeys(known)
        for name in known:
            if (local / name).exists():
                self._sent[name] = _stamp(local / name)
        self._checkpoints = self._newest()

    def due(self) -> bool:
        """Whether there is a checkpoint that has not been copied yet."""
        return self._newest() != self._checkpoints

    def push(self) -> bool:
        """Copy and prune; False if the run pruned faster than we copied, and nothing is lost."""
        newest = self._newest()
        # Checkpoints are listed before the files they need: those are written first.
        found = _files(self._local, checkpoints=True) | _files(self._local, checkpoints=False)
        try:
            for name in sorted(found, key=_rank):
                if self._sent.get(name) != found[name]:
                    self._shared.put(self._local / name, f"{self._path}/{name}")
                    self._sent[name] = found[name]
        except FileNotFoundError:
            return False
        for name in sorted(set(self._sent) - set(found), key=_rank, reverse=True):
            self._shared.remove(f"{self._path}/{name}")
            del self._sent[name]
        self._checkpoints = newest
        return True

    def _newest(self) -> tuple[str, ...]:
        folders = (self._local / CHECKPOINTS, self._local / "perception" / CHECKPOINTS)
        found = [p for folder in folders if folder.is_dir() for p in folder.iterdir()]
        return tuple(sorted(str(p) for p in found if not p.name.startswith(".")))


def _files(folder: Path, *, checkpoints: bool) -> dict[str, Stamp]:
    """Return the files that belong to checkpoints, or the others, with their stamps."""
    found: dict[str, Stamp] = {}
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _private(name) and name not in _SKIPPED]
        for name in names:
            path = Path(root, name)
            below = path.relative_to(folder).as_posix()
            belongs = checkpoint_of(below) is not None
            if belongs != checkpoints or _private(name) or path.is_symlink():
                continue
            try:
                found[below] = _stamp(path)
            except FileNotFoundError:
                continue  # pruned while we looked
    return found


def _private(name: str) -> bool:
    return name == ".lock" or name.startswith(".tmp-")


def _stamp(path: Path) -> Stamp:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _rank(name: str) -> tuple[int, str]:
    """What comes later counts on what comes before."""
    last = PurePosixPath(name).name
    if checkpoint_of(name) is not None:
        return (3 if last == MANIFEST else 2), name
    return {CONFIG: 1, RESULT: 4}.get(last, 0), name
