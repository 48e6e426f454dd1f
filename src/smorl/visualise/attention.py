"""Which objects a policy looks at (Eq. 5), taken during an episode and drawn as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from smorl.types import ObjectGoal, ObjectSet
from smorl.visualise.overlay import Colour
from smorl.visualise.video import Picture

_SHORT = {"conditional": "cond.", "unconditional": "uncond."}
_FULL = np.array([0, 84, 147])  # a weight of 1; white is 0
# Pixels: the column of names, a cell, a line of text, and the space between cells.
_NAMES, _CELL, _ROW, _LINE, _GAP = 70, 48, 30, 18, 3


class Attending(Protocol):
    """An agent that says what it looks at: kind of head -> weights (K, heads, N)."""

    def attention(self, objects: ObjectSet, goal: ObjectGoal) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Attention:
    """Weights (H, N) of a policy's heads on the slots of one moment, and the heads' names.

    Each row sums to 1 over the present objects, or is 0 where there are none.
    """

    heads: tuple[str, ...]
    weights: np.ndarray


def attend(agent: Attending, state: dict[str, Any], row: int = 0) -> Attention | None:
    """Ask an agent for its attention at a moment that an evaluation tells its observer of.

    The goal is the current sub-goal of the row; None if the goal image showed nothing, or if the
    agent has no attention.
    """
    objects, targets = state["objects"][[row]], state["targets"][[row]]
    if not targets.present.any():
        return None
    found = agent.attention(objects, targets.goals()[:, int(state["current"][row])])
    if not found:
        return None
    names = [f"{_SHORT[k]} {i + 1}" for k, w in found.items() for i in range(w.shape[1])]
    return Attention(tuple(names), np.concatenate([w[0] for w in found.values()]))


def attention_table(
    attention: Attention, objects: Sequence[tuple[Picture, Colour] | None]
) -> Picture:
    """Draw heads as rows and slots as columns; a cell shows its weight in percent.

    Each slot has a square picture of its object and the colour of its frame, or None if absent.
    The size depends on the numbers of heads and slots alone, so that films do not jump.
    """
    heads, slots = attention.weights.shape
    top = 2 * _LINE + _CELL + _GAP
    size = (_NAMES + slots * (_CELL + _GAP), top + heads * (_ROW + _GAP))
    image = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    draw.text((0, 0), "attention of the policy, %", fill="black", font=font)
    for slot, shown in enumerate(objects):
        left = _NAMES + slot * (_CELL + _GAP)
        middle = left + _CELL / 2
        draw.text((middle, 1.5 * _LINE), str(slot + 1), fill="black", font=font, anchor="mm")
        box = [left, 2 * _LINE, left + _CELL - 1, 2 * _LINE + _CELL - 1]
        if shown is not None:
            picture, colour = shown
            draw.rectangle(box, fill=colour)
            edge = (_CELL - picture.shape[0]) // 2
            image.paste(Image.fromarray(picture), (left + edge, 2 * _LINE + edge))
        for head in range(heads):
            weight = float(attention.weights[head, slot]) if shown is not None else None
            _cell(draw, font, left, top + head * (_ROW + _GAP), weight)
    for head, name in enumerate(attention.heads):
        middle = top + head * (_ROW + _GAP) + _ROW / 2
        draw.text((0, middle), name, fill="black", font=font, anchor="lm")
    return np.asarray(image)


def _cell(draw: ImageDraw.ImageDraw, font: Any, left: int, top: int, weight: float | None) -> None:
    box = [left, top, left + _CELL - 1, top + _ROW - 1]
    if weight is None:
        draw.rectangle(box, outline=(225, 225, 225))
        return
    fill = tuple(np.rint(255 + weight * (_FULL - 255)).astype(int).tolist())
    draw.rectangle(box, fill=fill, outline=(200, 200, 200))
    ink = "white" if weight > 0.5 else "black"
    middle = (left + _CELL / 2, top + _ROW / 2)
    draw.text(middle, f"{100 * weight:.0f}", fill=ink, font=font, anchor="mm")
