"""The errors users can cause. Each message names the offending value and the remedy.

The command line prints a `SmorlError` as one sentence without a traceback; any other exception
is a bug of ours and keeps its traceback.
"""

import difflib
from collections.abc import Iterable


class SmorlError(Exception):
    """Base of every error that a user can cause and mend."""


class InvalidInput(SmorlError, ValueError):
    """A value passed to a function, an option or a config field is not acceptable."""


class NotReset(SmorlError, RuntimeError):
    """An environment was stepped or rendered before `reset`."""


class DamagedFile(SmorlError):
    """A file on disk is missing, truncated, or does not match its recorded hash."""


class NotTrusted(SmorlError):
    """A file names Python code to run, and nobody has said that it may be run."""


class CannotWrite(SmorlError):
    """A file or folder cannot be written: the disk is full, read-only, or not there."""


class RunConflict(SmorlError):
    """A run folder exists and belongs to something else than what was asked for."""


class Diverged(SmorlError):
    """Training produced NaN or exploding values and was stopped."""


def did_you_mean(word: str, known: Iterable[str], prefix: str = "", suffix: str = "") -> str:
    """Return " Did you mean 'x'?" when a known word is close to `word`, else "".

    `prefix` and `suffix` are what all known words share: likeness in these says nothing.
    """
    names = {name.removeprefix(prefix).removesuffix(suffix): name for name in known}
    short = word[:100].removeprefix(prefix).removesuffix(suffix)
    close = difflib.get_close_matches(short, list(names), n=1, cutoff=0.6)
    return f" Did you mean {names[close[0]]!r}?" if close else ""
