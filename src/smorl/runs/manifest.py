"""A folder of files with a manifest: hashed while written, forced onto the disk, verified."""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self, cast

import numpy as np

from smorl.config import JSON
from smorl.errors import DamagedFile, InvalidInput
from smorl.files import open_regular, read_bytes, said, sync_folder
from smorl.formats import LARGEST_JSON, check_kinds, parse_json

FORMAT = 1
MANIFEST = "manifest.json"
TENSORS = "tensors.safetensors"
STATE = "state.json"
_KINDS = {"step": int, "files": {str: {"sha256": str, "size": int}}}
_FILE = re.compile(r"tensors\.safetensors|state\.json|arrays/[A-Za-z0-9_.+-]+\.npy")


class _HashingFile:
    """A file that is hashed while it is written, so that big arrays are read only once."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._file: IO[bytes] = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def finish(self) -> dict[str, JSON]:
        """Force the bytes onto the disk and return the manifest entry."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"sha256": self._digest.hexdigest(), "size": self.size}


def write_files(
    folder: Path, step: int, tensors: bytes, arrays: Mapping[str, np.ndarray], state: str
) -> None:
    """Write every file and last the manifest, each forced onto the disk."""
    entries: dict[str, JSON] = {}
    for name, data in ((TENSORS, tensors), (STATE, state.encode())):
        with _HashingFile(folder / name) as file:
            file.write(data)
            entries[name] = file.finish()
    for name, array in arrays.items():
        entries[name] = write_array(folder / name, array)
    content = {"format": FORMAT, "step": step, "files": entries}
    with _HashingFile(folder / MANIFEST) as file:
        file.write(_manifest_text(content).encode())
        file.finish()
    sync_folder(folder / "arrays")
    sync_folder(folder)


def write_array(path: Path, array: np.ndarray) -> dict[str, JSON]:
    """Write one array as .npy, forced onto the disk; return its manifest entry."""
    with _HashingFile(path) as file:
        np.lib.format.write_array(cast(IO[bytes], file), array, allow_pickle=False)
        return file.finish()


def _manifest_text(content: JSON) -> str:
    """Return the one text a manifest with this content may have; it ends with its own hash."""
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps({**content, "sha256": digest}, indent=1, sort_keys=True) + "\n"


def read_manifest(path: Path) -> dict[str, JSON]:
    """Read a manifest; any change to its text is an error, so its hashes can be trusted."""
    try:
        text = read_bytes(path / MANIFEST, LARGEST_JSON)
        content = parse_json(text)
        check_kinds(content, {"format": int, "sha256": str, **_KINDS}, MANIFEST)
        del content["sha256"]
        if content["format"] != FORMAT:
            raise damaged(path, f"has format {content['format']!r}, this smorl reads {FORMAT}")
        if _manifest_text(content).encode() != text:
            raise damaged(path, f"is not as written: {MANIFEST} does not match its own hash")
    except (ValueError, TypeError) as error:
        raise damaged(
            path, f"is not as written: {MANIFEST} is not valid ({said(error)})"
        ) from error
    names = set(content["files"])
    if not all(map(_FILE.fullmatch, names)) or not {TENSORS, STATE} <= names:
        raise damaged(path, f"was not made by smorl: {MANIFEST} lists {sorted(names)}")
    return content


def verify(path: Path, name: str, entry: Mapping[str, JSON]) -> None:
    """Raise `DamagedFile` unless a file has the size and the hash of its manifest entry."""
    try:
        with open_regular(path / name) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry["size"]:
                raise damaged(path, f"is not whole: {name} has {size} bytes, not {entry['size']}")
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise damaged(path, f"is not whole: {name}: {error.strerror}") from error
    if digest != entry["sha256"]:
        raise damaged(path, f"is damaged: the content of {name} does not match its hash")


def damaged(path: Path, reason: str) -> DamagedFile:
    return DamagedFile(f"Checkpoint {path} {reason}.")


def dump_json(value: JSON, name: str, indent: int | None = None) -> str:
    """Return JSON text that loads back to the same value, or raise naming the culprit's path."""
    _check(value, name)
    return json.dumps(value, allow_nan=False, indent=indent)


def _check(value: JSON, path: str) -> None:
    """Refuse what JSON would lose or change: NaN, keys that are not text, foreign types."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}, which JSON cannot hold; store None instead.")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{path} has the key {key!r}; JSON keys must be text.")
            _check(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{path}[{index}]")
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise InvalidInput(
            f"{path} is a {type(value).__name__}, which JSON cannot hold; "
            "convert it to a number or text, or store it as an array."
        )
