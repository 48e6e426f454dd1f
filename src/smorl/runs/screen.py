"""What people are shown while something takes its time: the one display of every progress.

On a terminal some lines that are drawn over, elsewhere a plain line now and then.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

BAR = 24  # letters


class Screen:
    """Use as a context manager. `live` says whether there is a terminal; nothing when `quiet`."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        every: float = 30.0,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
        transient: bool = False,
    ) -> None:
        """`every`: seconds between plain lines; a `transient` screen is cleared at the end."""
        self._stream = sys.stderr if stream is None else stream
        self._every, self._quiet, self._clock = every, quiet, clock
        self._last_line = clock()
        self._live: Live | None = None
        console = Console(file=self._stream)
        if not quiet and console.is_terminal and not console.is_dumb_terminal:
            start = Text("starting")
            self._live = Live(start, console=console, refresh_per_second=4, transient=transient)

    @property
    def live(self) -> bool:
        """Whether lines are drawn over."""
        return self._live is not None

    @property
    def height(self) -> int:
        """Lines of the terminal; 0 where there is none."""
        return 0 if self._live is None else self._live.console.height

    def draw(self, lines: Sequence[str]) -> None:
        """Replace what is on the terminal; nothing elsewhere."""
        if self._live is not None:
            self._live.update(Text("\n".join(lines)))

    def due(self) -> bool:
        """Whether it is time for another plain line, which the caller then writes."""
        now = self._clock()
        if self.live or now - self._last_line < self._every:
            return False
        self._last_line = now
        return True

    def note(self, text: str) -> None:
        """Write a line that stays, above those that are drawn over."""
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif not self._quiet:
            self._stream.write(text + "\n")
            self._stream.flush()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()


def bar(share: float) -> str:
    """Return a bar of which `share`, from 0 to 1, is full, and the percentage."""
    full = round(BAR * share)
    return f"{'━' * full}{'─' * (BAR - full)} {100 * share:3.0f} %"


def duration(seconds: float) -> str:
    """Return seconds as h:mm:ss, or m:ss under an hour."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
