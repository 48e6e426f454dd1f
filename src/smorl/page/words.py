"""What the page says, in plain words, to somebody who has not read the paper."""

from __future__ import annotations

import html

from smorl.page.session import Session

_STYLE = "margin:0 1em .5em;font-size:13px;opacity:.8"
TITLE, TITLE_FOREIGN = "smorl: drag a ring", "smorl: watch an agent"
INTRODUCTION = (
    "**Drag a ring** to another place on the table: the robot tries to bring the puck of that "
    "colour there. **Drag a puck** to disturb it. Drag beside the table to look around."
)
FOREIGN = (
    "This agent plays an environment of its own, without a 3-D model: on the left is what it "
    "sees, wants and looks at. Goals come with episodes; nothing can be dragged here."
)
TASKS = {
    "rearrange": "Rearrange",
    "push": "Push (shorter ways)",
}
_PICTURES = """
In the pictures:
- **blue box**: an object it has found, **grey**: one it remembers but does not see
- **orange**: the sub-goal it works on (dashed: where that object should go)
- **green**: considered solved, by its own judgement, which may be wrong
"""
EXPLANATION_FOREIGN = f"""
Nobody told the agent what there is in this world, or what it should do: it watched random videos
until it could tell objects apart, then set itself goals ("bring this thing there") and practised.

Here it is shown a **goal picture**, how things should look. Each object it finds there becomes one
small task, a **sub-goal**. It picks one, works until it considers it solved, and goes on with the
next.
{_PICTURES}
"""
EXPLANATION = f"""
A camera looks at the table and sends pictures of 64 by 64 pixels. Nobody told the agent what a puck
is, or what it should do: it watched random videos until it could tell objects apart, then set
itself goals ("bring this thing there") and practised.

Here the goals are yours. From the rings you place, a **goal picture** is drawn, and the agent looks
for objects in it, too. Each object it finds there becomes one small task, a **sub-goal**. It picks
one, pushes until it considers it solved, and goes on with the next.
{_PICTURES}
On the table:
- **orange line**: from where it believes the object to be to where it wants it
- **blue lines**: what it imagines if it plans ahead: ways of its hand and of the object, the thick
  ones those it takes

An agent of the kind *ground truth* is told the true places instead of finding them in pictures.
"""
FULL = (
    "### All tables are taken\n\nThis page has tables for {limit} visitors. Leave this window "
    "open: you get the next one that becomes free."
)

BROKEN = (
    "### Something went wrong\n\nThis table had to be closed; the terminal says why. Reload the "
    "page for a new one."
)


def status(session: Session) -> str:
    """Return one line about the session, as HTML."""
    if session.message:
        return f'<p style="{_STYLE};color:#c92a2a">{html.escape(session.message)}</p>'
    if session.loading:
        return f'<p style="{_STYLE}">Loading …</p>'
    pace = "" if session.speed == 1 else f", at {session.speed:g} times the robot's speed"
    words = f"Running{pace}."
    if session.paused:
        words = "Paused. Drag what you like; <b>go</b> lets it go on."
    return f'<p style="{_STYLE}">{words}</p>'
