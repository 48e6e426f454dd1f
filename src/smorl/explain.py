"""What each setting means, read from the comment beside it or above it in its dataclass.

So there is one place to write it: where the field is. `smorl train PRESET --help` prints it.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def explanations(config: Any) -> dict[str, str]:
    """Return dotted path -> explanation for every setting of a config, nested ones included."""
    found: dict[str, str] = {}
    own = field_comments(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            found |= {f"{field.name}.{k}": v for k, v in explanations(value).items()}
        else:
            found[field.name] = own.get(field.name, "")
    return found


def field_comments(cls: type) -> dict[str, str]:
    """Return the comments of a dataclass's fields, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if is_dataclass(base):
            found |= {name: text for name, text in _comments(base).items() if text}
    return found


def options(config: Any, data: Mapping[str, Any]) -> str:
    """Return the settings as options with their values and explanations, one per line."""
    texts, lines = explanations(config), []
    for path, text in texts.items():
        value: Any = data
        for name in path.split("."):
            value = value[name]
        lines.append(f"  --{path} {json.dumps(value)}" + (f"   # {text}" if text else ""))
    return "\n".join(lines)


def _comments(cls: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    lines, tree = source.splitlines(), ast.parse(source).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset or 0 :]
            beside = last.partition("#")[2].strip()
            if beside.startswith("pyright:"):
                beside = ""
            found[node.target.id] = beside or _above(lines, node.lineno - 2)
    return found


def _above(lines: list[str], index: int) -> str:
    """Return the comment that ends on line `index`, as one line."""
    comment: list[str] = []
    while index >= 0 and lines[index].strip().startswith("#"):
        comment.insert(0, lines[index].strip().lstrip("# "))
        index -= 1
    return " ".join(comment)
