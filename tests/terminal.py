"""A terminal that remembers what one sees on it."""

import io
import re


class Terminal(io.StringIO):
    """A terminal of 100 by 12 that is written to; `lines` is what one sees on it."""

    def __init__(self, monkeypatch):
        super().__init__()
        for name, value in {"TERM": "xterm", "COLUMNS": "100", "LINES": "12"}.items():
            monkeypatch.setenv(name, value)

    def isatty(self):
        return True

    def lines(self):
        screen, row = [""], 0
        for part in re.split(r"(\x1b\[[?0-9;]*[A-Za-z]|\n|\r)", self.getvalue()):
            if part == "\n":
                row += 1
                screen += [""] * (row + 1 - len(screen))
            elif part == "\x1b[1A":
                row -= 1
            elif part == "\x1b[2K":
                screen[row] = ""
            elif not part.startswith("\x1b") and part != "\r":
                screen[row] += part
        return [line.rstrip() for line in screen if line.strip()]
