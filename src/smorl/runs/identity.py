"""What decides a run's result besides its checkpoint: recorded in each, and compared on loading.

A checkpoint is covered by hashes of its own. The settings lie beside it as `config.json`, which
people open and may change; so does the perception of a run that sees pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from smorl.config import JSON, fingerprint
from smorl.errors import DamagedFile
from smorl.runs.checkpoint import Checkpoint

KEY = "identity"


def identity(config: Mapping[str, JSON], perception: str | None) -> dict[str, JSON]:
    """Return what a checkpoint notes: hashes of the settings and of the perception's file."""
    return {"config": fingerprint(config), "perception": perception}


def require_same_run(
    run: Path, checkpoint: Checkpoint, config: Mapping[str, JSON], perception: str | None
) -> None:
    """Raise `DamagedFile` unless the checkpoint was made with these settings and perception."""
    found, noted = identity(config, perception), checkpoint.state.get(KEY)
    if not isinstance(noted, dict):
        raise DamagedFile(
            f"Checkpoint {checkpoint.path} does not say which settings it was made with; train "
            "the run again."
        )
    for name, what in (("config", "config.json"), ("perception", "the perception")):
        if noted.get(name) != found[name]:
            raise DamagedFile(
                f"{what} of {run} is not what {checkpoint.path} was trained with: it was changed "
                "afterwards, and the result would be another's. Restore it from a copy."
            )
