"""What commands share: settings given as options, tables, and stopping in an orderly way."""

import argparse
import sys
from typing import Any

from smorl.config import to_json
from smorl.errors import InvalidInput
from smorl.explain import options

# What the numbers of all verbs may be, by name; more is a slip of the finger.
_NUMBERS = {
    "episodes": (1, 10**6), "films": (1, 1000), "steps": (1, 10**5), "imagine": (1, 10**5),
    "seed": (0, 2**31), "threads": (1, 1024), "every": (1, 10**5), "zoom": (1, 64),
    "points": (2, 10**6), "clusters": (1, 1000), "bins": (2, 10**4), "fps": (1, 240),
    "size": (16, 4096), "seeds": (1, 10**4), "search": (1, 10**5), "jobs": (1, 10**4),
    "retries": (0, 1000), "visitors": (1, 64), "port": (0, 65535),
    "trials": (1, 10**6),
}  # fmt: skip


def check_numbers(args: argparse.Namespace) -> argparse.Namespace:
    """Return what was parsed, all of whose numbers are within their range."""
    for name, (low, high) in _NUMBERS.items():
        value = getattr(args, name, None)
        if value is not None and not low <= value <= high:
            limit = f"at least {low}" if value < low else f"at most {high}"
            raise InvalidInput(f"--{name} {value} must be {limit}.")
    return args


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add `--device`; whoever loads the networks checks it, because that takes torch."""
    parser.add_argument(
        "--device", default="cpu", metavar="NAME",
        help="where networks compute: cpu, cuda or mps (default cpu, wherever it was trained)",
    )  # fmt: skip


def say(text: str) -> None:
    """Print a line now, not when the buffer is full."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


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
    """Return the settings of a config, their values and what they mean, as options."""
    return f"\nsettings of this preset:\n{options(config, to_json(config))}\n"


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
