"""What files hold: JSON and .npy arrays within limits, and the check that content is ours.

JSON has a bounded size and depth and no NaN; an array file is exactly as long as its header says;
nothing is ever unpickled.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from smorl.errors import InvalidInput
from smorl.files import damaged, half_of_memory, open_regular, read_bytes, said

LARGEST_JSON = 64 * 2**20  # bytes
DEEPEST_JSON = 50


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds."""
    data = read_bytes(path, LARGEST_JSON)
    try:
        value = parse_json(data)
    except InvalidInput as error:
        raise damaged(path, str(error)) from error
    if not isinstance(value, dict):
        raise damaged(path, "holds no JSON object")
    return value


def parse_json(text: str | bytes) -> Any:
    """Return the value of JSON text; raise `InvalidInput` for NaN, great depth and other texts."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not valid JSON ({said(error)})") from error
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST_JSON:
            raise InvalidInput(f"is JSON of more than {DEEPEST_JSON} levels")
        inner = [
            v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)
        ]
        level = [item for values in inner for item in values]
    return value


def read_array(path: Path, mapped: bool = False) -> np.ndarray:
    """Return the array of a .npy file that is exactly as long as its header says; no pickle."""
    try:
        with open_regular(path) as file:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0}[version]  # fmt: skip
            shape, fortran, dtype = read(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
            count = int(np.prod([int(n) for n in shape], dtype=object)) if shape else 1
            if (
                dtype.hasobject
                or min(shape, default=0) < 0
                or count * dtype.itemsize != size - start
            ):
                raise ValueError(f"{size} bytes do not hold {shape} of {dtype}")
            order = "F" if fortran else "C"
            if mapped and count:
                return np.memmap(file, dtype, "r", start, shape, order)
            if size > half_of_memory():
                raise ValueError(f"{size} bytes are more than half of this machine's memory")
            return np.frombuffer(file.read(), dtype).reshape(shape, order=order).copy(order)
    except (OSError, ValueError, KeyError, TypeError, SyntaxError, RecursionError) as error:
        raise damaged(path, f"is not a whole array file ({said(error)})") from error


@contextmanager
def understood(path: Path, what: str) -> Iterator[None]:
    """Turn what goes wrong while content of a file is put to use into `DamagedFile`.

    A hash says that content is as it was written, not that it was written by us.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError,
            RuntimeError, AssertionError) as error:  # fmt: skip
        raise damaged(
            path, f"does not hold {what} as this smorl writes it ({said(error)})"
        ) from error


def check_kinds(value: Any, kinds: Any, name: str) -> None:
    """Raise TypeError unless `value` looks like `kinds`: types, unions, lists and dicts of these.

    A dict says which names must be there, `{str: kind}` that all of any names are of one kind,
    `[kind]` that all items are. Whole numbers are not negative, and a truth is no number.
    """
    if isinstance(kinds, dict):
        if not isinstance(value, dict):
            raise TypeError(f"{name} is no object")
        wanted = dict.fromkeys(value, kinds[str]) if str in kinds else kinds
        for key, kind in wanted.items():
            if key not in value:
                raise TypeError(f"{name}.{key} is missing")
            check_kinds(value[key], kind, f"{name}.{key}")
    elif isinstance(kinds, list):
        if not isinstance(value, list):
            raise TypeError(f"{name} is no list")
        for index, item in enumerate(value):
            check_kinds(item, kinds[0], f"{name}[{index}]")
    elif not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise TypeError(f"{name} is {value!r:.80}")
    elif kinds is int and value < 0:
        raise TypeError(f"{name} is {value}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
