"""What a run writes while it trains: metrics, evaluations, timings, and progress for people.

Metrics and evaluations hold nothing that depends on the clock, and can be cut back to where a
checkpoint was taken. Hence a run that was killed and resumed ends with the same bytes in both as
one that never was.
"""

import csv
import errno
import io
import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from smorl.config import JSON
from smorl.errors import CannotWrite, DamagedFile, InvalidInput, RunConflict
from smorl.files import cannot_write
from smorl.runs.boards import NO_BOARDS, Boards
from smorl.runs.folder import RunDir

_LONGEST_HEADER = 10_000  # bytes of the evaluation table's first line


class RunLogger:
    """Appends rows to `metrics.jsonl`, `evaluations.csv` and `timing.jsonl` of a run.

    Rows carry `env_steps` next to their other values, and the evaluation table has exactly
    `columns`. Call `truncate` before the first row: with the position in the checkpoint on a
    resume, with None at the start of a run.
    """

    def __init__(self, run: RunDir, columns: Sequence[str], boards: Boards = NO_BOARDS) -> None:
        self._columns = list(columns)
        self._header = _csv_row(self._columns)
        self._boards = boards.open(run)
        self._metrics = _RowFile(run.metrics)
        self._evaluations = _RowFile(run.evaluations)
        self._timing = _RowFile(run.timing)
        self._start_table()

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Append one row of named numbers, e.g. `critic/loss`. NaN is written as null."""
        self._metrics.append(_json_row(row))
        self._show(row, "")

    def evaluation(self, row: Mapping[str, Any]) -> None:
        """Append one row to the evaluation table."""
        if set(row) != set(self._columns):
            missing, extra = set(self._columns) - set(row), set(row) - set(self._columns)
            raise InvalidInput(
                f"The row does not fit the columns of the evaluation table: missing "
                f"{sorted(missing)}, unknown {sorted(extra)}."
            )
        self._evaluations.append(_csv_row([_plain(name, row[name]) for name in self._columns]))
        self._show(row, "evaluation/")

    def timing(self, row: Mapping[str, Any]) -> None:
        """Append one row of wall-clock readings, which two equal runs do not share."""
        self._timing.append(_json_row(row))

    def position(self) -> dict[str, JSON]:
        """Force the rows onto the disk and return where they end, for a checkpoint."""
        return {"metrics": self._metrics.sync(), "evaluations": self._evaluations.sync()}

    def truncate(self, position: Mapping[str, JSON] | None) -> None:
        """Forget the rows after `position`; after None there are no rows at all."""
        at = position or {"metrics": 0, "evaluations": 0}
        # Both are checked first, so that a damaged one leaves the other as it was.
        files = ((self._metrics, at["metrics"]), (self._evaluations, at["evaluations"]))
        for file, size in files:
            file.check(size)
        for file, size in files:
            file.cut(size)
        self._start_table()

    def close(self) -> None:
        for file in (self._metrics, self._evaluations, self._timing):
            file.close()
        for board in self._boards:
            board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_table(self) -> None:
        """Write the header of an empty table, or check the header of one with rows."""
        start = self._evaluations.start()
        if self._header.encode().startswith(start) and start != self._header.encode():
            # Empty, or cut short by a kill within the header.
            self._evaluations.cut(0)
            self._evaluations.append(self._header)
        elif start != self._header.encode():
            raise RunConflict(
                f"{self._evaluations.path} has the columns {start.decode(errors='replace')!r}, "
                f"this program writes {self._header!r}; use another --out."
            )

    def _show(self, row: Mapping[str, Any], prefix: str) -> None:
        if not self._boards:
            return
        plain = {name: _plain(name, value) for name, value in row.items() if name != "env_steps"}
        numbers = {prefix + n: v for n, v in plain.items() if isinstance(v, int | float)}
        for board in self._boards:
            board.show(numbers, row["env_steps"])


class _RowFile:
    """A file that grows by whole rows, each written at once and without a buffer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = open(path, "a+b", buffering=0, opener=_open_own)  # noqa: SIM115
        except OSError as error:
            raise self._unwritable(error) from error

    def append(self, row: str) -> None:
        data = memoryview(row.encode())
        try:
            if not os.fstat(self._file.fileno()).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "it was removed while the run was going on")
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def sync(self) -> int:
        try:
            os.fsync(self._file.fileno())
            return os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise self._unwritable(error) from error

    def start(self) -> bytes:
        self._file.seek(0)
        return self._file.readline(_LONGEST_HEADER)

    def check(self, size: int) -> None:
        found = os.fstat(self._file.fileno()).st_size
        if found < size:
            raise DamagedFile(
                f"{self.path} has {found} bytes, but had {size} when the checkpoint was taken; "
                "restore it from a copy, or start a new run."
            )

    def cut(self, size: int) -> None:
        try:
            os.ftruncate(self._file.fileno(), size)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        self._file.close()

    def _unwritable(self, error: OSError) -> CannotWrite:
        return cannot_write(self.path, error, ", and run the same command again to resume")


def _open_own(path: str, flags: int) -> int:
    """Open a file of the run to append to; never what a link leads to, nor a pipe."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file")
    return handle


def _plain(name: str, value: Any) -> JSON:
    """Return a number, text, flag or None as plain Python; NaN and infinity become None."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(f"{name!r} is a {type(value).__name__}; log one number or text per name.")


def _json_row(row: Mapping[str, Any]) -> str:
    return json.dumps({name: _plain(name, row[name]) for name in row}, allow_nan=False) + "\n"


def _csv_row(values: Sequence[JSON]) -> str:
    text = io.StringIO()
    # The csv module writes floats by repr, so they read back exactly.
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
