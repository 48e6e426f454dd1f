"""What commands share: settings given as options, tables, and stopping in an orderly way."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from smorl.config import paths, to_json
from smorl.errors import InvalidInput


def overrides(words: list[str], example: str) -> dict[str, str]:
    """Turn `--a.b 1 --c=2` into {"a.b": "1", "c": "2"}; mistakes are answered by an example."""
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            raise InvalidInput(f"unexpected {word!r}; options look like {example}.")
        name, given, value = word[2:].partition("=")
        if not given:
            following = next(rest, None)
            if following is None:
                raise InvalidInput(f"--{name} needs a value, e.g. {example}.")
            value = following
        found[name.replace("-", "_")] = value
    return found


def fields(config: Any) -> str:
    """Return the fields of a config and their values, one per line, as options."""
    data = to_json(config)
    lines = []
    for path in paths(type(config), data):
        value: Any = data
        for name in path.split("."):
            value = value[name]
        if not isinstance(value, dict):
            lines.append(f"  --{path} {json.dumps(value)}")
    return "\nfields of this preset:\n" + "\n".join(lines) + "\n"


def aligned(summary: dict[str, Any]) -> str:
    """Return names and values, one pair per line, the values in one column."""
    width = max(map(len, summary))
    lines = (
        f"{k:<{width}}  {v:.4f}" if isinstance(v, float) else f"{k:<{width}}  {v}"
        for k, v in summary.items()
    )
    return "\n".join(lines) + "\n"


def show_episodes(done: int, total: int, name: str = "") -> None:
    """Count episodes on one line of the terminal; nothing where nobody watches."""
    if sys.stderr.isatty():
        end = "\r" if done < total else "\n"
        sys.stderr.write(f"{name}{done}/{total} episodes{end}")
        sys.stderr.flush()


class Stoppable(Protocol):
    """A trainer that looks at `stop_requested` now and then."""

    stop_requested: bool


class Notes(Protocol):
    """Who is told."""

    def note(self, text: str) -> None: ...


@contextmanager
def orderly_stop(trainer: Stoppable, notes: Notes, when: str) -> Iterator[None]:
    """Turn the first Ctrl-C (or SIGTERM) into a request to save and stop."""

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        notes.note(f"Stopping: finishing {when} and saving. Ctrl-C again stops at once.")

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
