"""What commands share: settings given as options, tables, and stopping in an orderly way."""

import sys
from typing import Any

from smorl.config import to_json
from smorl.errors import InvalidInput
from smorl.explain import options


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
