"""How the time of a training step divides among its parts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from torch import nn


class Stopwatch:
    """Wall-clock and CPU seconds by part; what runs inside a part is not counted outside of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._open: list[tuple[str, np.ndarray, np.ndarray]] = []  # name, start, parts inside

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

    @contextmanager
    def watch_calls(self, owner: Any, method: str, name: str) -> Iterator[None]:
        """Count calls of one object's method as `name`; the object is as before afterwards."""
        call = getattr(owner, method)

        @wraps(call)
        def counted(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return call(*args, **kwargs)

        setattr(owner, method, counted)
        try:
            yield
        finally:
            delattr(owner, method)

    def shares(self) -> dict[str, float]:
        """Return the share of each part of all wall-clock time counted."""
        total = sum(self.seconds.values())
        return {name: seconds / total for name, seconds in self.seconds.items()}

    def clear(self) -> None:
        """Forget everything counted so far; parts that are open go on."""
        self.seconds.clear()
        self.cpu.clear()

    def _start(self, name: str) -> None:
        self._open.append((name, _clocks(), np.zeros(2)))

    def _stop(self) -> None:
        name, start, inside = self._open.pop()
        spent = _clocks() - start
        wall, cpu = (spent - inside).tolist()
        self.seconds[name] = self.seconds.get(name, 0.0) + wall
        self.cpu[name] = self.cpu.get(name, 0.0) + cpu
        if self._open:
            np.add(self._open[-1][2], spent, out=self._open[-1][2])


def _clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])
