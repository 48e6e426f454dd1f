"""Sequences on disk: a folder of .npy files with a `meta.json`, atomic and verified by hash.

    images.npy  actions.npy  meta.json, and if the truth is known privileged/hand.npy, objects.npy

The folder is written under a temporary name and renamed, so that it is there as a whole or not at
all. Arrays are opened by memory mapping and never unpickled.
"""

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from smorl.errors import DamagedFile, InvalidInput, RunConflict
from smorl.files import TEMPORARY, cannot_write, open_regular, write_text
from smorl.formats import check_kinds, read_array, read_json
from smorl.representations.video import Privileged, Progress, Sequences, collect, describe

FORMAT = 1
META = "meta.json"
_FILES = {"images.npy": (np.uint8, 5), "actions.npy": (np.float32, 3)}
_PRIVILEGED = {
    "privileged/hand.npy": (np.float32, 3),
    "privileged/objects.npy": (np.float32, 4),
}
_META_KINDS = {
    "env": str,
    "seed": int,
    "episodes": int,
    "steps": int,
    "image_size": int,
    "files": {str: {"sha256": str, "size": int}},
}


def save_sequences(folder: Path, sequences: Sequences) -> Path:
    """Write sequences to `folder` atomically; replaces only a folder of the same sequences."""
    folder = Path(folder)
    if folder.exists() and not _holds(folder, describe(sequences)):
        raise _conflict(folder, describe(sequences))
    arrays = {"images.npy": sequences.images, "actions.npy": sequences.actions}
    if sequences.privileged is not None:
        arrays["privileged/hand.npy"] = sequences.privileged.hand
        arrays["privileged/objects.npy"] = sequences.privileged.objects
    temporary = _temporary_folder(folder)
    try:
        (temporary / "privileged").mkdir()
        files = {name: _write(temporary / name, array) for name, array in arrays.items()}
        meta = {"format": FORMAT, **describe(sequences), "files": files}
        write_text(temporary / META, json.dumps(meta, indent=1, sort_keys=True) + "\n")
        temporary.chmod(0o755)  # temporary folders are private, others are not
        _put_in_place(temporary, folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def check_place(folder: Path) -> None:
    """Raise now if sequences could not be written to `folder` after they were collected."""
    shutil.rmtree(_temporary_folder(folder), ignore_errors=True)


def _temporary_folder(folder: Path) -> Path:
    try:
        with suppress(FileNotFoundError):
            folder.lstat()  # raises for a name that cannot be
        return Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=folder.parent))
    except (OSError, ValueError) as error:
        raise cannot_write(folder, error) from error


def load_sequences(folder: Path, privileged: bool = False, verify: bool = True) -> Sequences:
    """Open sequences by memory mapping; `verify` compares every file with its recorded hash.

    The simulator's positions are opened only on request.
    """
    folder = Path(folder)
    meta = _identity(folder)
    arrays = {}
    wanted = {**_FILES, **_PRIVILEGED} if privileged else _FILES
    if privileged and not meta["files"].keys() >= wanted.keys():
        raise InvalidInput(
            f"the sequences in {folder} do not say where things really were; collect them in an "
            "environment that tells the truth."
        )
    for name, (dtype, dimensions) in wanted.items():
        if verify:
            _verify(folder, name, meta["files"][name])
        arrays[name] = array = read_array(folder / name, mapped=True)
        expected = (meta["episodes"], meta["steps"] + 1)
        if array.dtype != dtype or array.ndim != dimensions or array.shape[:2] != expected:
            raise _damaged(
                folder, f"{name} is {array.dtype} {array.shape} and does not match {META}"
            )
    known = None
    if privileged:
        known = Privileged(arrays["privileged/hand.npy"], arrays["privileged/objects.npy"])
    return Sequences(meta["env"], meta["seed"], arrays["images.npy"], arrays["actions.npy"], known)


def obtain_sequences(
    folder: Path,
    env_id: str,
    episodes: int,
    steps: int,
    seed: int,
    threads: int = 2,
    progress: Progress | None = None,
    image_size: int | None = None,
) -> Sequences:
    """Load the sequences of `folder`, or collect and save them there if there are none yet."""
    folder = Path(folder)
    if not os.path.exists(folder):  # unlike a Path, False for a name that cannot be
        check_place(folder)
        sequences = collect(
            env_id, episodes, steps, seed, threads=threads, progress=progress, image_size=image_size
        )
        save_sequences(folder, sequences)
        return load_sequences(folder, verify=False)
    asked = {"env": env_id, "seed": seed, "episodes": episodes, "steps": steps}
    if not _holds(folder, asked):
        raise _conflict(folder, asked)
    return load_sequences(folder)


def _write(path: Path, array: np.ndarray) -> dict[str, Any]:
    """Write one array, force it onto the disk, and return its size and hash."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return {"sha256": _digest(path), "size": path.stat().st_size}


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put_in_place(temporary: Path, folder: Path) -> None:
    if not folder.exists():
        temporary.rename(folder)
        return
    aside = temporary.with_name(f"{temporary.name}-replaced")
    folder.rename(aside)
    temporary.rename(folder)
    shutil.rmtree(aside)


def _identity(folder: Path) -> dict[str, Any]:
    """Read `meta.json`, or raise `DamagedFile` saying what is wrong with it."""
    meta = read_json(folder / META)
    if meta.get("format") != FORMAT:
        raise _damaged(folder, f"{META} does not say format {FORMAT}")
    try:
        check_kinds(meta, _META_KINDS, META)
    except TypeError as error:
        raise _damaged(folder, f"{META} lacks entries ({error})") from error
    if not _complete(meta["files"]):
        raise _damaged(folder, f"{META} lacks entries")
    return meta


def _complete(files: dict[str, Any]) -> bool:
    return set(files) in (set(_FILES), {*_FILES, *_PRIVILEGED})


def _holds(folder: Path, asked: dict[str, Any]) -> bool:
    """Say whether `folder` holds just these sequences; what is not ours is never damaged."""
    if not (folder / META).exists():
        return False
    meta = _identity(folder)
    return all(meta[name] == value for name, value in asked.items())


def _verify(folder: Path, name: str, entry: dict[str, Any]) -> None:
    try:
        size = (folder / name).lstat().st_size
        if size != entry["size"]:
            raise _damaged(folder, f"{name} has {size} bytes, not {entry['size']}")
        digest = _digest(folder / name)
    except OSError as error:
        raise _damaged(folder, f"{name}: {error.strerror}") from error
    if digest != entry["sha256"]:
        raise _damaged(folder, f"the content of {name} does not match its hash")


def _damaged(folder: Path, reason: str) -> DamagedFile:
    return DamagedFile(
        f"The sequences in {folder} cannot be used: {reason}; delete the folder and collect again."
    )


def _conflict(folder: Path, asked: dict[str, Any]) -> RunConflict:
    words = ", ".join(f"{name} {value}" for name, value in asked.items())
    return RunConflict(
        f"{folder} exists and does not hold the sequences asked for ({words}); "
        "choose another folder."
    )
