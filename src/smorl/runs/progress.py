"""The progress of one run: a bar with ETA on a terminal, a line now and then anywhere else."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Self

from smorl.runs.screen import Screen, bar, duration

WINDOW = 60.0  # Seconds over which speeds are averaged, so that an evaluation does not jolt them.


@dataclass(frozen=True)
class Words:
    """What the numbers of a progress line are called; without `updates` these are not shown."""

    step: str = "step"
    steps: str = "env steps"
    updates: str = "updates"
    value: str = "distance {:.3f} m"


@dataclass(frozen=True)
class Stage:
    """A part of a run, in expected seconds: its own, those of the stages before and after it."""

    name: str
    own: float
    before: float = 0.0
    after: float = 0.0

    @property
    def whole(self) -> float:
        """All stages together."""
        return self.before + self.own + self.after


class Progress:
    """Shows how far a run is; use as a context manager.

    On a terminal: a bar with env steps/s, updates/s, the current distance (metres) and ETA.
    Elsewhere: one plain line every `every` seconds and one at the end. Nothing when `quiet`.
    `words` names other things to count. Where the run has several stages, `leg` is the one shown:
    bar and percentage are then those of the whole run, and so is a second ETA.
    """

    def __init__(
        self,
        total: int,
        quiet: bool = False,
        stream: IO[str] | None = None,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        words: Words | None = None,
        leg: Stage | None = None,
    ) -> None:
        self._leg = leg if leg is not None and leg.whole > leg.own else None
        self._words = self._shown = words or Words()
        self._of = total  # what is shown is so much of this
        self._total, self._clock = total, clock
        self._screen = Screen(stream, every=every, quiet=quiet, clock=clock)
        self._seen: deque[tuple[float, int, int]] = deque()
        self._distance: float | None = None
        self._line = ""  # that has not been written yet
        self._screen.draw([f"{bar(self._share(0, total))}  starting"])

    def update(self, env_steps: int, updates: int, distance: float | None = None) -> None:
        """Report what was done so far, including before a resume."""
        self._show(self._words, self._total, env_steps, updates, distance)

    def stage(self, name: str, done: int, total: int) -> None:
        """Report something else that the run does first: `done` of `total` batches of `name`."""
        self._show(Words(f"{name} batch", "batches", ""), total, done, 0, None)

    def _show(
        self, words: Words, total: int, done: int, updates: int, distance: float | None
    ) -> None:
        if (words, total) != (self._shown, self._of):
            self._seen.clear()  # speeds of one thing say nothing about another
            self._shown, self._of = words, total
        now = self._clock()
        self._seen.append((now, done, updates))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW:
            self._seen.popleft()
        self._distance = self._distance if distance is None else distance
        self._line = self.describe()
        self._screen.draw([f"{bar(self._share(done, total))}  {self._line}"])
        if self._screen.due():
            self._write()

    def describe(self) -> str:
        """Return the state as one line."""
        (start, first, first_updates), (now, step, updates) = self._seen[0], self._seen[-1]
        words = self._shown
        parts = [f"{words.step} {step}/{self._of}"]
        if not self._screen.live:
            parts[0] += f" ({100 * self._share(step, self._of):.0f} %)"
        if self._leg is not None:
            parts[0] = f"{self._leg.name}: {parts[0]}"
        if now > start and step > first:
            speed = (step - first) / (now - start)
            parts += [
                f"{speed:.0f} {words.steps}/s" if speed >= 5 else f"{speed:.1f} {words.steps}/s"
            ]
            if words.updates:
                parts += [f"{(updates - first_updates) / (now - start):.0f} {words.updates}/s"]
        if self._distance is not None:
            parts += [words.value.format(self._distance)]
        if now > start and step > first:
            rest = max(0, self._of - step) * (now - start) / (step - first)
            parts += [f"ETA {duration(rest)}"]
            if self._leg is not None and self._leg.after and step < self._of:
                # Other stages are expected to be as much slower or faster as this one is.
                pace = rest / (self._leg.own * (1 - step / self._of))
                parts += [f"of all stages {duration(rest + pace * self._leg.after)}"]
        return ", ".join(parts)

    def _share(self, done: int, total: int) -> float:
        """Return how much of the run is done, by expected time where there are other stages."""
        share = min(1.0, done / max(1, total))  # a round may go beyond the total
        leg = self._leg
        return share if leg is None else (leg.before + leg.own * share) / leg.whole

    def note(self, text: str) -> None:
        """Write a line of its own, above the bar if there is one."""
        self._screen.note(text)

    def __enter__(self) -> Self:
        self._screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.__exit__()
        if self._line and not self._screen.live:
            self._write()

    def _write(self) -> None:
        self.note(self._line)
        self._line = ""
