"""Replayed pictures on disk: every checkpoint adds one file, and no picture is written twice.

A replay of pictures is too large to go into every checkpoint. So a run has a folder of files,
each with the pictures of the episodes since the checkpoint before; a checkpoint lists the files it
needs, with their hashes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from smorl.config import JSON
from smorl.errors import DamagedFile
from smorl.replay.images import Pictures
from smorl.runs.checkpoint import CannotSave
from smorl.runs.manifest import sync_folder, verify, write_array

_TMP = ".tmp-"


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
        self._entries = self._before = list(entries)
        for entry in entries:
            joined = self._read(entry)
            # The beginning of the oldest file may have been overwritten in the ring since.
            skip = max(0, pictures.first - entry["start"])
            pictures.restore(entry["start"] + skip, joined[skip:])

    def prune(self) -> None:
        """Remove what neither the newest checkpoint nor the one before it needs."""
        if not self.folder.is_dir():
            return
        needed = {entry["name"] for entry in (*self._entries, *self._before)}
        for path in self.folder.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything: a finished run needs no pictures."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, entry: dict[str, JSON]) -> np.ndarray:
        try:
            verify(self.folder, entry["name"], entry)
        except DamagedFile as error:
            raise DamagedFile(
                f"The pictures a resume needs are not all there: {error} Restore a copy of "
                f"{self.folder / entry['name']}, or start again in another run folder."
            ) from error
        return np.load(self.folder / entry["name"], allow_pickle=False)

    def _write(self, start: int, joined: np.ndarray) -> dict[str, JSON]:
        name = f"{start:09d}-{len(joined)}.npy"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            entry = write_array(self.folder / f"{_TMP}{name}", joined)
            (self.folder / f"{_TMP}{name}").replace(self.folder / name)
            sync_folder(self.folder)
        except OSError as error:
            raise CannotSave(
                f"Cannot save pictures in {self.folder}: {error.strerror or error}. Earlier "
                "checkpoints are intact; free some space or make the folder writable, and run the "
                "same command again to resume."
            ) from error
        return {"name": name, "start": start, "count": len(joined), **entry}
