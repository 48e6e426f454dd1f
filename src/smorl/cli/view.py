"""`smorl view`: a live page. Drag a puck's goal, and watch an agent see, choose and push."""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from smorl.cli.options import check_numbers, say
from smorl.errors import InvalidInput

if TYPE_CHECKING:
    from smorl.page.agents import Agents
    from smorl.page.film import Film

AGENT = "shipped:visual-rearrange-2"
_LOCAL = ("127.0.0.1", "localhost", "::1")


def main(argv: list[str]) -> int:
    """Run the verb; return the exit code."""
    args = check_numbers(_parser().parse_args(argv))
    try:
        import viser  # noqa: F401
    except ImportError as error:
        raise InvalidInput(
            f"the page needs {error.name}; install it with: pip install 'smorl[view]'"
        ) from error
    # Imported here so that `--help` answers at once.
    import torch

    from smorl.page.agents import Agents, is_ours
    from smorl.page.film import Film

    # Who leaves while something is drawn for them is no news to whoever reads the terminal.
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection", UserWarning)
    torch.set_num_threads(1)  # the networks are small: more threads only wait for each other
    agents = Agents(choices(args.run))
    run = agents.run(args.run)
    agents.foreign = not is_ours(run.config.env)
    if agents.foreign:  # whatever is wrong with it is said here, not to the first visitor
        run.envs(1).close()
    film = None if args.record is None else Film(Path(args.record))
    try:
        _serve(args, agents, film)
    finally:
        agents.close()
        if film is not None:
            frames = film.close()
            say(f"film: {film.path} ({frames} frames)" if frames else "Nobody came: no film.")
    return 0


def _serve(args: argparse.Namespace, agents: Agents, film: Film | None) -> None:
    """Serve the page until Ctrl-C."""
    from smorl.page.agents import AS_TRAINED, setup_of
    from smorl.page.casting import Seat
    from smorl.page.following import Follower
    from smorl.page.requests import Renew
    from smorl.page.server import Page, PageSettings
    from smorl.page.table import Setup

    setup = Setup() if agents.foreign else setup_of(agents.run(args.run).config.env)
    settings = PageSettings(args.host, args.port, args.visitors, args.seed)
    page = Page(agents, Seat(args.run, AS_TRAINED), setup, settings, film)
    follower = None
    if Path(args.run).is_dir():

        def renew() -> None:
            agents.forget(args.run)
            page.ask_everybody(Renew(args.run))

        follower = Follower(Path(args.run), renew, lambda now: setattr(page, "progress", now))
    _announce(page.address, args.host)
    if args.open and args.host in _LOCAL:
        webbrowser.open(page.address)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        say("Closing the page.")
    finally:
        if follower is not None:
            follower.close()
        page.stop()


def choices(run: str) -> list[str]:
    """Return the agents visitors can choose from: the one named, and those that ship."""
    from smorl import shipped

    known = [shipped.PREFIX + name for name in shipped.agent_names()]
    if run not in known and not shipped.is_shipped(run) and not Path(run).exists():
        raise InvalidInput(
            f"{run!r} is neither a run folder nor an agent's file. These come with the package: "
            f"{', '.join(known)}."
        )
    return [run, *(name for name in known if name != run)]


def _announce(address: str, host: str) -> None:
    if host not in _LOCAL:
        sys.stderr.write(
            f"Warning: --host {host} lets anybody on this network use the page. It gives no access "
            "to files, but every visitor's table costs processor time.\n"
        )
    say(f"The page: {address}   (Ctrl-C closes it)")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl view",
        description="Serve a live page: drag a puck's goal with the mouse and watch an agent chase "
        "it, with what it sees, wants and looks at beside it. Runs until Ctrl-C.",
        epilog="examples:\n"
        "  smorl view                              # the best shipped agent, two pucks\n"
        "  smorl view shipped:visual-rearrange-1   # another one\n"
        "  smorl view runs/visual-rearrange-1-seed0   # your own, even while it is training\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "run", nargs="?", default=AGENT, help=f"a run, or an agent's file (default {AGENT})"
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine only")
    parser.add_argument("--port", type=int, default=8080, help="default 8080, or the next free one")
    parser.add_argument(
        "--visitors", type=int, default=4, metavar="N", help="tables at once (default 4)"
    )
    parser.add_argument(
        "--record", default=None, metavar="FILE", help="keep what was seen, as .mp4 or .gif"
    )
    parser.add_argument("--seed", type=int, default=0, help="of tables and goals")
    parser.add_argument(
        "--no-open", dest="open", action="store_false", help="do not open a browser"
    )
    return parser
