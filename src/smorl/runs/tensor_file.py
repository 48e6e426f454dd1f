"""One safetensors file of arrays with a JSON header and a hash over everything. No pickle.

The one format of trained weights: SCALOR, VAE and agents. Reading verifies; whatever is wrong with
a file is said in one `DamagedFile` sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save

from smorl.errors import DamagedFile, InvalidInput
from smorl.files import read_bytes, said, write_bytes
from smorl.formats import check_kinds, parse_json

_KEY = "smorl"
_LONGEST_HEADER = 16 * 2**20  # bytes
_KINDS = {"kind": str, "format": int, "header": str, "sha256": str}


def write_tensors(
    path: Path, kind: str, version: int, arrays: Mapping[str, np.ndarray], header: dict[str, Any]
) -> Path:
    """Write arrays and header to `path`, whole or not at all; its folder must exist."""
    # `np.ascontiguousarray` would turn a single number into a row.
    stored = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = json.dumps(header, allow_nan=False, sort_keys=True)
    text = {"kind": kind, "format": version, "header": content, "sha256": _hash(stored, content)}
    return write_bytes(path, save(stored, {_KEY: json.dumps(text)}))


def read_tensors(
    path: Path, kind: str, version: int, data: bytes | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of a file of `write_tensors`, verified.

    `data` is its content, if that is known already or lies within another file.
    """
    data = read_bytes(path) if data is None else data
    try:
        found = _description(data)
        arrays = {name: np.array(array) for name, array in load(data).items()}
    except SafetensorError as error:
        raise damaged(path, f"it is cut short or no weights file at all ({error})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(
            path, f"it has no readable header of {kind} weights ({said(error)})"
        ) from error
    if (found["kind"], found["format"]) != (kind, version):
        raise damaged(
            path,
            f"it holds {found['kind']!r} of format {found['format']!r}, not {kind!r} of {version}",
        )
    if found["sha256"] != _hash(arrays, found["header"]):
        raise damaged(path, "its content does not match its recorded hash")
    header = _object(path, found["header"])
    return arrays, header


def kind_of(path: Path, data: bytes | None = None) -> str | None:
    """Return what kind of weights a file says it holds, None if it says nothing."""
    try:
        return _description(read_bytes(path) if data is None else data)["kind"]
    except (DamagedFile, SafetensorError, ValueError, KeyError, TypeError):
        return None


def _description(data: bytes) -> dict[str, Any]:
    """Return what `write_tensors` noted about a file, from the bytes of it."""
    length = int.from_bytes(data[:8], "little")
    if not 2 <= length <= min(len(data) - 8, _LONGEST_HEADER):
        raise SafetensorError(f"a header of {length} bytes")
    found = parse_json(parse_json(data[8 : 8 + length])["__metadata__"][_KEY])
    check_kinds(found, _KINDS, "header")
    return found


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        header = parse_json(text)
        check_kinds(header, {}, "header")
    except (InvalidInput, TypeError) as error:
        raise damaged(path, f"its settings cannot be read ({said(error)})") from error
    return header


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
    require_finite(path, arrays)
    for name, tensor in own.items():
        tensor.copy_(torch.from_numpy(arrays[name]))


def require_finite(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise `DamagedFile` unless all values are finite numbers."""
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise damaged(path, f"{name!r} holds values that are not finite")


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
