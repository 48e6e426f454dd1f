"""`smorl perception collect|train|evaluate|show|results`: from pixels to objects, before any RL."""

import importlib
import sys

from smorl.errors import InvalidInput, did_you_mean

_TARGETS = {
    "collect": "record random-policy sequences of pictures and actions",
    "train": "train SCALOR from a preset; run again to resume",
    "evaluate": "compare what a run detects with the simulator, on held-out episodes",
    "show": "draw what a run sees: boxes, reconstruction, masks",
    "results": "a table of finished runs; keep them for the record",
}


def main(argv: list[str]) -> int:
    """Run one of the commands with the remaining arguments; return the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        lines = "".join(f"  {name:<10}{line}\n" for name, line in _TARGETS.items())
        sys.stdout.write(
            "usage: smorl perception <command> [options]\n\n"
            "Objects from pixels, self-supervised. Training collects its own data; wherever a RUN "
            "is asked for,\n`shipped:scalor-2` names weights that come with the package.\n\n"
            f"commands:\n{lines}\n"
            "`smorl perception <command> --help` explains one. Start with "
            "`smorl perception train scalor-2`.\n"
        )
        return 0
    target = argv[0]
    if target not in _TARGETS:
        hint = did_you_mean(target, _TARGETS)
        raise InvalidInput(f"no command called {target!r}; use {', '.join(_TARGETS)}.{hint}")
    return importlib.import_module(f"smorl.cli.perception_{target}").main(argv[1:])
