"""Configs are nested frozen dataclasses; this turns them into JSON, back, and compares them.

Field types: int, float, str, bool, None, Literal, tuple, dataclasses, and unions of these. A
union of several dataclasses is told apart by a `kind: Literal["..."]` field in each; a dataclass
with a classmethod `of_kind` is a family, which that method knows by their `kind`.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin

from smorl.errors import InvalidInput, did_you_mean
from smorl.field_types import (
    JSON,
    dataclasses_in,
    describe,
    item_type,
    members,
    parse,
    pick,
    show,
    types_of,
    unknown_kind,
)
from smorl.ranges import OutOfRange

Config = TypeVar("Config")
_LARGEST = 1e30  # of any number in a config; beyond it arithmetic in float32 ends


def to_json(config: Any) -> dict[str, JSON]:
    """Return a config as nested dicts and lists that `json.dumps` accepts."""
    return {f.name: _plain(getattr(config, f.name), f.name) for f in fields(config) if f.init}


def from_json(cls: type[Config], data: JSON) -> Config:
    """Build a config from `to_json`'s output. Absent fields take their defaults.

    Raises `InvalidInput` naming the dotted path for an unknown field or a value of a wrong type.
    """
    return _build(cls, data, "")


def fingerprint(data: Mapping[str, JSON]) -> str:
    """Return the hash of a config's JSON, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def diff(a: Mapping[str, JSON], b: Mapping[str, JSON], prefix: str = "") -> list[str]:
    """List where a run's config `a` and the one asked for, `b`, differ, one line per field."""
    if a.get("kind") != b.get("kind") and a.keys() != b.keys():
        # Two classes of a union have different fields; listing them all would hide the point.
        a, b = {"kind": a.get("kind")}, {"kind": b.get("kind")}
    lines: list[str] = []
    for name in [*a, *(name for name in b if name not in a)]:
        path, one, other = f"{prefix}{name}", a.get(name, MISSING), b.get(name, MISSING)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            lines += diff(one, other, f"{path}.")
        elif not _same(one, other):
            lines.append(f"{path}: run has {show(one)}, asked {show(other)}")
    return lines


def override(config: Config, values: Mapping[str, str]) -> Config:
    """Return a copy with fields replaced, e.g. `{"agent.lr": "1e-3"}`, read by their type.

    Setting `x.kind` switches a tagged union to that class with its defaults; the other fields
    of `x` can be set in the same call.
    """
    data = to_json(config)
    # A kind decides which fields exist, so kinds go first, the outermost before the inner ones.
    for path in sorted(values, key=lambda p: (not p.endswith("kind"), p.count("."))):
        _set(type(config), data, path, values[path])
    return from_json(type(config), data)


def paths(cls: type, data: Mapping[str, JSON], prefix: str = "") -> list[str]:
    """Return the dotted paths of all the fields that `override` can set."""
    found: list[str] = []
    for name, annotation in types_of(cls).items():
        found.append(f"{prefix}{name}")
        value = data.get(name)
        if isinstance(value, Mapping) and (inner := pick(annotation, value)):
            found += paths(inner, value, f"{prefix}{name}.")
    return found


def _plain(value: Any, path: str) -> JSON:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), f"{path}.{f.name}") for f in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}, which JSON cannot hold; use None for 'off'.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(f"{path} is a {type(value).__name__}, which a config cannot hold.")


def _build(cls: Any, data: JSON, path: str) -> Any:
    """Build one dataclass from a JSON object."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{path or 'The config'} must be an object, got {show(data)}.")
    annotations, dot = types_of(cls), f"{path}." if path else ""
    for name in data:
        if name not in annotations:
            hint = did_you_mean(dot + name, [dot + known for known in annotations])
            raise InvalidInput(f"Unknown field {dot + name!r}.{hint}")
    for f in fields(cls):
        required = f.init and f.default is MISSING and f.default_factory is MISSING
        if required and f.name not in data:
            raise InvalidInput(f"The field {dot + f.name!r} is missing and has no default.")
    values = {n: _convert(annotations[n], v, f"{dot}{n}") for n, v in data.items()}
    try:
        return cls(**values)
    except OutOfRange as error:
        raise error.below(path) from None


def _convert(annotation: Any, value: JSON, path: str) -> Any:
    """Check a JSON value against a field's type and return it as that type."""
    if isinstance(value, Mapping) and dataclasses_in(annotation):
        inner = pick(annotation, value)
        if inner is None:
            raise InvalidInput(unknown_kind(annotation, value, path))
        return _build(inner, value, path)
    for member in members(annotation):
        accepted, converted = _accept(member, value, path)
        if accepted:
            return converted
    raise InvalidInput(f"{path} must be {describe(annotation)}, got {show(value)}.")


def _accept(member: Any, value: JSON, path: str) -> tuple[bool, Any]:
    """Return whether one member of a union takes the value, and the value as that type."""
    if get_origin(member) is Literal:
        return any(_same(value, option) for option in get_args(member)), value
    if get_origin(member) is tuple and isinstance(value, list | tuple):
        kinds = get_args(member)
        if kinds[-1] is not Ellipsis and len(kinds) != len(value):
            return False, None
        items = enumerate(value)
        return True, tuple(_convert(item_type(member, i), v, f"{path}[{i}]") for i, v in items)
    if member is float and isinstance(value, int | float) and not isinstance(value, bool):
        finite = math.isfinite(value) and abs(value) <= _LARGEST
        return finite, float(value) if finite else None
    return type(value) is member, value


def _set(cls: type, data: dict[str, JSON], path: str, text: str) -> None:
    """Put one value, given as text, at a dotted path of `data`, the JSON of a `cls`."""
    node: dict[str, JSON] = data
    node_cls, names = cls, path.split(".")
    unknown = InvalidInput(f"Unknown setting {path!r}.{did_you_mean(path, paths(cls, data))}")
    for depth, name in enumerate(names[:-1]):
        annotation = types_of(node_cls).get(name)
        if not dataclasses_in(annotation):
            raise unknown
        value = found if isinstance(found := node.get(name), dict) else {}
        classes = dataclasses_in(annotation)
        union = len(classes) > 1 or hasattr(classes[0], "of_kind")
        if union and names[depth + 1 :] == ["kind"] and value.get("kind") != text:
            value = {"kind": text}
        inner = pick(annotation, value)
        if inner is None:
            raise InvalidInput(unknown_kind(annotation, value, ".".join(names[: depth + 1])))
        node[name] = value
        node, node_cls = value, inner
    annotation = types_of(node_cls).get(names[-1])
    if annotation is None:
        raise unknown
    node[names[-1]] = parse(annotation, text, path)


def _same(one: JSON, other: JSON) -> bool:
    # Python says True == 1; a config that says so has changed.
    return one == other and isinstance(one, bool) == isinstance(other, bool)
