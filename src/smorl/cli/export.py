"""`smorl export RUN FILE`: one small file with everything an agent needs to act."""

import argparse
import sys
from pathlib import Path

from smorl.errors import InvalidInput


def main(argv: list[str]) -> int:
    """Write the file and say what it holds."""
    args = _parser().parse_args(argv)
    file = Path(args.file)
    if file.suffix != ".safetensors":
        raise InvalidInput(f"cannot write {args.file}: end the name with .safetensors.")
    # Imported here so that `--help` answers at once.
    from smorl.trained.agent_file import export_agent

    header, notes = export_agent(Path(args.run), file)
    for note in notes:
        sys.stderr.write(f"Note: {note} The checkpoint before it was taken.\n")
    seeing = header["perception"]
    eyes = "" if seeing is None else f", perception {seeing['shipped'] or 'inside'}"
    sys.stdout.write(
        f"{file}: {header['config']['method']} after {header['env_steps']} steps in "
        f"{header['config']['env']}{eyes}, {file.stat().st_size / 1e6:.1f} MB. "
        f"`smorl evaluate {file}` plays it.\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl export",
        description="Put the agent of a run folder into one file, without replay and optimisers: "
        "networks, settings, prior and perception. Commands that take a run take the file too.",
    )
    parser.add_argument("run", help="a run folder, e.g. runs/visual-rearrange-1-seed0")
    parser.add_argument("file", help="the file to write, e.g. agent.safetensors")
    return parser
