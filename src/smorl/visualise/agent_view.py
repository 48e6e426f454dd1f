"""What a visual agent makes of a moment, and how that is drawn into pictures for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from smorl.types import ObjectSet
from smorl.visualise.attention import Attending, Attention, attend, attention_table
from smorl.visualise.overlay import Colour, crop, draw_box, draw_tag
from smorl.visualise.video import Picture

# Boxes in the agent's view: seen and remembered objects; the current sub-goal; solved ones.
SEEN, HIDDEN, CURRENT, SOLVED = (86, 180, 233), (150, 150, 150), (255, 140, 0), (40, 200, 60)
_MEANING = (
    (CURRENT, "current sub-goal; dashed: its place"),
    (SOLVED, "sub-goal considered solved"),
    (SEEN, "object found"),
    (HIDDEN, "remembered while out of sight"),
)
CROP_PIXELS = 44


@dataclass(frozen=True)
class AgentView:
    """What a visual agent makes of one moment: objects (N, .) now, objects (G, .) to be reached.

    Positions and scales are image coordinates. `hidden` (N,) marks remembered objects, `solved`
    (G,) sub-goals considered solved; `current` is the sub-goal pursued, `matched` the slot of the
    object taken for it; both are None where there is none. `attention` is the policy's, on the
    objects given the current sub-goal, if it is known.
    """

    objects: ObjectSet
    targets: ObjectSet
    hidden: np.ndarray
    solved: np.ndarray
    current: int | None
    matched: int | None
    attention: Attention | None = None

    @classmethod
    def of(cls, state: dict[str, Any], row: int = 0, agent: Attending | None = None) -> AgentView:
        """Take one row of what an evaluation tells its observer; `agent` is asked for attention."""
        objects, targets = state["objects"][row], state["targets"][row]
        age = getattr(state["carry"], "age", None)
        hidden = np.zeros(len(objects.present), bool) if age is None else age[row] > 0
        current = int(state["current"][row]) if targets.present.any() else None
        matched = -1 if current is None else int(state["matched"][row, current])
        solved = state["solved"][row] & targets.present
        attention = None if agent is None else attend(agent, state, row)
        matched = matched if matched >= 0 else None
        return cls(objects, targets, hidden, solved, current, matched, attention)

    def now(self, picture: Picture, palette: Sequence[Colour] | None = None) -> Picture:
        """Draw what is seen into the agent's view, and in orange, dashed, where it should go.

        With a `palette` colours tell objects apart by slot instead.
        """
        target = CURRENT
        if palette is not None:
            target = (0, 0, 0) if self.matched is None else palette[self.matched % len(palette)]
        slots = np.flatnonzero(self.objects.present).tolist()
        colours = {
            slot: self.colour(slot) if palette is None else palette[slot % len(palette)]
            for slot in slots
        }
        for slot in slots:
            picture = _box(picture, self.objects, slot, colours[slot], bool(self.hidden[slot]))
        if self.current is not None:
            picture = _box(picture, self.targets, self.current, target, dashed=True)
        if self.attention is not None:  # the numbers are those of the table's columns
            for slot in slots:
                place, half = self.objects.position[slot], self.objects.scale[slot]
                picture = draw_tag(picture, place, half, str(slot + 1), colours[slot])
        return picture

    def goal(self, picture: Picture) -> Picture:
        """Draw what is found into the goal image: orange the current sub-goal, green the solved."""
        for slot in np.flatnonzero(self.targets.present).tolist():
            colour = SOLVED if self.solved[slot] else SEEN
            picture = _box(picture, self.targets, slot, CURRENT if slot == self.current else colour)
        return picture

    def aim(self, picture: Picture, at_goal: bool = False) -> Picture:
        """Draw a box around the thing it looks after: where it is, or in the goal picture."""
        objects, slot = (self.targets, self.current) if at_goal else (self.objects, self.matched)
        return picture if slot is None else _box(picture, objects, slot, CURRENT)

    def table(self, view: Picture) -> Picture:
        """Return heads by objects, the latter cut out of the agent's view."""
        assert self.attention is not None
        cuts: list[tuple[Picture, Colour] | None] = []
        for slot, present in enumerate(self.objects.present.tolist()):
            place, half = self.objects.position[slot], self.objects.scale[slot]
            cut = (crop(view, place, half, CROP_PIXELS), self.colour(slot)) if present else None
            cuts.append(cut)
        table = attention_table(self.attention, cuts)
        return np.concatenate([table, key(table.shape[1])])

    def colour(self, slot: int) -> Colour:
        """Orange is the object that the current sub-goal is about, grey one that is remembered."""
        return CURRENT if slot == self.matched else HIDDEN if self.hidden[slot] else SEEN


def key(width: int) -> Picture:
    """Return what the colours of boxes mean, on a white strip of this width."""
    image = Image.new("RGB", (width, 14 + 20 * len(_MEANING)), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    for line, (colour, meaning) in enumerate(_MEANING):
        top = 14 + 20 * line
        draw.rectangle([0, top + 2, 12, top + 14], outline=colour, width=3)
        draw.text((20, top + 8), meaning, fill="black", font=font, anchor="lm")
    return np.asarray(image)


def _box(
    picture: Picture, objects: ObjectSet, slot: int, colour: Colour, dashed: bool = False
) -> Picture:
    return draw_box(picture, objects.position[slot], objects.scale[slot], colour, dashed=dashed)
