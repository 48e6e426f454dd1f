"""`smorl export`: an agent in one small file, or episodes as a data set for others."""

import argparse
import sys
from pathlib import Path

from smorl.cli.options import check_numbers, show_episodes
from smorl.errors import InvalidInput


def main(argv: list[str]) -> int:
    """Write the file or the data set, and say what it holds."""
    args = check_numbers(_parser().parse_args(argv))
    if args.minari is not None:
        return _dataset(args)
    if args.run is None or args.file is None:
        raise InvalidInput("name a run and a file, e.g. `smorl export RUN agent.safetensors`.")
    given = {"--env": args.env, "--out": args.out, "--episodes": args.episodes, "--seed": args.seed}
    if strange := [name for name, value in given.items() if value is not None]:
        raise InvalidInput(f"{', '.join(strange)} is for data sets; add --minari NAME.")
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


def _dataset(args: argparse.Namespace) -> int:
    """Record episodes of an agent, or of a random policy, and write them for Minari."""
    if args.file is not None:
        raise InvalidInput(f"{args.file}: a data set has a folder, not a file; use --out FOLDER.")
    if args.run is None and args.env is None:
        raise InvalidInput("whose episodes? Name a run, or for a random policy --env ID.")
    from smorl.envs.factory import find_env, make_envs
    from smorl.studies.episodes import ROWS, record
    from smorl.studies.minari_data import check_name, write_dataset

    folder = Path(args.out or "datasets")
    check_name(args.minari, folder)
    episodes, seed = args.episodes or 100, 0 if args.seed is None else args.seed
    rows = min(episodes, ROWS)
    if args.run is None:
        env, actor, who = find_env(args.env), None, "a random policy"
        steps = _steps(env)
        envs = make_envs(env, rows, 1)
    else:
        from smorl.library import load

        run = load(args.run, args.env)
        env, actor, who = find_env(run.env), run.actor(), f"{run.config.method} ({args.run})"
        steps = _steps(env)
        envs = run.envs(rows)
    about = f"{episodes} episodes of {who} in {env}, seeds from {seed} on. `smorl export --minari`."
    recorded = list(
        record(envs, actor, episodes=episodes, seed=seed, steps=steps,
               progress=lambda done: show_episodes(done, episodes))
    )  # fmt: skip
    envs.close()
    described = {"algorithm_name": who, "description": about}
    place = write_dataset(args.minari, folder, env, recorded, described)
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    sys.stdout.write(
        f"{place}: {len(recorded)} episodes, {sum(len(e.actions) for e in recorded)} steps of "
        f"{who} in {env}, {size:.0f} MB. With MINARI_DATASETS_PATH={folder}: "
        f"minari.load_dataset({args.minari!r})\n"
    )
    return 0


def _steps(env: str) -> int:
    """Return how long episodes of one of our worlds are."""
    from smorl.envs.registration import env_ids

    lengths = {known.id: known.episode_steps for known in env_ids()}
    if env not in lengths:
        raise InvalidInput(f"{env} is not one of our worlds (`smorl envs`); record it by Minari.")
    return lengths[env]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl export",
        description="Put the agent of a run folder into one file, without replay and optimisers: "
        "networks, settings, prior and perception; commands that take a run take the file too. "
        "With --minari NAME: episodes of the run's agent, or of a random policy in --env, as a "
        "Minari data set that can be loaded without this package.",
    )
    parser.add_argument("run", nargs="?", help="a run, e.g. runs/visual-rearrange-1-seed0")
    parser.add_argument("file", nargs="?", help="the file to write, e.g. agent.safetensors")
    parser.add_argument("--minari", metavar="NAME", help="a data set, e.g. rearrange2-random-v0")
    parser.add_argument("--env", metavar="ID", help="the world (default: the run's own)")
    parser.add_argument("--episodes", type=int, metavar="N", help="default 100")
    parser.add_argument("--seed", type=int, help="of the first episode (default 0)")
    parser.add_argument("--out", metavar="FOLDER", help="where data sets lie (default: datasets)")
    return parser
