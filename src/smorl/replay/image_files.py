"""Replayed pictures on disk: every checkpoint adds one file, and no picture is written twice.

A replay of pictures is too large to go into every checkpoint. So a run has a folder of files,
each with the pictures of the episodes since the checkpoint before; a checkpoint lists the files it
needs, with their hashes.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

from smorl.config import JSON
from smorl.errors import DamagedFile
from smorl.files import TEMPORARY, cannot_write, sync_folder
from smorl.formats import check_kinds, read_array
from smorl.replay.images import Pictures
from smorl.runs.manifest import verify, write_array

_NAME = re.compile(r"\d{9,}-\d+\.npy")
_KINDS = [{"name": str, "start": int, "count": int, "sha256": str, "size": int}]


class PictureFiles:
    """The files of one run. `save` goes before a checkpoint, `prune` after it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: list[dict[str, JSON]] = []  # what the newest checkpoint lists, oldest first
        self._before: list[dict[str, JSON]] = []  # and the one before it, which is kept as well

    def save(self, pictures: Pictures | None) -> list[dict[str, JSON]] | None:
        """Write what no file holds yet; return what the checkpoint must list."""
        self._before = self._entries
        if pictures is None:
            self._entries = []
            return None
        entries = [e for e in self._entries if e["start"] + e["count"] > pictures.first]
        done = entries[-1]["start"] + entries[-1]["count"] if entries else pictures.first
        if done < pictures.added:
            entries.append(self._write(done, pictures.joined(done, pictures.added)))
        self._entries = entries
        return entries

    def load(self, pictures: Pictures, entries: list[dict[str, JSON]]) -> None:
        """Verify and read the files a checkpoint lists."""
        check_kinds(entries, _KINDS, "pictures")
        self._entries = self._before = list(entries)
        for entry in entries:
            joined = self._read(entry)
            # The beginning of the oldest file may have been overwritten in the ring since.
            skip = max(0, pictures.first - entry["start"])
            pictures.restore(entry["start"] + skip, joined[skip:])

    def prune(self) -> None:
        """Remove what neither the newest checkpoint nor the one before it needs."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            return  # what lies behind a link is not ours to remove
        needed = {entry["name"] for entry in (*self._entries, *self._before)}
        for path in self.folder.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything: a finished run needs no pictures."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, entry: dict[str, JSON]) -> np.ndarray:
        if not _NAME.fullmatch(entry["name"]):
            raise ValueError(f"pictures are never called {entry['name']!r}")
        try:
            verify(self.folder, entry["name"], entry)
        except DamagedFile as error:
            raise DamagedFile(
                f"The pictures a resume needs are not all there: {error} Restore a copy of "
                f"{self.folder / entry['name']}, or start again in another run folder."
            ) from error
        return read_array(self.folder / entry["name"])

    def _write(self, start: int, joined: np.ndarray) -> dict[str, JSON]:
        name = f"{start:09d}-{len(joined)}.npy"
        try:
            self.folder.mkdir(exist_ok=True)
            entry = write_array(self.folder / f"{TEMPORARY}{name}", joined)
            (self.folder / f"{TEMPORARY}{name}").replace(self.folder / name)
            sync_folder(self.folder)
        except OSError as error:
            after = ". Earlier checkpoints are intact; run the same command again to resume"
            raise cannot_write(self.folder, error, after) from error
        return {"name": name, "start": start, "count": len(joined), **entry}
