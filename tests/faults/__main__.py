"""`python -m tests.faults`: the fault campaign. `make faults` runs it in full.

It lives with the tests, because it needs their libraries and takes parts of the package apart that
users do not touch; the promises it checks are in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from smorl.files import make_folder, write_text
from smorl.runs.versions import current_versions
from tests.faults import commands, env_api, kills, mutations, real_commands, soak, surroundings
from tests.faults.outcomes import Tally

FEWEST = 10_000  # tries of the full campaign


def parts(folder: Path, short: bool) -> dict[str, Callable[[], list[Tally]]]:
    """Return the parts of the campaign by name, each with a folder of its own."""

    def own(name: str) -> Path:
        return make_folder(folder / name)

    methods = ["smorl-gt"] if short else list(kills.RUNS)
    return {
        "api": lambda: [env_api.run(200 if short else 5000)],
        "files": lambda: mutations.run(own("files"), *((100, 40, 3) if short else (3000, 800, 60))),
        "commands": lambda: commands.run(own("commands"), 100 if short else 2400),
        "real": lambda: real_commands.run(own("real"), 40 if short else 1),
        "kills": lambda: kills.run(own("kills"), methods, *((25, 0) if short else (1, 4))),
        "surroundings": lambda: surroundings.run(own("around"), *((40, 1) if short else (2, 12))),
        "soak": lambda: soak.run(own("soak"), 40_000 if short else 1_000_000),
    }


def table(tallies: list[Tally]) -> str:
    """Return the result as a Markdown table."""
    lines = ["| part | tries | survived | clear refusals | failures |", "|---|---|---|---|---|"]
    for tally in [*tallies, _sum(tallies)]:
        numbers = (tally.tries, tally.survived, tally.refused, len(tally.failures))
        lines.append(f"| {tally.part} | " + " | ".join(f"{n:,}" for n in numbers) + " |")
    return "\n".join(lines) + "\n"


def _sum(tallies: list[Tally]) -> Tally:
    total = Tally("**all**")
    for tally in tallies:
        total.survived += tally.survived
        total.refused += tally.refused
        total.failures += tally.failures
    return total


def main(argv: list[str]) -> int:
    """Run the campaign, print its table and the failures; 0 if there are none."""
    args = _parser().parse_args(argv)
    # Who starts us in the background may have us ignore Ctrl-C, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")  # of libraries, about thousands of values that are no good
    tallies, seconds = [], {}
    command = " ".join(["python -m tests.faults", *argv])
    with tempfile.TemporaryDirectory(prefix="smorl-faults-") as name:
        chosen = parts(Path(name), args.short)
        for part in args.only or chosen:
            started = time.monotonic()
            found = chosen[part]()
            seconds[part] = round(time.monotonic() - started, 1)
            tallies += found
            for tally in found:
                failed = len(tally.failures)
                sys.stderr.write(f"{tally.part}: {tally.tries} tries, {failed} failures\n")
            if args.keep:  # whatever happens to the parts to come
                _keep(Path(args.keep), tallies, seconds, command)
    sys.stdout.write(table(tallies))
    total = _sum(tallies)
    sys.stdout.write("".join(f"FAILED {text}\n" for text in total.failures[:50]))
    enough = args.short or args.only or total.tries >= FEWEST
    if not enough:
        sys.stdout.write(f"Only {total.tries} of {FEWEST} tries.\n")
    return 0 if enough and not total.failures else 1


def _keep(path: Path, tallies: list[Tally], seconds: dict[str, float], command: str) -> None:
    rows = [
        {"part": t.part, "tries": t.tries, "survived": t.survived, "refused": t.refused,
         "failures": t.failures}
        for t in tallies
    ]  # fmt: skip
    made = {**current_versions(command), "seconds": seconds}
    write_text(path, json.dumps({"made": made, "parts": rows}, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few hundred tries, in a minute")
    names = ("api", "files", "commands", "real", "kills", "surroundings", "soak")
    parser.add_argument("--only", nargs="+", choices=names, help="these parts only")
    parser.add_argument("--keep", metavar="F.json", help="write the result here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
