"""`smorl presets`: list the presets, or print one as JSON."""

import argparse
import json
import sys

from smorl.config import to_json
from smorl.presets import PRESETS, get_preset


def main(argv: list[str]) -> int:
    """List presets, or print the one that is named."""
    parser = argparse.ArgumentParser(
        prog="smorl presets",
        description="Without a name: all presets, one line each. With a name: its settings as "
        "JSON; every field can be changed in `smorl train NAME --field VALUE`.",
    )
    parser.add_argument("name", nargs="?", help="a preset, e.g. gt-rearrange-2")
    parser.add_argument(
        "--provenance", action="store_true", help="print where a paper preset's numbers come from"
    )
    args = parser.parse_args(argv)
    if args.name is None:
        width = max(map(len, PRESETS))
        lines = [f"{name:<{width}}  {preset.line}" for name, preset in PRESETS.items()]
        sys.stdout.write("\n".join(lines) + "\n")
        return 0
    preset = get_preset(args.name)
    if args.provenance:
        sources = preset.provenance or {"(all)": "ours; docs/learner.md gives the reasons"}
        sys.stdout.write("".join(f"{k}: {v}\n" for k, v in sources.items()))
    else:
        sys.stdout.write(json.dumps(to_json(preset.build()), indent=2) + "\n")
    return 0
