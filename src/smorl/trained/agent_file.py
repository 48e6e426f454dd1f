"""One file with everything a trained agent needs to act: what `smorl export` makes of a run.

Tensors and arrays of the newest checkpoint without optimisers, target critics and replay; the
settings as JSON; and its perception, either the bytes of the run's own file or, where the package
ships the same file, its name and hash. Written and verified by `runs.tensor_file`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smorl import shipped
from smorl.config import from_json
from smorl.errors import InvalidInput
from smorl.files import read_bytes
from smorl.formats import check_kinds, understood
from smorl.methods import get_method
from smorl.representations.base import Perception
from smorl.representations.perceptions import read_perception
from smorl.runs.checkpoint import Checkpoint, load_latest
from smorl.runs.folder import CONFIG, RunDir
from smorl.runs.identity import require_same_run
from smorl.runs.tensor_file import damaged, read_tensors, under, write_tensors
from smorl.training.settings import PERCEPTION, RunConfig
from smorl.types import Spaces

KIND, FORMAT = "agent", 1
# What only learning needs, by the first part of its name. Acting never asks the target critics,
# so they come back as a copy of the critics.
_FOR_LEARNING = ("optimizer", "target", "replay")
_OUT = re.compile(r" --out[ =]\S+")  # where a run was kept is nobody's business
_BYTES = "perception/file"
_KINDS = {"config": {}, "env_steps": int, "perception": dict | None}


@dataclass(frozen=True)
class SavedAgent:
    """What acting needs of a run, from its folder or from a file."""

    config: RunConfig
    checkpoint: Checkpoint
    spaces: Spaces  # of the environment it was trained in
    perception: Perception | None  # of methods that see pixels


def open_folder(path: Path) -> SavedAgent:
    """Read the newest good checkpoint of a run folder."""
    run = RunDir.load(path)
    with understood(path / CONFIG, "settings"):
        config = from_json(RunConfig, run.config)
    checkpoint = load_latest(run.checkpoints)
    if checkpoint is None:
        raise InvalidInput(f"{path} has no checkpoint yet; let `smorl train` run a little longer.")
    perception = (
        read_perception(path / PERCEPTION) if get_method(config.method).needs_perception else None
    )
    require_same_run(
        path, checkpoint, run.config, None if perception is None else perception.digest
    )
    with understood(checkpoint.path, "an agent"):
        spaces = _spaces(checkpoint.state["spaces"])
    return SavedAgent(config, checkpoint, spaces, perception)


def export_agent(run: Path, file: Path) -> tuple[dict[str, Any], list[str]]:
    """Write the agent of a run folder into one file; return its header, and what was amiss.

    Amiss are newer checkpoints that are damaged, so that an older one was taken.
    """
    run, saved = Path(run), open_folder(Path(run))
    notes = saved.checkpoint.damaged
    tensors = {name: tensor.numpy() for name, tensor in saved.checkpoint.tensors.items()}
    arrays = {f"tensor/{n}": a for n, a in tensors.items() if _acts(n)}
    arrays |= {f"array/{n}": a for n, a in saved.checkpoint.arrays.items() if _acts(n)}
    folder = RunDir.load(run)
    header = {
        "config": folder.config,
        "env_steps": saved.checkpoint.step,
        "spaces": asdict(saved.spaces),
        "command": _OUT.sub("", str(folder.versions.get("command"))),
        "result": folder.result,
        "perception": None,
    }
    if saved.perception is not None:
        data = read_bytes(run / PERCEPTION)
        header["perception"] = {"sha256": _hash(data), "shipped": _shipped_as(data)}
        if header["perception"]["shipped"] is None:
            arrays[_BYTES] = np.frombuffer(data, np.uint8)
    write_tensors(Path(file), KIND, FORMAT, arrays, header)
    return header, notes


def open_file(path: Path) -> SavedAgent:
    """Read a file of `export_agent`; anything else gets one sentence saying what is wrong."""
    arrays, header = read_tensors(path, KIND, FORMAT)
    with understood(path, "an agent"):
        check_kinds(header, _KINDS, "header")
        config = from_json(RunConfig, header["config"])
        step, seeing = header["env_steps"], header["perception"]
        spaces = _spaces(header["spaces"])
        if (seeing is not None) != get_method(config.method).needs_perception:
            raise ValueError(f"a {config.method} agent, perception {seeing}")
    tensors = {n: torch.from_numpy(a.copy()) for n, a in under("tensor/", arrays).items()}
    for name in [name for name in tensors if name.startswith("critic/")]:
        tensors[name.replace("critic/", "target/", 1)] = tensors[name]
    checkpoint = Checkpoint(step, tensors, under("array/", arrays), {}, path)
    perception = None if seeing is None else _perception(path, seeing, arrays.get(_BYTES))
    return SavedAgent(config, checkpoint, spaces, perception)


def _perception(path: Path, noted: dict, data: np.ndarray | None) -> Perception:
    """Return the perception inside the file, or the shipped one it names."""
    with understood(path, "a perception"):
        check_kinds(noted, {"sha256": str, "shipped": str | None}, "perception")
    if data is not None:
        return read_perception(path, data.tobytes())
    if noted["shipped"] is None:
        raise damaged(path, "it holds no perception and names none")
    file = shipped.resolve(noted["shipped"])
    if _hash(file.read_bytes()) != noted["sha256"]:
        raise damaged(path, f"it was trained with another {noted['shipped']} than this smorl ships")
    return read_perception(file)


def _spaces(data: dict[str, Any]) -> Spaces:
    goal = data["goal"]
    return Spaces(
        tuple(data["observation"]),
        int(data["actions"]),
        None if goal is None else tuple(goal),
        data["objects"],
    )


def _shipped_as(data: bytes) -> str | None:
    """Return the name of the shipped perception with exactly this content, if there is one."""
    for name in shipped.names():
        if shipped.resolve(name).read_bytes() == data:
            return shipped.PREFIX + name
    return None


def _acts(name: str) -> bool:
    return name.split("/")[0] not in _FOR_LEARNING


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
