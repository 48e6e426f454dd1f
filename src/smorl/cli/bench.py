"""`smorl bench [WHAT]`: measure speed, by the modules of `smorl.bench`."""

import importlib
import sys
from typing import Any

from smorl.errors import InvalidInput, did_you_mean

_TARGETS = {
    "envs": "environment steps per second, state and visual",
    "learner": "update time, relabelling and whole-loop speed",
    "perception": "training, tracking and sampling speed of SCALOR",
    "loop": "the whole visual training loop, part by part",
    "page": "the live page under load: steps a second, and memory over time",
    "scaling": "how cost grows with slots, batch, rows and objects",
}
# Measurements of one part only live with it.
_ELSEWHERE = {"perception": "smorl.representations.scalor.bench.speed"}

_HELP = """\
usage: smorl bench [what] [--json] [--quick]
       smorl bench [--quick] [--json] [--save FOLDER] [--from FOLDER] [--figure FILE]

Without `what`: envs, learner, perception and loop, about ten minutes on a quiet machine (--quick:
three), then one table of what is how fast beside what, and where the time goes.
  --save FOLDER  keep every report there, as FOLDER/PART.json
  --from FOLDER  make table and figure of kept reports, without measuring
  --figure FILE  also draw it, e.g. speed.png

what:
"""


def main(argv: list[str]) -> int:
    """Run one benchmark with the remaining arguments, or all; return the exit code."""
    if argv and argv[0] in ("-h", "--help"):
        lines = "".join(f"  {name:<12}{line}\n" for name, line in _TARGETS.items())
        sys.stdout.write(_HELP + lines)
        return 0
    if not argv or argv[0].startswith("-"):
        return importlib.import_module("smorl.bench.whole").main(argv, _module)
    target = argv[0]
    if target not in _TARGETS:
        hint = did_you_mean(target, _TARGETS)
        raise InvalidInput(
            f"Nothing to measure called {target!r}; use {', '.join(_TARGETS)}.{hint}"
        )
    return _module(target).main(argv[1:])


def _module(target: str) -> Any:
    return importlib.import_module(_ELSEWHERE.get(target, f"smorl.bench.{target}"))
