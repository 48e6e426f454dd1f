"""The one check of settings: every field has a range, and may need something of other fields.

Configs call `within` and `require` in `__post_init__`, so that nothing is ever made, let alone
written, with settings that cannot work. `smorl.config` adds where in a tree of configs the field
lies.
"""

from collections.abc import Mapping
from typing import Any

from smorl.errors import InvalidInput

# Numbers in one layer of a network: 2 GB as float32. Files that claim more are not ours.
LARGEST_LAYER = 2**29


class OutOfRange(InvalidInput):
    """A field has a value that it may not have; `below` says in which config it lies."""

    def __init__(self, path: str, value: Any, wanted: str) -> None:
        super().__init__(f"{path} = {value!r:.80} is out of range; it must be {wanted}.")
        self.path, self.value, self.wanted = path, value, wanted

    def below(self, path: str) -> "OutOfRange":
        """Return the same of a config that is the field `path` of another."""
        return OutOfRange(f"{path}.{self.path}", self.value, self.wanted) if path else self


def within(config: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise `OutOfRange` for the first field that is not between its bounds, both included.

    Every number of a list is looked at; None means "off" and is always in range.
    """
    for name, (low, high) in ranges.items():
        value = getattr(config, name)
        numbers = value if isinstance(value, tuple) else () if value is None else (value,)
        if not all(low <= number <= high for number in numbers):
            raise OutOfRange(name, value, f"between {low} and {high}")


def require(config: Any, checks: Mapping[str, tuple[bool, str]]) -> None:
    """Raise `OutOfRange` for the first field whose check is False; the text says what it must be.

    For what depends on other fields; plain bounds are for `within`.
    """
    for name, (good, wanted) in checks.items():
        if not good:
            value = config
            for part in name.split("."):
                value = getattr(value, part)
            raise OutOfRange(name, value, wanted)
