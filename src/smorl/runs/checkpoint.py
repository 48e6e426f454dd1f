"""Checkpoints: safetensors, .npy and JSON in one folder per step, atomic and verified by hash.

A checkpoint is written under a temporary name, fsynced and renamed, so that a process killed at
any moment leaves either the whole checkpoint or none of it. Nothing is ever unpickled. What goes
in (networks, optimisers, replay, random streams, counters) is the trainer's business.
"""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_safetensors
from safetensors.torch import save as to_safetensors

from smorl.config import JSON
from smorl.errors import DamagedFile, InvalidInput
from smorl.files import TEMPORARY, cannot_write, read_bytes, said, sync_folder
from smorl.formats import parse_json, read_array
from smorl.runs.manifest import (
    STATE,
    TENSORS,
    damaged,
    dump_json,
    read_manifest,
    verify,
    write_files,
)
from smorl.runs.serialise import (
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)

__all__ = [
    "Checkpoint",
    "generator_state",
    "load_checkpoint",
    "load_latest",
    "load_optimizer",
    "optimizer_tensors",
    "restore_generator",
    "save_checkpoint",
]

_REPLACED = f"{TEMPORARY}replaced-"
_STEP = re.compile(r"\d{9,}")
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_./-]{1,200}")


@dataclass(frozen=True)
class Checkpoint:
    """One verified checkpoint; `damaged` says which newer ones had to be skipped, and why."""

    step: int
    tensors: dict[str, torch.Tensor]
    arrays: dict[str, np.ndarray]
    state: dict[str, JSON]
    path: Path
    damaged: list[str] = field(default_factory=list)


def save_checkpoint(
    folder: Path,
    step: int,
    tensors: Mapping[str, torch.Tensor],
    arrays: Mapping[str, np.ndarray],
    state: Mapping[str, JSON],
    keep: int = 2,
) -> Path:
    """Write `folder/<step>` atomically, then prune to the `keep` newest. Returns its path.

    Raises `CannotWrite` when the disk is full or the folder unwritable; the earlier checkpoints
    are intact then, and nothing is left behind. The folder above `folder` must exist: a run that
    was removed is not made again.
    """
    if step < 0 or keep < 1:
        raise InvalidInput(f"step must be >= 0 and keep >= 1, got step {step} and keep {keep}.")
    files = {_file_of(name): _plain_array(name, array) for name, array in arrays.items()}
    state_text = dump_json(dict(state), "state")
    folder = Path(folder)
    target, temporary = folder / f"{step:09d}", folder / f"{TEMPORARY}{step:09d}-{os.getpid()}"
    try:
        folder.mkdir(exist_ok=True)
        _remove_stale(folder)
        (temporary / "arrays").mkdir(parents=True)
        write_files(temporary, step, _tensor_bytes(tensors), files, state_text)
        _put_in_place(temporary, target)
        sync_folder(folder)
    except OSError as error:
        raise cannot_write(target, error, _intact(folder)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _prune(folder, step, keep)
    return target


def load_latest(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint whose every hash is right, or None when there is none at all.

    Damaged ones are skipped and listed in `damaged`, never touched. When all of them are
    damaged, raises `DamagedFile` naming each.
    """
    skipped: list[str] = []
    for path in reversed(_checkpoints(Path(folder))):
        try:
            found = load_checkpoint(path)
        except DamagedFile as error:
            skipped.append(str(error))
            continue
        found.damaged.extend(skipped)
        return found
    if skipped:
        raise DamagedFile(
            f"No usable checkpoint is left in {folder}: {' '.join(skipped)} Restore a copy of "
            "one of them, or start again in another run folder."
        )
    return None


def load_checkpoint(path: Path) -> Checkpoint:
    """Load one checkpoint folder, verifying the size and hash of every file in it."""
    path = Path(path)
    manifest = read_manifest(path)
    for name, entry in manifest["files"].items():
        verify(path, name, entry)
    arrays = {_array_name(n): path / n for n in manifest["files"] if n.startswith("arrays/")}
    try:
        state = parse_json(read_bytes(path / STATE))
        if not isinstance(state, dict):
            raise damaged(path, f"cannot be read: {STATE} holds no object")
        return Checkpoint(
            step=manifest["step"],
            tensors=read_safetensors(read_bytes(path / TENSORS)),
            arrays={name: read_array(file) for name, file in arrays.items()},
            state=state,
            path=path,
        )
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise damaged(path, f"cannot be read ({said(error)})") from error


def _put_in_place(temporary: Path, target: Path) -> None:
    """Give a finished checkpoint its name, replacing one of the same step."""
    if not target.exists():
        temporary.rename(target)
        return
    aside = target.with_name(f"{_REPLACED}{target.name}")
    target.rename(aside)
    try:
        temporary.rename(target)
    except OSError:
        aside.rename(target)
        raise


def _plain_array(name: str, array: np.ndarray) -> np.ndarray:
    """Check that an array has an acceptable name and can be written without pickle."""
    if not _ARRAY_NAME.fullmatch(name):
        raise InvalidInput(
            f"Array name {name!r} is not acceptable: use letters, digits, '_', '.', '/' and '-', "
            "at most 200."
        )
    array = np.asarray(array)
    if array.dtype.hasobject:
        raise InvalidInput(
            f"Array {name!r} has dtype {array.dtype}, which only pickle can store; "
            "convert it to numbers or fixed-width text."
        )
    return array


def _file_of(name: str) -> str:
    # '+' is not allowed in names, so the mapping is one to one, and no name can leave the folder.
    return f"arrays/{name.replace('/', '+')}.npy"


def _array_name(file: str) -> str:
    return file.removeprefix("arrays/").removesuffix(".npy").replace("+", "/")


def _tensor_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    # Safetensors refuses views that share memory, such as twins cut from one batched tensor.
    owned = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    return to_safetensors(owned)


def _checkpoints(folder: Path) -> list[Path]:
    """Return the finished checkpoints, oldest first."""
    if not folder.is_dir():
        return []
    found = {p.name.removeprefix(_REPLACED): p for p in folder.glob(f"{_REPLACED}*")}
    # A kill between two renames leaves only what was to be replaced.
    found |= {p.name: p for p in folder.iterdir() if _STEP.fullmatch(p.name)}
    whole = [name for name, path in found.items() if path.is_dir() and not path.is_symlink()]
    return [found[name] for name in sorted(whole, key=int) if _STEP.fullmatch(name)]


def _looks_whole(path: Path) -> bool:
    """Check the manifest and the sizes only: cheap enough for every save."""
    try:
        entries = read_manifest(path)["files"]
        return all((path / n).stat().st_size == e["size"] for n, e in entries.items())
    except (DamagedFile, OSError):
        return False


def _prune(folder: Path, step: int, keep: int) -> None:
    """Remove what is older than the `keep` newest whole checkpoints up to `step`.

    Newer ones are left alone: they are damaged or another run's future, and a run that was
    resumed before them replaces them when it gets there. The new checkpoint is on disk by now,
    so a failure here loses nothing and the next save tries again.
    """
    kept = 0
    for path in reversed([p for p in _checkpoints(folder) if _step_of(p) <= step]):
        if kept < keep and _looks_whole(path):
            kept += 1
            continue
        # Renamed first, so that a kill never leaves half a checkpoint under a proper name.
        with suppress(OSError):
            path.rename(folder / f"{TEMPORARY}pruned-{path.name.removeprefix(_REPLACED)}")
    _remove_stale(folder)


def _remove_stale(folder: Path) -> None:
    for path in folder.glob(f"{TEMPORARY}*"):
        if path not in _checkpoints(folder):
            shutil.rmtree(path, ignore_errors=True)


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix(_REPLACED))


def _intact(folder: Path) -> str:
    """Say what is still good and how to go on, at the end of a sentence."""
    with suppress(OSError):
        whole = [path for path in _checkpoints(folder) if _looks_whole(path)]
        intact = f". The last good checkpoint, {whole[-1]}, is intact" if whole else ""
        return f"{intact}, and run the same command again to resume"
    return ""
