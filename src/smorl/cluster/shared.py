"""The folder that all nodes share: a path they all see, or any address that fsspec opens.

Nothing here trusts a file because it is there: a file appears whole (it is written under another
name and renamed, or put at once by an object store), and a checkpoint counts only with its
manifest, which is written last and holds the hashes of all the others.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path, PurePosixPath

import fsspec
from fsspec.implementations.local import LocalFileSystem

from smorl.errors import InvalidInput, SmorlError
from smorl.runs.manifest import MANIFEST

CHECKPOINTS = "checkpoints"
OWN = ".smorl"  # what campaigns leave for each other, below the shared folder
_TMP, _LOCK = ".tmp-", ".lock"
_ATTEMPTS = 3  # at reading a folder that its writer is still pruning


class Shared:
    """Files by their path relative to the shared folder, with forward slashes."""

    def __init__(self, address: str | Path) -> None:
        self.address = str(address)
        try:
            self._fs, root = fsspec.url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise InvalidInput(
                f"--shared {self.address} cannot be opened ({error}); give a path that all nodes "
                "see, or install what fsspec needs for such addresses."
            ) from error
        self._root = str(root).rstrip("/")
        self.is_path = isinstance(self._fs, LocalFileSystem)

    def here(self, folder: Path) -> bool:
        """Whether the shared folder is this local folder, so that nothing needs to be copied."""
        return self.is_path and Path(self._root).resolve() == folder.resolve()

    def files(self, path: str) -> dict[str, int]:
        """Return sizes in bytes of everything that is whole below `path`, by path below it."""
        found = self._files(path)
        return {name: size for name, size in found.items() if _whole(name, found)}

    def clear_partial(self, path: str) -> None:
        """Remove the files of checkpoints that never got their manifest: their writer is gone."""
        found = self._files(path)
        for name in found:
            if not _whole(name, found):
                self.remove(f"{path}/{name}")

    def _files(self, path: str) -> dict[str, int]:
        self._fs.invalidate_cache()
        found: dict[str, int] = {}
        for name, info in self._fs.find(self._at(path), detail=True).items():
            below = PurePosixPath(name).relative_to(PurePosixPath(self._at(path)))
            hidden = any(part.startswith(_TMP) or part == _LOCK for part in below.parts)
            if info["type"] == "file" and not info.get("islink") and not hidden:
                found[str(below)] = int(info["size"])
        return found

    def put(self, local: Path, path: str) -> None:
        """Copy one local file there; a reader sees the old one or the new one."""
        target = self._at(path)
        try:
            if not self.is_path:
                self._fs.put_file(str(local), target)
                return
            folder = Path(target).parent
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f"{_TMP}{uuid.uuid4().hex}"
            try:
                with local.open("rb") as source, temporary.open("wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
                    copy.flush()
                    os.fsync(copy.fileno())
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
        except FileNotFoundError:
            raise  # the source was pruned meanwhile, which the caller knows about
        except OSError as error:
            raise SmorlError(
                f"Cannot write {path} to the shared folder {self.address}: {error}. Free some "
                "space or make it writable; the same command goes on."
            ) from error

    def write(self, path: str, text: str) -> None:
        """Write a small text."""
        if self.is_path:
            Path(self._at(path)).parent.mkdir(parents=True, exist_ok=True)
        temporary = f"{self._at(path)}{_TMP}{uuid.uuid4().hex}" if self.is_path else self._at(path)
        self._fs.pipe_file(temporary, text.encode())
        if self.is_path:
            os.replace(temporary, self._at(path))

    def read(self, path: str) -> str | None:
        """Read a small text; None if there is none."""
        self._fs.invalidate_cache()
        try:
            return self._fs.cat_file(self._at(path)).decode()
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        self._fs.invalidate_cache()
        return self._fs.exists(self._at(path))

    def remove(self, path: str) -> None:
        """Remove a file or a folder with everything in it, and folders left empty by that."""
        if self.exists(path):
            self._fs.rm(self._at(path), recursive=True)
        for folder in Path(self._at(path)).parents if self.is_path else ():
            if folder == Path(self._root) or not folder.is_dir() or any(folder.iterdir()):
                return
            with suppress(OSError):  # somebody else was faster
                folder.rmdir()

    def fetch(self, path: str, local: Path, *, records: bool = False) -> dict[str, int]:
        """Copy a file or a folder to `local`, over what is there; return what came, with sizes.

        `records`: only what people look at while a run goes on and what has changed of it, so no
        checkpoints or pictures.
        """
        for attempt in range(_ATTEMPTS):
            try:
                return self._fetch(path, local, records)
            except FileNotFoundError:  # its writer prunes; what replaces it is there by now
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the loop returns or raises")

    def _fetch(self, path: str, local: Path, records: bool) -> dict[str, int]:
        if self._fs.isfile(self._at(path)):
            self._get(self._at(path), local)
            return {"": local.stat().st_size}
        files = self.files(path)
        if records:  # which only grow, or are written once
            files = {n: s for n, s in files.items() if is_record(n) and _size(local / n) != s}
        for name in files:
            self._get(f"{self._at(path)}/{name}", local / name)
        return files

    def _get(self, source: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        temporary = local.with_name(f"{_TMP}{uuid.uuid4().hex}")
        try:
            self._fs.get_file(source, str(temporary))
            temporary.replace(local)
        finally:
            temporary.unlink(missing_ok=True)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def is_record(name: str) -> bool:
    """Whether a file of a run is small and for people: settings, metrics, evaluations, result."""
    folders = PurePosixPath(name).parts[:-1]
    return not {CHECKPOINTS, "pictures", "diverged"}.intersection(folders)


def checkpoint_of(name: str) -> str | None:
    """Return the folder of the checkpoint that a file belongs to, None if to none."""
    parts = PurePosixPath(name).parts
    if CHECKPOINTS not in parts[:-2]:
        return None
    return "/".join(parts[: parts.index(CHECKPOINTS) + 2])


def _whole(name: str, found: dict[str, int]) -> bool:
    checkpoint = checkpoint_of(name)
    return checkpoint is None or f"{checkpoint}/{MANIFEST}" in found


def relative(path: Path) -> str:
    """Return a path below the shared folder as text; raise if it could lie outside."""
    if path.is_absolute() or ".." in path.parts:
        raise InvalidInput(
            f"{path} lies outside of the shared folder; start the command in the shared folder and "
            "give paths relative to it."
        )
    return path.as_posix()
