"""Small pictures as HTML: sub-goals, attention and distances. Pure functions of a snapshot."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from smorl.page.following import Progress
from smorl.page.players import Thoughts
from smorl.page.table import ARRIVED, STEPS_PER_SECOND, Snapshot
from smorl.visualise.agent_view import CURRENT, SEEN, SOLVED
from smorl.visualise.overlay import Colour, crop

_THUMB = 26  # pixels
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 340, 130, 30, 18
_POINTS = 150  # more could not be told apart on so few pixels
_LEAST_SPAN, _LEAST_TOP = 10.0, 20.0  # seconds and centimetres an empty plot shows
_TEXT = "font-size:13px;line-height:1.35"


def thoughts(snapshot: Snapshot) -> str:
    """Return what the player says, its sub-goals with their values, and its attention."""
    said = snapshot.thoughts
    parts = [f'<div style="margin:0 0.7em;{_TEXT}"><p style="margin:.3em 0">{_safe(said.words)}']
    if said.reason and not said.done:
        parts.append(f' <span style="opacity:.65">It takes them {_safe(said.reason)}.</span>')
    parts.append(f"{_missed(snapshot)}</p>")
    if said.view is not None:
        parts += [_subgoals(snapshot), _attention(snapshot)]
    return "".join(parts) + "</div>"


def distances(snapshot: Snapshot) -> str:
    """Return a plot of each puck's distance to its ring over the last seconds."""
    if not snapshot.distances.shape[1]:
        return ""  # nobody knows
    seconds, centimetres = _curves(snapshot)
    end = max(float(seconds[-1]), _LEAST_SPAN)
    start = min(float(seconds[0]), end - _LEAST_SPAN)
    lines = [(_css(rgb), curve) for rgb, curve in zip(snapshot.rgb, centimetres.T, strict=True)]
    what = "object is from its goal" if snapshot.body is None else "puck is from its ring"
    return (
        f'<div style="margin:.4em .7em;{_TEXT}"><b>How far each {what}</b> (cm)'
        f"{_plot(seconds, lines, (start, end), _seconds)}"
        '<span style="opacity:.65">green band: arrived (within 5 cm)</span></div>'
    )


def learning(progress: Progress) -> str:
    """Return how far a run in training is, with its learning curve."""
    if progress.checkpoint is None:
        words = "It has no checkpoint yet."
    else:
        words = f"What plays here has practised for {progress.checkpoint:,} steps."
    words += " It has finished." if progress.finished else " Newer ones take over by themselves."
    plot = ""
    if len(progress.steps):
        end = max(float(progress.steps[-1]), 1.0)
        curve = [("rgb(0,84,147)", 100 * progress.distances)]
        plot = (
            "<b>How far pucks are from their goals in its tests</b> (cm)"
            f"{_plot(progress.steps, curve, (0.0, end), _thousands)}"
        )
    return f'<div style="margin:.2em .7em;{_TEXT}">{words}<br>{plot}</div>'


def _plot(
    x: np.ndarray,
    lines: Sequence[tuple[str, np.ndarray]],
    span: tuple[float, float],
    label: Callable[[float], str],
) -> str:
    """Return lines of centimetres over `x` as SVG, with a band where pucks count as arrived."""
    start, end = span
    top = max(_LEAST_TOP, 10 * float(np.ceil(max(curve.max() for _, curve in lines) / 10)))
    across = _LEFT + (x - start) / (end - start) * (_WIDTH - _LEFT)
    drawn = []
    for colour, curve in lines:
        points = " ".join(f"{a:.0f},{_y(b, top):.1f}" for a, b in zip(across, curve, strict=True))
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
    arrived = _y(100 * ARRIVED, top)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" style="width:100%;display:block">'
        f'<rect x="{_LEFT}" y="{arrived:.1f}" width="{_WIDTH - _LEFT}" '
        f'height="{_y(0, top) - arrived:.1f}" fill="rgb(40,200,60)" opacity=".15"/>'
        f"{_axes(start, end, top, label)}{''.join(drawn)}</svg>"
    )


def _seconds(value: float) -> str:
    return f"{round(value)} s"


def _thousands(value: float) -> str:
    return f"{value / 1000:.0f}k steps" if value else "0"


def _curves(snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """Return seconds (t,) of the table's time and centimetres (t, n), thinned out."""
    count = len(snapshot.distances)
    keep = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(int))
    seconds = (snapshot.steps - (count - 1) + keep) / STEPS_PER_SECOND
    return seconds, 100 * snapshot.distances[keep]


def _axes(start: float, end: float, top: float, label: Callable[[float], str]) -> str:
    style = 'font-size="10" fill="gray"'
    lines = [
        f'<text x="{_LEFT - 4}" y="{_y(v, top) + 3:.0f}" text-anchor="end" {style}>{v:.0f}</text>'
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_y(v, top):.1f}" y2="{_y(v, top):.1f}" '
        'stroke="gray" opacity=".25"/>'
        for v in (0, top / 2, top)
    ]
    for share in (0.0, 0.5, 1.0):
        x, anchor = _LEFT + share * (_WIDTH - _LEFT), ("start", "middle", "end")[int(2 * share)]
        text = label(start + share * (end - start))
        lines.append(
            f'<text x="{x:.0f}" y="{_HEIGHT - 4}" text-anchor="{anchor}" {style}>{text}</text>'
        )
    return "".join(lines)


def _y(centimetres: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - min(centimetres / top, 1.0) * (_HEIGHT - _BOTTOM - 8)


def _missed(snapshot: Snapshot) -> str:
    """Return a remark if fewer objects were found in the goal picture than pucks are there."""
    said, pucks = snapshot.thoughts, snapshot.setup.pucks
    found = pucks if said.view is None else int(said.view.targets.present.sum())
    if not said.boxes or snapshot.body is None or not 0 < found < pucks:
        return ""
    return f" It finds only {found} of the {pucks} pucks in the goal picture."


def _subgoals(snapshot: Snapshot) -> str:
    """Return one row per sub-goal: what it looks like, its state, and what it is worth."""
    said, picture = snapshot.thoughts, snapshot.goal.picture
    view = said.view
    assert view is not None
    rows = []
    for goal in np.flatnonzero(view.targets.present).tolist():
        colour, state = _state(said, goal)
        looks = _name(goal)
        if said.boxes:
            place, half = view.targets.position[goal], view.targets.scale[goal]
            looks = _image(crop(picture, place, half, _THUMB), colour)
        rows.append(f"<tr><td>{looks}</td><td>{state}</td><td>{_value(said, goal)}</td></tr>")
    if not rows:
        return ""
    judged = "what it expects to gain" if said.gains else "how near it feels (0: there)"
    head = f"<tr style='opacity:.65'><td></td><td>sub-goal</td><td>{judged}</td></tr>"
    return f'<table style="width:100%;{_TEXT}">{head}{"".join(rows)}</table>'


def _state(said: Thoughts, goal: int) -> tuple[Colour, str]:
    assert said.view is not None
    if said.view.solved[goal]:
        return SOLVED, "considered solved"
    if goal == said.view.current and not said.done:
        return CURRENT, "<b>works on it</b>"
    return SEEN, "still to do"


def _value(said: Thoughts, goal: int) -> str:
    """Return a bar from the worst to the best sub-goal, with the number."""
    if said.values is None:
        return ""
    shown = said.values[said.view.targets.present] if said.view is not None else said.values
    low, high = min(float(shown.min()), -1e-6), 0.0
    if said.gains:
        low, high = 0.0, max(float(shown.max()), 1e-6)
    share = np.clip((float(said.values[goal]) - low) / (high - low), 0.04, 1.0)
    return _bar(float(share), f"{said.values[goal]:.2f}", (86, 180, 233))


def _attention(snapshot: Snapshot) -> str:
    """Return bars: for each head of the policy, how much it looks at which object."""
    said = snapshot.thoughts
    view = said.view
    if view is None or view.attention is None:
        return ""
    slots = np.flatnonzero(view.objects.present).tolist()
    head = "".join(f"<td>{_who(snapshot, slot)}</td>" for slot in slots)
    rows = [f"<tr><td></td>{head}</tr>"]
    for name, weights in zip(view.attention.heads, view.attention.weights, strict=True):
        cells = "".join(
            f"<td>{_bar(float(weights[s]), f'{100 * weights[s]:.0f} %', (0, 84, 147))}</td>"
            for s in slots
        )
        name = _safe(name).replace("uncond.", "anyway").replace("cond.", "head")
        rows.append(f"<tr><td style='white-space:nowrap'>{name}</td>{cells}</tr>")
    return (
        "<p style='margin:.5em 0 .1em'><b>What its policy looks at</b></p>"
        f'<table style="width:100%;{_TEXT};font-size:11px">{"".join(rows)}</table>'
    )


def _who(snapshot: Snapshot, slot: int) -> str:
    said = snapshot.thoughts
    assert said.view is not None
    if not said.boxes:
        return _name(slot)
    objects = said.view.objects
    cut = crop(snapshot.now.picture, objects.position[slot], objects.scale[slot], _THUMB)
    return f"{_image(cut, said.view.colour(slot))} {slot + 1}"


def _name(slot: int) -> str:
    """Return the name of an object of the true state: the hand comes first, then the pucks."""
    return "hand" if slot == 0 else f"puck {slot}"


def _bar(share: float, label: str, rgb: Colour) -> str:
    return (
        '<div style="position:relative;background:rgba(128,128,128,.15);height:1.3em;'
        'border-radius:3px;overflow:hidden;min-width:3em">'
        f'<div style="width:{100 * share:.0f}%;height:100%;background:rgba{(*rgb, 0.6)}"></div>'
        f'<span style="position:absolute;left:.3em;top:0;font-size:11px">{label}</span></div>'
    )


def _image(picture: np.ndarray, colour: Colour) -> str:
    data = io.BytesIO()
    Image.fromarray(picture).save(data, format="PNG")
    code = base64.b64encode(data.getvalue()).decode()
    return (
        f'<img src="data:image/png;base64,{code}" width="{_THUMB}" height="{_THUMB}" '
        f'style="border:2px solid rgb{colour};vertical-align:middle">'
    )


def _css(rgb: np.ndarray) -> str:
    red, green, blue = np.rint(220 * rgb).astype(int).tolist()
    return f"rgb({red},{green},{blue})"


def _safe(text: str) -> str:
    return html.escape(text)
