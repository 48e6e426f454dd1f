"""What the type of a setting allows: its members, its dataclasses, text read as it, it in words."""

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from smorl.errors import InvalidInput, did_you_mean
from smorl.formats import parse_json

JSON: TypeAlias = Any  # What `json.dumps` accepts; a recursive alias only gets in the way.
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def types_of(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, with annotations given as text resolved."""
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.init}


def members(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type there is."""
    union = get_origin(annotation) in (Union, types.UnionType)
    return get_args(annotation) if union else (annotation,)


def dataclasses_in(annotation: Any) -> list[type]:
    """Return the dataclasses among the types of a union."""
    return [m for m in members(annotation) if isinstance(m, type) and is_dataclass(m)]


def _kind(cls: type) -> str | None:
    # The tag of a dataclass is the one value of its `kind` field.
    options = get_args(types_of(cls).get("kind"))
    return options[0] if len(options) == 1 else None


def pick(annotation: Any, value: Mapping[str, JSON]) -> type | None:
    """Return the dataclass of a union that a JSON object stands for, or None."""
    classes = dataclasses_in(annotation)
    if len(classes) == 1:
        family = getattr(classes[0], "of_kind", None)
        return classes[0] if family is None else family(value.get("kind"))
    return next((c for c in classes if "kind" in value and _kind(c) == value["kind"]), None)


def parse(annotation: Any, text: str, path: str) -> JSON:
    """Read the text of an option as a field's type, as JSON."""
    # Any text is a str, so "none" must be tried before it and everything else too.
    for member in sorted(members(annotation), key=lambda m: (m is str) - (m is type(None))):
        try:
            return _read(member, text.strip(), path)
        except ValueError:
            continue
    raise InvalidInput(f"{path} must be {describe(annotation)}, got {text!r}.")


def _read(member: Any, text: str, path: str) -> JSON:
    """Read text as one member of a union; a ValueError means that it is not one."""
    if member is type(None) and text.lower() in ("none", "null"):
        return None
    if member is bool and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if member is int:
        # "1e5" is a whole number too.
        number = float(text) if "e" in text else 0.5
        return int(number) if math.isfinite(number) and number.is_integer() else int(text)
    if member is float:
        return float(text)
    if member is str:
        return text
    options = {str(option): option for option in get_args(member)}
    if get_origin(member) is Literal and text in options:
        return options[text]
    if get_origin(member) is tuple:
        parts = text.strip("()[]").replace(",", " ").split()
        return [parse(item_type(member, i), part, f"{path}[{i}]") for i, part in enumerate(parts)]
    if is_dataclass(member):
        return parse_json(text)
    raise ValueError(text)


def item_type(member: Any, index: int) -> Any:
    """Return the type of one item of a tuple."""
    kinds = get_args(member)
    return kinds[0] if kinds[-1] is Ellipsis else kinds[min(index, len(kinds) - 1)]


def show(value: JSON) -> str:
    """Say a value in words for an error message."""
    return "no such field" if value is MISSING else json.dumps(value, default=repr)


def describe(annotation: Any) -> str:
    """Say a type in words for an error message."""
    words: list[str] = []
    for member in members(annotation):
        if get_origin(member) is Literal:
            words += [repr(option) for option in get_args(member)]
        elif get_origin(member) is tuple:
            words.append(f"a list of {describe(item_type(member, 0))}")
        else:
            words.append("none" if member is type(None) else member.__name__)
    return " or ".join(words)


def unknown_kind(annotation: Any, value: Mapping[str, JSON], path: str) -> str:
    """Say that a JSON object stands for none of the dataclasses of a union."""
    kinds, got = [str(_kind(cls)) for cls in dataclasses_in(annotation)], value.get("kind")
    hint = did_you_mean(str(got), kinds)
    return f"{path}.kind must be one of {', '.join(kinds)}, got {show(got)}.{hint}"
