"""`smorl demo`: the scripted pusher rearranges three pucks; a video and a picture show it."""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium

from smorl.cli.play import (
    Info,
    Result,
    check_episodes,
    describe,
    episode_steps,
    finish,
    make_policy,
    play_episode,
    progress_bar,
    report,
    table,
)
from smorl.evaluation.filming import Camcorder, start_goal_end
from smorl.evaluation.video import Picture, check_writable, write_png, write_video

ENV_ID = "smorl/Rearrange3-v0"
FRAMES_PER_SECOND = 15
# Steps shown after everything is in place; the rest of an episode would be a still.
ENCORE = 8
PHOTO_PIXELS, AGENT_PIXELS = 400, 256


@dataclass
class Album:
    """What is kept of the episodes: all results, and the first one's start, goal and end."""

    results: list[Result] = field(default_factory=list)
    scenes: list[Picture] = field(default_factory=list)
    agents: list[Picture] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, photographer: Camcorder, name: str, goal_state: bool = False) -> None:
        """Photograph the table as people and as the agent see it."""
        self.scenes.append(photographer.scene(goal_state))
        self.agents.append(photographer.agent(goal_state, AGENT_PIXELS))
        self.names.append(name)


def main(argv: list[str]) -> int:
    """Run the verb; return the exit code."""
    args = _parser().parse_args(argv)
    check_episodes(args.episodes, args.seed)
    video = Path(args.out) / "rearrange3.mp4"
    picture = Path(args.out) / "start-goal-end.png"
    check_writable(video)
    sys.stdout.write(f"The scripted pusher solves {args.episodes} episodes of {ENV_ID} ...\n")
    sys.stdout.flush()
    env = gymnasium.make(ENV_ID)
    album = Album()
    with progress_bar("smorl demo", args.episodes * episode_steps(env)) as advance:
        frames = _film(env, args.episodes, args.seed, album, advance)
        write_video(video, frames, fps=FRAMES_PER_SECOND)
    env.close()
    write_png(picture, start_goal_end(album.scenes, album.agents, album.names))
    sys.stdout.write(report(album.results))
    sys.stdout.write(f"video:   {video}\npicture: {picture}\n")
    return 0


def _film(
    env: gymnasium.Env[Any, Any],
    episodes: int,
    first_seed: int,
    album: Album,
    advance: Callable[[], None],
) -> Iterator[Picture]:
    """Play the episodes until all is in place; yield the frames and fill the album."""
    policy = make_policy("scripted", first_seed)
    camcorder = Camcorder(table(env).world)
    photographer = Camcorder(table(env).world, size=PHOTO_PIXELS)
    for episode in range(episodes):
        seed, step, done_for, info = first_seed + episode, 0, 0, {}
        for step, info in enumerate(play_episode(env, policy, seed)):
            if episode == 0 and step == 0:
                album.add(photographer, f"start: {_distance(info)}")
                album.add(photographer, "goal", goal_state=True)
            yield camcorder.frame(describe(episode, step, info))
            advance()
            done_for = done_for + 1 if _in_place(info) else 0
            if done_for > ENCORE:
                break
        if episode == 0:
            album.add(photographer, f"end: {_distance(info)}")
        album.results.append(finish(seed, step, info))


def _in_place(info: Info) -> bool:
    """Whether every puck and the hand are within about 3 cm of their goals."""
    return bool(info["object_distances"].max() < 0.03 and info["hand_distance"] < 0.03)


def _distance(info: Info) -> str:
    return f"{100 * float(info['object_distance']):.1f} cm from the goals"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smorl demo",
        description="Watch the scripted pusher rearrange three pucks; takes about a minute.",
    )
    parser.add_argument("--out", default="demo", metavar="FOLDER", help="where the files go")
    parser.add_argument("--episodes", type=int, default=3, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="episode i uses seed + i")
    return parser
