"""How the time of a training step divides among its parts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


class Stopwatch:
    """Wall-clock seconds by part; what runs inside a part is not counted outside of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what happens inside as `name`."""
        self._start(name)
        try:
            yield
        finally:
            self._stop()

    @contextmanager
    def watch(self, modules: dict[str, nn.Module]) -> Iterator[None]:
        """Count the forward passes of modules under their names."""
        hooks = []
        for name, module in modules.items():
            hooks.append(module.register_forward_pre_hook(lambda *_, name=name: self._start(name)))
            hooks.append(module.register_forward_hook(lambda *_: self._stop()))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def shares(self) -> dict[str, float]:
        """Return the share of each part of all time counted."""
        total = sum(self.seconds.values())
        return {name: seconds / total for name, seconds in self.seconds.items()}

    def _start(self, name: str) -> None:
        self._open.append((name, time.perf_counter()))

    def _stop(self) -> None:
        name, start = self._open.pop()
        spent = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + spent
        if self._open:  # The enclosing part goes on later, as if it had started that much later.
            outer, began = self._open.pop()
            self._open.append((outer, began + spent))
