"""What became of a try: it went well, it was refused in a sentence, or it failed."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from smorl.cli import main
from smorl.errors import SmorlError

SURVIVED, REFUSED = "survived", "refused"
Check = Callable[[Any], bool]


@dataclass
class Tally:
    """The tries of one part of the campaign."""

    part: str
    survived: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    _said: float = field(default_factory=time.monotonic)

    @property
    def tries(self) -> int:
        return self.survived + self.refused + len(self.failures)

    def add(self, name: str, outcome: str) -> None:
        """Count one try; an outcome that is neither good nor a refusal is a failure."""
        if time.monotonic() - self._said > 60:
            self._said = time.monotonic()
            sys.stderr.write(f"{self.part}: {self.tries} tries, now {name}\n")
        if outcome == SURVIVED:
            self.survived += 1
        elif outcome == REFUSED:
            self.refused += 1
        else:
            self.failures.append(f"{name}: {outcome}")
            sys.stderr.write(f"FAILED {name}: {outcome}\n")

    def attempt(
        self, name: str, call: Callable[[], Any], check: Callable[[Any], bool] | None = None
    ):
        """Call, and count what came of it; `check` says whether a result is a right one."""
        self.add(name, attempt(call, check))


def attempt(call: Callable[[], Any], check: Check | None = None) -> str:
    """Return the outcome of a call: only errors of `smorl.errors` count as refusals."""
    try:
        result = call()
    except SmorlError as error:
        return REFUSED if 10 < len(str(error)) < 2000 else f"says nothing useful: {error!r:.200}"
    except BaseException as error:
        return last_lines(error)
    return SURVIVED if check is None or check(result) else f"a wrong result: {result!r:.200}"


def command(words: list[str]) -> str:
    """Return the outcome of a command: exit code 0 or 130, or 2 with a sentence."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except SystemExit as error:  # argparse
        code = error.code
    except BaseException as error:
        return last_lines(error)
    said = err.getvalue()
    if "Traceback" in said:
        return said[-300:]
    if code in (0, 130):
        return SURVIVED
    return REFUSED if code in (1, 2) and said.strip() else f"exit code {code}, said {said!r:.200}"


def last_lines(error: BaseException) -> str:
    """Return an exception and where it came from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = next((f for f in reversed(frames) if "smorl" in f.filename), frames[-1])
    return (
        f"{type(error).__name__}: {error!s:.160} ({inner.filename.split('/')[-1]}:{inner.lineno})"
    )
