"""A picture of a policy's attention over an episode: heads by time, coloured by object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smorl.errors import InvalidInput
from smorl.visualise.agent_view import AgentView
from smorl.visualise.video import Picture

# Okabe and Ito's colours, which nearly everybody can tell apart, in the order of slots.
PALETTE = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (204, 121, 167),
    (213, 94, 0), (240, 228, 66), (0, 114, 178), (153, 153, 153),
)  # fmt: skip
_COLOURS = [tuple(part / 255 for part in colour) for colour in PALETTE]
_THUMBNAILS = 8


def attention_over_time(
    sights: Sequence[AgentView], views: Sequence[Picture], names: Sequence[str] | None = None
) -> Picture:
    """Draw an episode from its moments and the agent's views (square) at the same moments.

    Every head is a band of height 1, shared by the objects as the head shares its weight. Above
    the bands: some of the views (their boxes, if any, in `PALETTE`), and a strip with the object
    that the current sub-goal is about. Vertical lines are changes of the sub-goal. `names` of
    slots default to their numbers.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    heads, weights = _weights(sights)
    slots = weights.shape[2]
    names = [f"object {slot + 1}" for slot in range(slots)] if names is None else names
    figure = Figure(figsize=(11, 2.6 + 0.85 * len(heads)), dpi=100, layout="constrained")
    ratios = [1.7, 0.3] + [1.0] * len(heads)
    axes = figure.subplots(len(ratios), 1, height_ratios=ratios)
    _thumbnails(axes[0], views)
    _pursued(axes[1], sights)
    steps = np.arange(len(sights) + 1)
    for axis, head, name in zip(axes[2:], range(len(heads)), heads, strict=True):
        # Each moment lasts until the next, so that changes are steps, not slopes.
        shares = np.repeat(weights[:, head], 2, axis=0).T
        axis.stackplot(np.repeat(steps, 2)[1:-1], shares, colors=_COLOURS, labels=names)
        axis.set(ylim=(0, 1), yticks=[0, 1])
        axis.set_ylabel(name, rotation=0, ha="right", va="center")
    for axis in axes[1:]:
        axis.set_xlim(0, len(sights))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        for change in _changes(sights):
            axis.axvline(change, color="black", linewidth=1)
        if axis is not axes[-1]:
            axis.tick_params(labelbottom=False)
    axes[-1].set_xlabel("step")
    used = np.asarray(weights.any((0, 1)))
    handles = axes[-1].get_legend_handles_labels()
    shown = [(h, t) for slot, (h, t) in enumerate(zip(*handles, strict=True)) if used[slot]]
    figure.legend(
        [h for h, _ in shown], [t for _, t in shown], loc="outside lower center", ncols=slots
    )
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _weights(sights: Sequence[AgentView]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the heads' names and the weights (T, H, N)."""
    known = [sight.attention for sight in sights if sight.attention is not None]
    if not known or len(known) < len(sights):
        raise InvalidInput(
            "there is no attention to draw: the network has none, or the goal image showed "
            "nothing. Use an agent with --networks.torso.kind attention, or another --seed."
        )
    return known[0].heads, np.stack([attention.weights for attention in known])


def _thumbnails(axis, views: Sequence[Picture]) -> None:
    chosen = np.linspace(0, len(views) - 1, min(_THUMBNAILS, len(views))).round().astype(int)
    gap = np.full((views[0].shape[0], 4, 3), 255, np.uint8)
    strip = np.concatenate([part for i in chosen for part in (views[i], gap)][:-1], axis=1)
    axis.imshow(strip, aspect="equal", interpolation="nearest")
    size = views[0].shape[1]
    axis.set_xticks([size / 2 + i * (size + 4) for i in range(len(chosen))], chosen.tolist())
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.set_title("the table by step, and below what the policy attends to", fontsize=11)
    axis.spines[:].set_visible(False)


def _pursued(axis, sights: Sequence[AgentView]) -> None:
    """Colour every step by the object taken for the current sub-goal, white where there is none."""
    for step, sight in enumerate(sights):
        if sight.matched is not None:
            axis.axvspan(step, step + 1, color=_COLOURS[sight.matched % len(_COLOURS)], lw=0)
    axis.set(yticks=[])
    axis.set_ylabel("sub-goal", rotation=0, ha="right", va="center")


def _changes(sights: Sequence[AgentView]) -> list[int]:
    return [i for i in range(1, len(sights)) if sights[i].current != sights[i - 1].current]
