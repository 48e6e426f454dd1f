"""One bar over all jobs, read from the files that the runs write anyway."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress

from smorl.paper.jobs import Job
from smorl.runs.progress import duration

_TAIL = 65_536  # bytes; a row of metrics is much shorter
_SETTLED = 20.0  # seconds of this session after which measured speed counts
_WIDE = 130  # characters
Shares = Mapping[Path, float]


class Gauge:
    """How far a run is, from its own `metrics.jsonl`."""

    def __init__(self, job: Job) -> None:
        self.job, self.total, self.key = job, 0, "env_steps"
        self._metrics = job.writes / "metrics.jsonl"
        if job.training is not None:
            config = job.training.config()
            if job.training.perception:
                self.key, self.total = "iteration", int(config["optimise"]["iterations"])
            else:
                self.total = int(config["collect"]["total_steps"])

    def share(self) -> float:
        """Return how much is done, from 0 to 1; the end is for the runner to say."""
        row = last_row(self._metrics) if self.total else None
        return 0.0 if row is None else min(1.0, row.get(self.key, 0) / self.total)


def last_row(path: Path) -> dict | None:
    """Return the last whole row of a JSONL file, None if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            lines = file.read().split(b"\n")[:-1]
        return json.loads(lines[-1]) if lines else None
    except (OSError, ValueError):
        return None


class Board:
    """Shows how far all jobs are together; weighed by their expected minutes.

    On a terminal: a bar. Elsewhere: a line every `every` seconds. The ETA is that of the table of
    costs at first, and corrected by what this session measures.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        workers: int,
        *,
        stream: IO[str] | None = None,
        every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gauges = [Gauge(job) for job in jobs]
        self._workers, self._every, self._clock = workers, every, clock
        self._stream = sys.stderr if stream is None else stream
        self._began = self._last_line = clock()
        self._looked = float("-inf")
        self._first = self._work({g.job.writes: g.share() for g in self._gauges})
        self._bar: RichProgress | None = None
        console = Console(file=self._stream)
        if console.is_terminal and not console.is_dumb_terminal:
            columns = TextColumn("{task.percentage:3.0f} %"), TextColumn("{task.fields[line]}")
            bar = BarColumn(bar_width=24)
            self._bar = RichProgress(bar, *columns, console=console, refresh_per_second=2)
            self._task = self._bar.add_task("", total=1.0, line="starting")

    def show(self, done: Sequence[Job], running: Sequence[Job], gone: Sequence[Job]) -> None:
        """Look at the files, at most once a second, and show. `gone` will never be done."""
        now = self._clock()
        if now - self._looked < 1.0:
            return
        self._looked = now
        ended = {job.writes for job in (*done, *gone)}
        shares = {g.job.writes: 1.0 if g.job.writes in ended else g.share() for g in self._gauges}
        # On a narrow terminal the names of runs would push out the bar.
        wide = self._bar is None or self._bar.console.width >= _WIDE
        line = self.describe(shares, len(done), [job.writes for job in running] if wide else [])
        if self._bar is not None:
            self._bar.update(self._task, completed=self._work(shares) / self._whole, line=line)
        elif now - self._last_line >= self._every:
            self._last_line = now
            self.note(f"{100 * self._work(shares) / self._whole:.0f} %, {line}")

    def describe(self, shares: Shares, done: int, running: Sequence[Path]) -> str:
        """Return the state as one line."""
        gauges = [g for g in self._gauges if g.key == "env_steps" and g.total]
        parts = [f"{done} of {len(self._gauges)} done"]
        if gauges:
            steps = sum(round(shares[g.job.writes] * g.total) for g in gauges)
            parts.append(f"{steps:,} of {sum(g.total for g in gauges):,} steps")
        parts.append(f"ETA {duration(self.rest(shares))}")
        names = {g.job.writes: g.job.name for g in self._gauges}
        now = ", ".join(f"{names[path]} {100 * shares[path]:.0f} %" for path in running)
        return ", ".join(parts) + (f" ({now})" if now else "")

    def rest(self, shares: Shares) -> float:
        """Return the seconds that are left."""
        work, passed = self._work(shares), self._clock() - self._began
        left, gained = self._whole - work, work - self._first
        if passed > _SETTLED and gained > 0:
            return left * passed / gained
        return 60.0 * left / self._workers

    def note(self, text: str) -> None:
        """Write a line of its own, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    @property
    def _whole(self) -> float:
        return sum(g.job.minutes for g in self._gauges) or 1.0

    def _work(self, shares: Shares) -> float:
        return sum(g.job.minutes * shares[g.job.writes] for g in self._gauges)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
