"""How well does a run's model of objects foresee the episodes it plays? Measured and drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smorl.devices import to_array
from smorl.dynamics.base import View
from smorl.dynamics.fitting import prediction_errors
from smorl.dynamics.object_model import ObjectModel
from smorl.types import Episode, ObjectSet
from smorl.visualise.video import Picture

AHEAD = 6  # steps
_COLOURS = ("black", "tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")


@dataclass
class Tracks:
    """An evaluation observer that keeps objects and executed actions of the first episodes."""

    states: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = False

    def __call__(self, state: dict[str, Any]) -> None:
        if not self.complete:
            self.states.append({k: state[k] for k in ("objects", "action")})
            self.complete = bool(state["finished"].all())

    def episodes(self) -> Episode:
        """Return what was kept: K episodes as long as the longest of them."""
        objects = ObjectSet.stack([state["objects"] for state in self.states])
        actions = np.stack([state["action"] for state in self.states[1:]], 1)
        return Episode(objects, actions, objects[:, 0].goals()[:, 0])


def foresight_errors(model: ObjectModel, view: View, tracks: Tracks, moved: float) -> dict:
    """Return the errors of predictions 1 to 6 steps ahead, in the encoder's coordinates."""
    if len(tracks.states) < 2:
        return {}
    episodes, executed = tracks.episodes(), replace(view, execute=None)
    which = np.arange(len(episodes.actions))
    return prediction_errors(model, episodes, which, executed, AHEAD, moved)


def draw_foresight(
    model: ObjectModel, view: View, tracks: Tracks, picture: Picture | None = None
) -> Picture:
    """Draw the first episode: real tracks as lines, imagined ones of 6 steps as dots.

    `picture` is what the agent sees at the start, where its places are image coordinates.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    episode = tracks.episodes()[:1]
    figure = Figure(figsize=(6, 6), dpi=100, layout="tight")
    axes = figure.add_subplot()
    if picture is not None:
        axes.imshow(picture, extent=(-1, 1, 1, -1))
    place, present = episode.objects.position[0], episode.objects.present[0]
    for slot in range(place.shape[1]):
        colour = _COLOURS[slot % len(_COLOURS)]
        seen = np.where(present[:, slot, None], place[:, slot], np.nan)
        axes.plot(*seen.T[:2], color=colour, linewidth=1.5)
        for start in range(0, len(episode.actions[0]), AHEAD):
            if present[start, slot]:
                imagined = _imagined(model, view, episode, start)[:, slot]
                axes.plot(*imagined.T[:2], ".:", color=colour, markersize=4, linewidth=0.8)
    axes.set_title("lines: where objects went; dots: 6 steps imagined", fontsize=10)
    axes.set_aspect("equal")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _imagined(model: ObjectModel, view: View, episode: Episode, start: int) -> np.ndarray:
    """Return imagined places (T + 1, N, P) from frame `start`, given the real actions."""
    device = model.unit.device
    bodies = view.bodies(episode.objects[:, start]).to(device)
    executed, places = replace(view, execute=None), [to_array(bodies.position[0])]
    for step in range(start, min(start + AHEAD, len(episode.actions[0]))):
        now = episode.objects[:, step]
        done = executed.executed(now, episode.actions[:, step])
        bodies = model.predict(bodies, done.to(device))
        places.append(to_array(bodies.position[0]))
    return np.stack(places)
