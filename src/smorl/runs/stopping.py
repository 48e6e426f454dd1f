"""Stopping in an orderly way: the first Ctrl-C saves, the second stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stoppable(Protocol):
    """A trainer that looks at `stop_requested` now and then."""

    stop_requested: bool


class Notes(Protocol):
    """Who is told."""

    def note(self, text: str) -> None: ...


@contextmanager
def orderly_stop(trainer: Stoppable, notes: Notes, when: str) -> Iterator[None]:
    """Turn the first Ctrl-C (or SIGTERM, or a closed terminal) into a request to save and stop.

    Python delivers signals to the main thread only; elsewhere nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        notes.note(f"Stopping: finishing {when} and saving. Ctrl-C again stops at once.")

    with signals_to(stop):
        yield


@contextmanager
def signals_to(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Let `handler` answer whatever asks to stop, while inside."""
    before = {s: signal.signal(s, handler) for s in _SIGNALS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
