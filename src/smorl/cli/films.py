"""Episodes of a run played again for pictures, shared by `smorl evaluate` and `smorl demo`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from smorl.evaluation.evaluate import evaluate
from smorl.planning.actor import Actor
from smorl.trained.loading import LoadedRun
from smorl.visualise.agent_view import AgentView
from smorl.visualise.attention_figure import PALETTE, attention_over_time
from smorl.visualise.film import SceneCamera
from smorl.visualise.video import Picture

# Height of the scene in videos, pixels; larger where detections are drawn into the agent's view.
SIZE, VISUAL_SIZE = 320, 448
ENCORE = 8  # frames at the end: a moment to look at the result
THUMBNAIL_PIXELS = 128


@dataclass
class Recording:
    """What is kept of an episode: frames, or the moments and the agent's views of them."""

    frames: list[Picture] = field(default_factory=list)
    views: list[AgentView] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def film(
    run: LoadedRun,
    actor: Actor,
    seed: int,
    count: int,
    advance: Callable[[], None] | None = None,
) -> Iterator[Picture]:
    """Play the first `count` episodes from `seed` again, one by one, and yield their frames.

    `advance` is called after every step.
    """
    for episode in range(count):
        recording = play(run, actor, seed, episode, partial(_filming, advance))
        yield from recording.frames
        yield from [recording.frames[-1]] * ENCORE


def attention_picture(run: LoadedRun, actor: Actor, seed: int) -> Picture:
    """Play the first episode again and draw the policy's attention over it."""
    recording = play(run, actor, seed, 0, _watching)
    names = None
    if not finds_objects(run):  # on ground truth slots have names
        names = ["arm", *(f"puck {i}" for i in range(1, run.encoder.layout.slots))]
    return attention_over_time(recording.views, recording.pictures, names)


def play(run: LoadedRun, actor: Actor, seed: int, episode: int, watch: Callable) -> Recording:
    """Play one evaluation episode; `watch` makes the observer that fills the recording."""
    envs, recording = run.envs(1), Recording()
    observer = watch(run, envs, f"episode {episode + 1}", recording)
    evaluate(envs, actor, episodes=1, seed=seed + episode, observer=observer)
    envs.close()
    return recording


def finds_objects(run: LoadedRun) -> bool:
    """Say whether the run sees objects in pictures: then they have a size in them."""
    return run.encoder.layout.scale > 0


def _filming(
    advance: Callable[[], None] | None, run: LoadedRun, envs, name: str, recording: Recording
) -> Callable[[dict[str, Any]], None]:
    objects = finds_objects(run)
    camera = SceneCamera(envs, VISUAL_SIZE if objects else SIZE)
    gap = "    " if objects else "\n"  # without a table of attention frames are narrow

    def observe(state: dict[str, Any]) -> None:
        text = f"{name}, step {len(recording.frames)}{_distance(state)}."
        text += f"{gap}{_aim(state, objects)}"
        view = AgentView.of(state, agent=run.agent) if objects else None
        recording.frames.append(camera.frame(text, view))
        if advance is not None and len(recording.frames) > 1:
            advance()

    return observe


def _watching(
    run: LoadedRun, envs, name: str, recording: Recording
) -> Callable[[dict[str, Any]], None]:
    camera = SceneCamera(envs)

    def observe(state: dict[str, Any]) -> None:
        view, picture = AgentView.of(state, agent=run.agent), camera.agent(pixels=THUMBNAIL_PIXELS)
        recording.views.append(view)
        recording.pictures.append(view.now(picture, PALETTE) if finds_objects(run) else picture)

    return observe


def _distance(state: dict[str, Any]) -> str:
    """Say how far the pucks are from their goals, if anybody knows."""
    distances = state["distances"]
    return f": {100 * distances[0].mean():.1f} cm off" if distances.shape[1] else ""


def _aim(state: dict[str, Any], objects: bool) -> str:
    """Say in words what is pursued, and how much of it is done by the agent's own judgement."""
    present, goal = state["targets"].present[0], int(state["current"][0])
    if not present.any():
        return "nothing found in the goal image"
    solved = int((state["solved"][0] & present).sum())
    if objects:  # by the number of its box, which is that of the object taken for it
        slot = int(state["matched"][0, goal])
        name = f"object {slot + 1}" if slot >= 0 else "matches nothing"
    elif len(present) == 1:
        name = "all at once"
    else:
        name = "arm" if goal == 0 else f"puck {goal}"
    return f"sub-goal: {name},  considered solved: {solved} of {int(present.sum())}"
