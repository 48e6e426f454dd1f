"""Seconds of `with` blocks, by name."""

import time


class Timer:
    """Adds the seconds of a `with` block to a table."""

    def __init__(self, table: dict[str, float], name: str) -> None:
        self.table, self.name = table, name

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self.start
        self.table[self.name] = self.table.get(self.name, 0.0) + elapsed
