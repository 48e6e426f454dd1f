"""One safetensors file of arrays with a JSON header and a hash over everything. No pickle.

Reading verifies; whatever is wrong with a file is said in one `DamagedFile` sentence.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from smorl.errors import DamagedFile, InvalidInput

_KEY = "smorl"


def write_tensors(
    path: Path, kind: str, version: int, arrays: Mapping[str, np.ndarray], header: dict[str, Any]
) -> Path:
    """Write under a temporary name, force it onto the disk, rename; a crash leaves the old file."""
    path = Path(path)
    # `np.ascontiguousarray` would turn a single number into a row.
    stored = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = json.dumps(header, allow_nan=False, sort_keys=True)
    text = {"kind": kind, "format": version, "header": content, "sha256": _hash(stored, content)}
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(save(stored, {_KEY: json.dumps(text)}))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # what cannot be written may not be removable either
            temporary.unlink()
        raise InvalidInput(
            f"Cannot write {path}: {error.strerror}; make it writable or free some space."
        ) from error
    return path


def read_tensors(
    path: Path, kind: str, version: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of a file of `write_tensors`, verified."""
    try:
        with safe_open(path, framework="np") as file:  # pyright: ignore[reportArgumentType]
            text = (file.metadata() or {}).get(_KEY)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise damaged(path, f"it cannot be opened ({error.strerror or error})") from error
    except SafetensorError as error:
        raise damaged(path, f"it is cut short or no weights file at all ({error})") from error
    try:
        found = json.loads(text or "")
        found_kind, found_version = found["kind"], found["format"]
        content, digest = found["header"], found["sha256"]
        header = json.loads(content)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, f"it has no readable header of {kind} weights") from error
    if (found_kind, found_version) != (kind, version):
        raise damaged(
            path,
            f"it holds {found_kind!r} of format {found_version!r}, not {kind!r} of {version}",
        )
    if digest != _hash(arrays, content):
        raise damaged(path, "its content does not match its recorded hash")
    return arrays, header


def fill_module(path: Path, module: torch.nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Copy arrays into a module; names and shapes must be exactly its own, values finite."""
    own = module.state_dict()
    for name in sorted(own.keys() ^ arrays.keys()):
        raise damaged(path, f"it does not fit its own settings: tensor {name!r}")
    for name, tensor in own.items():
        array = arrays[name]
        if array.shape != tuple(tensor.shape):
            raise damaged(
                path,
                f"it does not fit its own settings: {name!r} has shape {array.shape}, not "
                f"{tuple(tensor.shape)}",
            )
        if not np.isfinite(array).all():
            raise damaged(path, f"{name!r} holds values that are not finite")
        tensor.copy_(torch.from_numpy(array))


def damaged(path: Path, reason: str) -> DamagedFile:
    """Return the error for a file that cannot be used."""
    return DamagedFile(f"The weights {path} cannot be used: {reason}; train or copy them again.")


def _hash(arrays: Mapping[str, np.ndarray], content: str) -> str:
    digest = hashlib.sha256(content.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the entries whose names start with `prefix`, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
