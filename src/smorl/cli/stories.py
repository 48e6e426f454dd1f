"""The film of `smorl demo`: a few tables, successes and a failure, and how it went on all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smorl.cli.films import Recording, finds_objects, play
from smorl.evaluation.evaluate import Evaluation
from smorl.evaluation.goal_images import pucks_meant
from smorl.planning.actor import Actor
from smorl.trained.loading import LoadedRun
from smorl.visualise.agent_view import AgentView
from smorl.visualise.film import SceneCamera
from smorl.visualise.story import SIZE, Moment, banner, card, colour_names, ending, frame
from smorl.visualise.video import Picture

FRAMES_PER_SECOND = 12
SECONDS_OF_TEXT, SECONDS_OF_OUTCOME = 5, 3


def choose(result: Evaluation, count: int) -> list[int]:
    """Return which episodes are filmed: the first successes, and a failure if there is one."""
    good, bad = np.flatnonzero(result.success).tolist(), np.flatnonzero(~result.success).tolist()
    shown_bad = bad[: max(1 if count > 1 else 0, count - len(good))]
    return sorted([*good[: count - len(shown_bad)], *shown_bad])


def story(
    run: LoadedRun, actor: Actor, seed: int, result: Evaluation, count: int,
    advance: Callable[[], None] | None = None,
) -> Iterator[Picture]:  # fmt: skip
    """Yield the frames of the film; `advance` is called after every step that was played.

    `result` must be of episodes that were played one by one, as they are here: who plays several
    tables at once draws other random numbers.
    """
    chosen = choose(result, count)
    for number, episode in enumerate(chosen, start=1):
        names: list[str] = []
        ends: list[np.ndarray] = []  # distances, moment by moment
        title = f"Table {number} of {len(chosen)}: " if len(chosen) > 1 else ""
        recording = play(run, actor, seed, episode, _filming(title, names, ends, advance))
        if number == 1:
            opening = card(recording.frames[0].shape, "A robot tidies a table", _opening(run))
            yield from [opening] * (SECONDS_OF_TEXT * FRAMES_PER_SECOND)
        yield from recording.frames
        last = banner(recording.frames[-1], *ending(ends[-1], names))
        yield from [last] * (SECONDS_OF_OUTCOME * FRAMES_PER_SECOND)
        if number == len(chosen):
            closing = card(last.shape, "How it went, on all tables", summary(result, run.env_steps))
            yield from [closing] * (SECONDS_OF_TEXT * FRAMES_PER_SECOND)


def summary(result: Evaluation, env_steps: int) -> list[str]:
    """Say how all episodes ended, in sentences."""
    tables, good = len(result.success), int(result.success.sum())
    every = "the puck" if result.distances.shape[1] == 1 else "every puck"
    return [
        f"{good} of {tables} tables: {every} within 5 cm of its place.",
        f"On average pucks end {100 * result.distance.mean():.1f} cm from their places;",
        f"doing nothing leaves {100 * result.passive.mean():.1f} cm. A puck is 8 cm wide.",
        f"Learned by itself in {env_steps:,} steps, without labels or rewards from outside.",
    ]


def _opening(run: LoadedRun) -> list[str]:
    sees = [
        "It gets two small pictures: the table now, and how it should look.",
        "It found out by itself, from pictures alone, which things there are.",
    ]
    told = ["It is told where the pucks are and where they should go."]
    return [
        *(sees if finds_objects(run) else told),
        "The rings are for you: where each puck should go.",
    ]


def _names(envs: Any, count: int) -> list[str]:
    """Name the pucks by their colours; things of a stranger's world by numbers."""
    world = getattr(envs.unwrapped, "world", None)
    if world is None:
        return [f"thing {number}" for number in range(1, count + 1)]
    return colour_names(world.puck_rgb[0])


def _filming(
    title: str, names: list[str], ends: list[np.ndarray], advance: Callable[[], None] | None
) -> Callable:
    """Return who fills the recording; `names` and `ends` get pucks and their distances."""

    def watch(run: LoadedRun, envs: Any, _: str, recording: Recording) -> Callable:
        camera, pixels = SceneCamera(envs, SIZE), finds_objects(run)

        def observe(state: dict[str, Any]) -> None:
            if not names:
                names.extend(_names(envs, state["distances"].shape[1]))
            meant = pucks_meant(state["targets"], envs)[0]
            puck = int(meant[int(state["current"][0])]) if len(meant) else -1
            ends.append(state["distances"][0])
            finished = bool(state["finished"][0])
            moment = Moment(state["distances"][0], None if puck < 0 else puck, finished)
            view = AgentView.of(state) if pixels else None
            recording.frames.append(frame(camera, title, moment, names, view))
            if advance is not None and len(recording.frames) > 1:
                advance()

        return observe

    return watch
