"""Settings from a file, JSON or YAML, in the form of `config.json` of a run or any part of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smorl.errors import DamagedFile, InvalidInput
from smorl.files import read_bytes, said
from smorl.formats import parse_json

_LARGEST = 2**20  # bytes


def read_settings(path: Path) -> dict[str, str]:
    """Return dotted names and the text of their values, as options would give them.

    A `config.json` of a run is such a file, and so is a part of one: {"learner": {"lr": 1e-3}}.
    """
    path = Path(path)
    try:
        data = read_bytes(path, _LARGEST)
    except DamagedFile as error:
        raise InvalidInput(f"--config {error}") from error
    data = _yaml(path, data) if path.suffix in (".yaml", ".yml") else _json(path, data)
    if not isinstance(data, Mapping):
        raise InvalidInput(f"--config {path} holds no settings; write names and values.")
    return dict(_flat(data, ""))


def _json(path: Path, data: bytes) -> Any:
    try:
        return parse_json(data)
    except InvalidInput as error:
        raise InvalidInput(f"--config {path} {error}.") from error


def _yaml(path: Path, data: bytes) -> Any:
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource]
    except ImportError as error:
        raise InvalidInput(
            f"--config {path} needs PyYAML; `pip install pyyaml`, or write JSON."
        ) from error
    try:
        # By aliases a few lines can stand for more than memory holds.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(data)):
            raise ValueError("aliases, *name, are not read; write the values out")
        return parse_json(json.dumps(yaml.safe_load(data)))
    except (yaml.YAMLError, RecursionError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"--config {path} is no YAML of plain settings ({said(error)})."
        ) from error


def _flat(data: Mapping[str, Any], prefix: str):
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            shown = value if isinstance(value, str) else json.dumps(value)
            yield f"{prefix}{name}", shown
