"""Trained agents as players: loaded in the background, each run once, whoever asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import torch

from smorl.envs.factory import View
from smorl.envs.registration import env_ids
from smorl.envs.rendering.cameras import Camera, get_camera, unproject
from smorl.errors import InvalidInput
from smorl.methods import get_method
from smorl.page.casting import Part, Seat
from smorl.page.players import Belief, Moment, Nobody, Player, Scripted, Thoughts
from smorl.page.table import Setup
from smorl.planning.actor import Actor
from smorl.planning.controllers import ControllerName
from smorl.trained.loading import LoadedRun, load_run
from smorl.visualise.agent_view import AgentView

AS_TRAINED, SCRIPTED, NOBODY = "as it was trained", "scripted pusher (told the truth)", "nobody"
_CONTROLLERS: dict[str, str] = {
    "policy": "its policy alone",
    "critic": "policy, asking its critic",
    "plan": "planning ahead",
}
_REASONS: dict[str, str] = {
    "cycle": "one after the other",
    "easiest": "the easiest first, by its own estimate",
    "hardest": "the hardest first, by its own estimate",
    "gain": "what promises most first, by what it imagines",
}
OWN_CAMERA = "zoomed_in"  # of the visual environments
# Attempts never run out here: a visitor may go on moving goals.
_ENDLESS = 10_000


class AgentPlayer:
    """Plays a table with a trained run's Actor (Alg. 3), for as long as anybody looks."""

    def __init__(
        self, actor: Actor, pixels: bool, camera: Camera | None, boxes: bool = False
    ) -> None:
        """`pixels`: it sees pictures, not the state; `camera` if it finds objects on our table.

        `boxes`: it finds objects in pictures of whatever it is.
        """
        self._actor, self._pixels, self._camera = actor, pixels, camera
        self._boxes = boxes or camera is not None
        actor.config = replace(actor.config, attempts=_ENDLESS, stop_when_solved=False)
        self.start()

    def start(self) -> None:
        self._memory: tuple[Any, np.ndarray] | None = None
        self.thoughts = Thoughts("Looks at the table.")

    # Nothing learns here, so tensors need no version counters: an eighth less work, same numbers.
    @torch.inference_mode()
    def aim(self, goal: Moment) -> None:
        actor = self._actor
        actor.reset(self._seen(goal))
        if self._memory is not None:  # another goal is no reason to forget what it has seen
            actor.carry, actor.action = self._memory

    @torch.inference_mode()
    def act(self, now: Moment) -> np.ndarray:
        actor = self._actor
        actor.observe(self._seen(now))
        present = actor.targets.present
        done = bool((actor.solved | ~present).all())
        if done:  # whoever has nothing left to do should not push things around
            actor.action = np.zeros_like(actor.action)
        else:
            actor.choose()
        self._memory = actor.carry, actor.action
        self.thoughts = self._think(done)
        return actor.action[0]

    def _seen(self, moment: Moment) -> np.ndarray:
        return (moment.picture if self._pixels else moment.state)[None]

    def _think(self, done: bool) -> Thoughts:
        actor = self._actor
        view = look(actor)
        found, solved = int(view.targets.present.sum()), int(view.solved.sum())
        if not found:
            words = "It finds nothing in the goal picture, so it has nothing to do."
        elif done:
            words = "It considers everything solved, and waits."
        elif view.matched is None:
            words = "It works on a sub-goal whose object it does not find at the moment."
        else:
            thing = f"object {view.matched + 1}" if self._boxes else f"puck {view.matched}"
            words = f"It works on {thing}. Solved: {solved} of {found}."
        scores = actor.chooser.scores(actor.situation) if actor.config.order == "gain" else None
        return Thoughts(
            words,
            done,
            view,
            self._boxes,
            actor.values[0] if scores is None else scores[0],
            scores is not None,
            _REASONS.get(actor.config.order, actor.config.order),
            self._believe(view, done),
        )

    def _believe(self, view: AgentView, done: bool) -> Belief:
        if done or view.current is None or view.targets.position.shape[-1] != 2:
            return Belief()
        target = self._on_table(view.targets.position[view.current])
        mover = None
        if view.matched is not None:
            mover = self._on_table(view.objects.position[view.matched])
        tracks = getattr(self._actor.controller, "tracks", None)  # of one that plans
        if tracks is None:
            return Belief(mover, target)
        return Belief(mover, target, self._ways(tracks[0, 1:]), self._ways(tracks[0, :1]))

    def _ways(self, tracks: np.ndarray) -> np.ndarray:
        """Return imagined ways (W, 2, T, 2) one after the other, each ended by a row of NaN."""
        ways = self._on_table(tracks.reshape(-1, *tracks.shape[-2:]))
        return np.pad(ways, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 2)

    def _on_table(self, place: np.ndarray) -> np.ndarray:
        """Return places (..., 2) in metres; what a camera sees is taken to lie on the table."""
        if self._camera is None:
            return np.asarray(place, np.float64)
        return unproject(place, self._camera)[..., :2]


def look(actor: Actor) -> AgentView:
    """Return what the actor of one table makes of what it saw last."""
    state = {
        "carry": actor.carry,
        "objects": actor.objects,
        "targets": actor.targets,
        "matched": actor.matched,
        "solved": actor.solved,
        "current": actor.current,
    }
    return AgentView.of(state, agent=actor.agent)  # pyright: ignore[reportArgumentType]


class Agents:
    """Where the page's players come from: runs by name, the scripted pusher, and nobody."""

    def __init__(
        self, names: Sequence[str], load: Callable[[str, str | None], LoadedRun] = load_run
    ) -> None:
        """`names` are what visitors may choose from: run folders, files or `shipped:...`."""
        self._names, self._load = tuple(names), load
        self.foreign = False  # the first of them plays somebody's own environment
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="page-load")
        self._runs: dict[tuple[str, str | None], LoadedRun] = {}
        self._lock = threading.Lock()
        self._kinds: dict[str, ControllerName] = {
            _CONTROLLERS.get(str(name), str(name)): name for name in get_args(ControllerName)
        }

    def agents(self) -> Sequence[str]:
        return self._names[:1] if self.foreign else self._names

    def controllers(self) -> Sequence[str]:
        return (AS_TRAINED, *self._kinds, SCRIPTED, NOBODY)

    def cast(self, seat: Seat, setup: Setup) -> Future[Part]:
        return self._pool.submit(self._cast, seat, setup)

    def run(self, name: str, env: str | None = None) -> LoadedRun:
        """Return a run that can act in `env` (None: its own), loaded at most once."""
        with self._lock:
            found = self._runs.get((name, env))
        if found is None:
            found = self._load(name, env)
            with self._lock:
                self._runs[name, env] = found
        return found

    def forget(self, name: str) -> None:
        """Load this run afresh next time: it has learned more."""
        with self._lock:
            self._runs = {key: run for key, run in self._runs.items() if key[0] != name}

    def close(self) -> None:
        """Stop loading."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _cast_foreign(self, seat: Seat, run: LoadedRun) -> Part:
        if seat.controller == SCRIPTED:
            raise InvalidInput(f"the scripted pusher knows our tables only, not {run.config.env}.")
        if seat.controller == NOBODY:
            return Part(Nobody(), View(), run.envs(1))
        actor = run.actor(self._kinds.get(seat.controller))
        pixels = get_method(run.config.method).visual
        boxes = run.encoder.layout.scale > 0
        return Part(AgentPlayer(actor, pixels, None, boxes), View(), run.envs(1))

    def _cast(self, seat: Seat, setup: Setup) -> Part:
        if seat.controller in (SCRIPTED, NOBODY) and not self.foreign:
            player: Player = Scripted() if seat.controller == SCRIPTED else Nobody()
            return Part(player, View())
        own = self.run(seat.agent)
        if not is_ours(own.config.env):
            return self._cast_foreign(seat, own)
        method = get_method(own.config.method)
        env = setup.env_id(method.visual)
        run = own if env == own.config.env else self.run(seat.agent, env)
        view = View() if run.view is None else run.view
        actor = run.actor(self._kinds.get(seat.controller))
        camera = get_camera(view.camera or OWN_CAMERA) if run.encoder.layout.scale else None
        return Part(AgentPlayer(actor, method.visual, camera), view)


def is_ours(env: str) -> bool:
    """Say whether an environment is one of the package's tables."""
    return any(known.id == env for known in env_ids())


def setup_of(env: str) -> Setup:
    """Return what is on the table of an environment, or raise for environments of others."""
    for known in env_ids():
        if known.id == env:
            return Setup(known.task, known.num_objects)
    raise InvalidInput(f"{env} is not one of the package's tables, so the page cannot lay it.")
