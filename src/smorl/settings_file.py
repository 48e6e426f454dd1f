"""Settings from a file, JSON or YAML, in the form of `config.json` of a run or any part of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smorl.errors import InvalidInput


def read_settings(path: Path) -> dict[str, str]:
    """Return dotted names and the text of their values, as options would give them.

    A `config.json` of a run is such a file, and so is a part of one: {"learner": {"lr": 1e-3}}.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"--config {path} cannot be read ({error}); check the path.") from error
    data = _yaml(path, text) if path.suffix in (".yaml", ".yml") else _json(path, text)
    if not isinstance(data, Mapping):
        raise InvalidInput(f"--config {path} holds no settings; write names and values.")
    return dict(_flat(data, ""))


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--config {path} is no JSON ({error}).") from error


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource]
    except ImportError as error:
        raise InvalidInput(
            f"--config {path} needs PyYAML; `pip install pyyaml`, or write JSON."
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"--config {path} is no YAML ({error}).") from error


def _flat(data: Mapping[str, Any], prefix: str):
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            shown = value if isinstance(value, str) else json.dumps(value)
            yield f"{prefix}{name}", shown
