"""`smorl play ID`: run a simple policy in an environment, print distances, record a video."""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from smorl.cli.options import check_numbers
from smorl.envs.factory import OWN, find_env
from smorl.envs.tabletop.env import TabletopEnv
from smorl.envs.tabletop.scripted import ScriptedPusher
from smorl.errors import InvalidInput, did_you_mean
from smorl.runs.screen import Screen, bar, duration
from smorl.visualise.film import SceneCamera
from smorl.visualise.video import Picture, check_writable, write_video

POLICIES = ("scripted", "random", "passive")

Info = dict[str, Any]
Policy = Callable[[Info, NDArray[np.float64]], NDArray]


@dataclass(frozen=True)
class Result:
    """One finished episode; distances in metres at its last step."""

    seed: int
    steps: int
    object_distances: NDArray[np.float64]
    hand_distance: float
    success: bool


def main(argv: list[str]) -> int:
    """Run the verb; return the exit code."""
    args = check_numbers(_parser().parse_args(argv))
    env_id = find_env(args.id)
    if not env_id.startswith(OWN):
        raise InvalidInput(f"{env_id} is not ours, and simple policies know our tables only.")
    if args.video is not None:
        check_writable(args.video)
    env = gymnasium.make(env_id)
    results: list[Result] = []
    with progress_bar(f"{env_id} ({args.policy})", args.episodes * episode_steps(env)) as advance:
        frames = _episodes(env, args, results, advance)
        if args.video is not None:
            write_video(args.video, frames, fps=args.fps)
        else:
            for _ in frames:
                pass
    env.close()
    sys.stdout.write(report(results))
    if args.video is not None:
        sys.stdout.write(f"video: {args.video}\n")
    return 0


def table(env: gymnasium.Env[Any, Any]) -> TabletopEnv:
    """Return the table inside Gymnasium's wrappers."""
    inner = env.unwrapped
    assert isinstance(inner, TabletopEnv)
    return inner


def episode_steps(env: gymnasium.Env[Any, Any]) -> int:
    """Return the registered length of an episode."""
    limit = env.spec.max_episode_steps if env.spec is not None else None
    assert limit is not None
    return limit


def make_policy(name: str, seed: int) -> Policy:
    """Return a policy by name: a function of the env's info and the hand's goal (2,).

    The info is privileged state, so that every policy also plays the visual environments.
    """
    if name == "scripted":
        pusher = ScriptedPusher()

        def scripted(info: Info, goal_hand: NDArray[np.float64]) -> NDArray:
            state = np.concatenate([info["hand"], info["objects"].ravel()])
            goal = np.concatenate([goal_hand, info["goal_objects"].ravel()])
            return pusher.act(state, goal)

        return scripted
    if name == "random":
        rng = np.random.default_rng(seed)
        return lambda info, goal_hand: rng.uniform(-1, 1, 2).astype(np.float32)
    if name == "passive":
        return lambda info, goal_hand: np.zeros(2, dtype=np.float32)
    hint = did_you_mean(name, POLICIES)
    raise InvalidInput(f"Unknown policy {name!r}.{hint} Use one of {', '.join(POLICIES)}.")


def play_episode(env: gymnasium.Env[Any, Any], policy: Policy, seed: int) -> Iterator[Info]:
    """Yield the info after the reset and after every step of one episode."""
    _, info = env.reset(seed=seed)
    yield info
    truncated = False
    while not truncated:
        action = policy(info, table(env).truth.goal_body[0])
        _, _, _, truncated, info = env.step(action)
        yield info


def finish(seed: int, steps: int, info: Info) -> Result:
    """Return the result of an episode from its last info."""
    return Result(
        seed=seed,
        steps=steps,
        object_distances=np.array(info["object_distances"]),
        hand_distance=float(info["hand_distance"]),
        success=bool(info["success"]),
    )


def report(results: list[Result]) -> str:
    """Return a line per episode and their mean, in centimetres."""
    lines = []
    for number, result in enumerate(results, start=1):
        pucks = " ".join(f"{100 * distance:5.1f}" for distance in result.object_distances)
        solved = "solved" if result.success else ""
        line = f"episode {number} (seed {result.seed}): puck distances [cm] {pucks}   {solved}"
        lines.append(line.rstrip())
    distances = np.concatenate([result.object_distances for result in results])
    lines.append(
        f"mean over {len(results)} episodes: {100 * distances.mean():.1f} cm, "
        f"{100 * (distances < 0.05).mean():.0f} % of pucks within 5 cm"
    )
    return "\n".join(lines) + "\n"


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar with the time left on a terminal, nothing elsewhere; yields `advance`."""
    began, done = time.monotonic(), 0
    with Screen(every=math.inf, transient=True) as screen:

        def advance() -> None:
            nonlocal done
            done += 1
            left = duration((total - done) * (time.monotonic() - began) / done)
            screen.draw([f"{title} {bar(done / total)}  {done}/{total} steps, ETA {left}"])

        yield advance


def _episodes(
    env: gymnasium.Env[Any, Any],
    args: argparse.Namespace,
    results: list[Result],
    advance: Callable[[], None],
) -> Iterator[Picture]:
    """Play all episodes, appending to `results`; yield a frame per step if there is a video."""
    policy = make_policy(args.policy, args.seed)
    camera = SceneCamera(table(env), args.size) if args.video is not None else None
    for episode in range(args.episodes):
        seed, step, info = args.seed + episode, 0, {}
        for step, info in enumerate(play_episode(env, policy, seed)):
            if step:
                advance()
            if camera is not None:
                yield camera.frame(describe(episode, step, info))
        results.append(finish(seed, step, info))


def describe(episode: int, step: int, info: Info) -> str:
    """Return the caption of a frame."""
    distance = 100 * float(info["object_distance"])
    return f"episode {episode + 1}, step {step}: mean puck distance {distance:.1f} cm"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl play", description="Run a simple policy in an environment."
    )
    parser.add_argument("id", help="an environment of `smorl envs`, for example Rearrange3-v0")
    parser.add_argument("--policy", default="scripted", choices=POLICIES)
    parser.add_argument("--episodes", type=int, default=3, metavar="N")
    parser.add_argument("--video", default=None, metavar="FILE", help="record to a .mp4 or .gif")
    parser.add_argument("--fps", type=int, default=10, help="frames a second (10 is real time)")
    parser.add_argument("--size", type=int, default=320, help="height of the video's scene, pixels")
    parser.add_argument("--seed", type=int, default=0, help="episode i uses seed + i")
    return parser
