"""All jobs on one screen, read from the files that the runs write anyway."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from smorl.paper.jobs import Job
from smorl.runs.screen import Screen, bar, duration

_TAIL = 65_536  # bytes; a row of metrics is much shorter
_SETTLED = 20.0  # seconds of this session after which measured speed counts
_NAMED = 8  # runs named on one line
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

    def distance(self) -> float | None:
        """Return the distance (metres) of the newest evaluation, if there is one."""
        rows = evaluations(self.job.writes) if self.key == "env_steps" and self.total else []
        return rows[-1][1] if rows else None


def evaluations(run: Path) -> list[tuple[int, float]]:
    """Return environment steps and distance (metres) of every whole row a run has evaluated."""
    try:
        whole, _, _ = (run / "evaluations.csv").read_text("utf-8").rpartition("\n")
        rows = list(csv.DictReader(whole.splitlines()))
        return [(int(row["env_steps"]), float(row["object_distance"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []


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
    """Shows how far all jobs are together, weighed by their expected minutes, and each that runs.

    On a terminal: a bar, and below it a line for every running job. Elsewhere: a line every
    `every` seconds. The ETA is that of the table of costs at first, and corrected by what this
    session measures. `planned`: how many jobs there will be, where not all are known at first.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        workers: int,
        *,
        planned: int = 0,
        stream: IO[str] | None = None,
        every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gauges = [Gauge(job) for job in jobs]
        self._workers, self._clock = workers, clock
        self._planned = max(planned, len(jobs))
        self._screen = Screen(stream, every=every, clock=clock)
        self._began = clock()
        self._looked = float("-inf")
        self._jobs: tuple[Sequence[Job], Sequence[Job], Sequence[Job]] = ((), (), ())
        self._shares = {g.job.writes: g.share() for g in self._gauges}
        self._first = self._work(self._shares)
        self._seen: dict[Path, tuple[float, float]] = {}  # when a run was first seen, how far

    @property
    def jobs(self) -> list[Job]:
        """What is shown."""
        return [gauge.job for gauge in self._gauges]

    def add(self, job: Job) -> None:
        """Show one more job."""
        gauge = Gauge(job)
        self._gauges.append(gauge)
        self._shares[job.writes] = gauge.share()
        self._planned = max(self._planned, len(self._gauges))

    def show(self, done: Sequence[Job], running: Sequence[Job], gone: Sequence[Job]) -> None:
        """Look at the files, at most once a second, and show. `gone` will never be done."""
        now = self._clock()
        self._jobs = (done, running, gone)
        if now - self._looked >= 1.0:
            self._looked = now
            self._draw()

    def _draw(self) -> None:
        done, running, gone = self._jobs
        active, ended = {job.writes for job in running}, {job.writes for job in (*done, *gone)}
        for gauge in self._gauges:  # what waits does not change
            path = gauge.job.writes
            if path in ended or path in active:
                self._shares[path] = 1.0 if path in ended else gauge.share()
        line = self.describe(self._shares, len(done))
        share = self._work(self._shares) / self._whole
        if self._screen.live:
            lines = self._lines(active, self._screen.height - 4)
            self._screen.draw([f"{bar(share)}  {line}", *lines])
        elif self._screen.due():
            names = self._lines(active, _NAMED)
            more = f" ({', '.join(' '.join(name.split()) for name in names)})" if names else ""
            self.note(f"{100 * share:.0f} %, {line}{more}")

    def describe(self, shares: Shares, done: int) -> str:
        """Return the state of all jobs as one line."""
        gauges = [g for g in self._gauges if g.key == "env_steps" and g.total]
        parts = [f"{done} of {self._planned} done"]
        if gauges and self._planned == len(self._gauges):
            steps = sum(round(shares[g.job.writes] * g.total) for g in gauges)
            parts.append(f"{steps:,} of {sum(g.total for g in gauges):,} steps")
        parts.append(f"ETA {duration(self.rest(shares))}")
        return ", ".join(parts)

    def _lines(self, active: set[Path], room: int) -> list[str]:
        """Return a line for every job that runs, as many as there is room for."""
        gauges = [g for g in self._gauges if g.job.writes in active]
        shown = gauges if len(gauges) <= room else gauges[: max(1, room - 1)]
        width = max((len(g.job.name) for g in shown), default=0)
        lines = [self._line(gauge, width) for gauge in shown]
        rest = len(gauges) - len(shown)
        return [*lines, f"and {rest} more"] if rest else lines

    def _line(self, gauge: Gauge, width: int) -> str:
        share, now = self._shares[gauge.job.writes], self._clock()
        began, first = self._seen.setdefault(gauge.job.writes, (now, share))
        line = f"{gauge.job.name:<{width}} {100 * share:3.0f} %"
        distance = gauge.distance()
        line += "" if distance is None else f" {distance:.3f} m"
        if share > first and now > began and self._screen.live:
            line += f" ETA {duration((1 - share) * (now - began) / (share - first))}"
        return line

    def rest(self, shares: Shares) -> float:
        """Return the seconds that are left."""
        work, passed = self._work(shares), self._clock() - self._began
        left, gained = self._whole - work, work - self._first
        if passed > _SETTLED and gained > 0:
            return left * passed / gained
        return 60.0 * left / self._workers

    def note(self, text: str) -> None:
        """Write a line of its own, above the bar if there is one."""
        self._screen.note(text)

    @property
    def _whole(self) -> float:
        known = sum(g.job.minutes for g in self._gauges)
        return known * self._planned / max(1, len(self._gauges)) or 1.0

    def _work(self, shares: Shares) -> float:
        return sum(g.job.minutes * shares[g.job.writes] for g in self._gauges)

    def __enter__(self) -> Self:
        self._screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen.live:
            self._draw()  # what stays on the screen is how it ended
        self._screen.__exit__()
