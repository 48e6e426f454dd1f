"""Checkpoints and weight files with changed content whose every hash is right again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from smorl.runs.checkpoint import load_checkpoint, save_checkpoint
from smorl.runs.tensor_file import read_tensors, write_tensors


def newest(run: Path) -> Path:
    """Return the newest checkpoint of a run folder."""
    return max((run / "checkpoints").glob("[0-9]*"), key=lambda p: int(p.name))


def forge_checkpoint(run: Path, change: Callable[[dict, dict, dict], Any]) -> Path:
    """Let `change` edit tensors, arrays and state of the newest checkpoint, the only one left."""
    path = newest(run)
    found = load_checkpoint(path)
    tensors, arrays, state = dict(found.tensors), dict(found.arrays), found.state
    change(tensors, arrays, state)
    shutil.rmtree(run / "checkpoints")
    return save_checkpoint(run / "checkpoints", found.step, tensors, arrays, state)


def forge_weights(path: Path, kind: str, version: int, change: Callable[[dict, dict], Any]) -> Path:
    """Let `change` edit arrays and header of a weights file."""
    arrays, header = read_tensors(path, kind, version)
    change(arrays, header)
    return write_tensors(path, kind, version, arrays, header)


def edit_json(path: Path, change: Callable[[Any], Any]) -> Path:
    """Let `change` edit the content of a JSON file."""
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")
    return path
