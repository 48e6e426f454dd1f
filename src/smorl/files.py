"""The one way to write a file, and the one way to open one.

A file appears under its name when it is whole and on the disk, or not at all: it is written under
a temporary name in the same folder, forced onto the disk and renamed. What is read must be a
regular file, no link, of a size that memory can hold. Whatever is wrong is said in one sentence:
`CannotWrite` or `DamagedFile`. What files hold is for `smorl.formats`.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import cast

from smorl.errors import CannotWrite, DamagedFile

TEMPORARY = ".tmp-"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_REMEDIES = {
    errno.EFBIG: "files of this size are not allowed here (see `ulimit -f`)",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "make its folder first, or choose another place",
    errno.ENOTDIR: "something on the way there is no folder; choose another place",
    errno.EEXIST: "choose another name",
    errno.EISDIR: "it is a folder; choose another name",
    errno.ELOOP: "links are not followed; put the file itself there",
}


@contextmanager
def appearing(path: str | os.PathLike[str], keep: bool = True) -> Iterator[Path]:
    """Yield a temporary name beside `path`; what is there at the end appears under `path`.

    A kill or an error at any moment leaves what was there before. A link at `path` is replaced,
    never followed. Without `keep` nothing appears: that only asks whether `path` can be written.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if target.exists() and not target.is_file():  # a device or a pipe is not to be replaced
            raise OSError(errno.EEXIST, "it is no regular file")
        if len(os.fsencode(target.name)) > 255:
            raise OSError(errno.ENAMETOOLONG, "File name too long")
        if "\0" in target.name:
            raise ValueError("a null character in a name")
        handle, name = tempfile.mkstemp(target.suffix, TEMPORARY, target.parent)
        os.close(handle)
    except (OSError, ValueError) as error:
        raise cannot_write(target, error) from error
    partial = Path(name)
    try:
        yield partial
        if keep:
            partial.chmod(0o644)  # temporary files are private, others are not
            _sync(partial)
            partial.replace(target)
            _sync(target.parent)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        with suppress(OSError):  # what cannot be written may not be removable either
            partial.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file whole or not at all; its folder must exist."""
    with appearing(path) as partial:
        partial.write_bytes(data)
    return Path(path)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """The same for text, as UTF-8 with its line ends as they are."""
    return write_bytes(path, text.encode())


def copy_file(source: Path, target: Path) -> Path:
    """Copy a regular file, whole or not at all."""
    return write_bytes(target, read_bytes(source))


def make_folder(path: Path) -> Path:
    """Make a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    return path


def cannot_write(path: Path, error: OSError | ValueError, after: str = "") -> CannotWrite:
    """Return the error for a file that cannot be written; `after` ends the sentence of remedy."""
    if isinstance(error, ValueError):  # a name with a null character
        return CannotWrite(f"Cannot write {str(path)!r}: {error}; choose another name.")
    remedy = "make it writable, or choose another place"
    remedy = "free some space" if error.errno in _FULL else _REMEDIES.get(error.errno or 0, remedy)
    return CannotWrite(f"Cannot write {path}: {error.strerror or error}; {remedy}{after}.")


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read; links, pipes and devices raise OSError instead of being followed."""
    # Without O_NONBLOCK opening a pipe would wait for somebody to write into it.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    return cast(BufferedReader, os.fdopen(handle, "rb"))


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """Return the content of a regular file of at most `largest` bytes (None: half of memory)."""
    largest = half_of_memory() if largest is None else largest
    try:
        with open_regular(Path(path)) as file:
            size = os.fstat(file.fileno()).st_size
            if size > largest:
                raise damaged(path, f"has {size} bytes, more than the {largest} it may have")
            return file.read()
    except (OSError, ValueError) as error:
        raise damaged(path, f"cannot be read ({said(error)})") from error


def refuse_links(folder: Path) -> None:
    """Raise `DamagedFile` for anything below `folder` that is neither a file nor a folder.

    A link in a folder that came from somewhere else could lead reading, writing and deleting
    anywhere. The folder itself may be a link: that one is the user's own.
    """

    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # a run that is going on removes its own
            raise damaged(Path(str(error.filename)), f"cannot be read ({said(error)})") from error

    for parent, folders, files in os.walk(folder, onerror=unreadable):
        for name in (*folders, *files):
            path = Path(parent) / name
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "no regular file"
                raise DamagedFile(
                    f"{path} is {kind}; nothing in a run folder is followed out of it. Put the "
                    "file or folder itself there, or remove it."
                )


def damaged(path: Path, reason: str) -> DamagedFile:
    """Return the error for a file that cannot be used."""
    return DamagedFile(f"{path} {reason}; restore it from a copy, or make it again.")


def sync_folder(folder: Path) -> None:
    """Force the names in a folder onto the disk."""
    _sync(folder)


def half_of_memory() -> int:
    """Return half of this machine's memory, in bytes: no single file needs more."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def said(error: BaseException) -> str:
    """Return what an exception says, short enough for a sentence."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join((text or type(error).__name__).split())[:200]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
