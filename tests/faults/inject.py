"""Calls that write, counted and wrapped, so that something can happen at each of them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

# Calls that change the disk; a process may die right before and right after each of them.
WRITES = ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "ftruncate")
_REAL = {name: getattr(os, name) for name in WRITES}


@contextlib.contextmanager
def dies_at(at: int) -> Iterator[None]:
    """Kill this process at half a count of writes: odd numbers before a write, even ones after."""
    with counted(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == at else None):
        yield


@contextlib.contextmanager
def counted(at: Callable[[int], None]) -> Iterator[None]:
    """Call `at` with 1, 2, 3, ... before and after every write."""
    number = 0

    def wrap(call: Callable) -> Callable:
        def call_and_count(*args: object, **kwargs: object) -> object:
            nonlocal number
            number += 1
            at(number)
            result = call(*args, **kwargs)
            number += 1
            at(number)
            return result

        return call_and_count

    with patched(wrap):
        yield


@contextlib.contextmanager
def patched(wrap: Callable[[Callable], Callable]) -> Iterator[None]:
    """Put a wrapper around every call that writes."""
    before = {name: getattr(os, name) for name in WRITES}
    for name in WRITES:
        setattr(os, name, wrap(_REAL[name]))
    try:
        yield
    finally:
        for name, call in before.items():
            setattr(os, name, call)


def real_calls() -> contextlib.AbstractContextManager[None]:
    """Write without being counted."""
    return patched(lambda call: call)
