"""`smorl envs`: list the environments."""

import argparse
import json
import sys

from smorl.envs.registration import EnvId, env_ids


def main(argv: list[str]) -> int:
    """Write the table of registered ids to stdout; return the exit code."""
    parser = argparse.ArgumentParser(prog="smorl envs", description="List the environments.")
    parser.add_argument("--json", action="store_true", help="as a JSON list")
    arguments = parser.parse_args(argv)
    rows = [_row(env) for env in env_ids()]
    if arguments.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return 0
    table = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.write(
        "\nsteps: episode length. passive: mean puck distance in metres when nothing moves.\n"
        "In Python: import smorl, gymnasium; gymnasium.make('smorl/Rearrange2-v0')\n"
    )
    return 0


def _row(env: EnvId) -> dict[str, str | int | float]:
    return {
        "id": env.id,
        "pucks": env.num_objects,
        "observation": env.observation,
        "steps": env.episode_steps,
        "passive": env.passive_distance,
    }
