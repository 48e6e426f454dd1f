"""Take the moving picture of README.md and docs/page.md: a shipped agent at work, in a browser.

    python -m tests.browser.picture [--agent NAME] [--out FILE]

It needs Chromium (`make test-browser` installs it) and some minutes. Episodes 0, 1, ... are tried
without a browser first; the first in which the agent brings every puck within 4 cm, twice, before
and after a ring is dragged, is then played again step by step in a browser. Its number is printed,
and how many were tried, so that the text beside the picture can say it.
"""

import argparse
import io
import itertools
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from smorl.page.agents import AS_TRAINED, Agents
from smorl.page.casting import Seat
from smorl.page.requests import Drag, Pause, Reset, StepOnce
from smorl.page.server import Page, PageSettings
from smorl.page.session import Session
from smorl.page.table import Setup
from smorl.visualise.video import caption
from tests.browser.conftest import FLAGS
from tests.browser.windows import Clock, Window

OUT = Path(__file__).parents[2] / "docs" / "images" / "page-drag.webp"
SETUP = Setup("rearrange", 2)
SIZE, DURATION, EVERY = (1000, 480), 150, 3  # pixels, milliseconds a frame, steps a frame
NEAR, MOST_STEPS, EPISODES = 0.04, 120, 40
PLACES = [(x, y) for x in (-0.15, 0.0, 0.15) for y in (0.45, 0.55, 0.65)]
RINGS = (
    "Each ring is where the puck of its colour should go. The agent sees only the small picture."
)
DRAGGED = "A visitor drags the {} ring to another place ..."
CHASED = "... and the agent, which is shown the new goal picture, puts the table right again."


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.browser.picture", description=__doc__)
    parser.add_argument("--agent", default="shipped:visual-rearrange-2")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    agents = Agents([args.agent])
    seat = Seat(args.agent, AS_TRAINED)
    try:
        seed, wanted = search(agents, seat)
        say(f"episode {seed}: {seed + 1} tried")
        frames = film(agents, seat, seed, wanted)
    finally:
        agents.close()
    frames[0].save(
        args.out,
        save_all=True,
        append_images=frames[1:],
        duration=[DURATION] * (len(frames) - 1) + [3000],
        loop=0,
        quality=55,
        method=6,
    )
    say(f"{args.out}: {len(frames)} frames, {args.out.stat().st_size / 1e6:.2f} MB")


def say(line):
    sys.stdout.write(line + "\n")


def search(agents, seat):
    """Return the first episode that goes well twice, and where (2,) its ring was dragged."""
    for seed in range(EPISODES):
        rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])  # as the page does
        session = Session(agents, seat, SETUP, rng)
        while not session.scene:
            session.tick(time.monotonic())
        begin(session)
        if session.scene[0].distances[-1].min() > 0.1 and play(session):
            wanted = another_place(session.scene[0])
            session.ask(Drag("goal", 0, wanted, last=True))
            session.tick(time.monotonic())
            if play(session):
                session.close()
                return seed, session.scene[0].body.goals[0]  # where it fits
        session.close()
    raise SystemExit(f"none of {EPISODES} episodes went well")


def begin(session, tick=True):
    """Stop the table's own time and start anew."""
    for request in (Pause(True), Reset()):
        session.ask(request)
        if tick:
            session.tick(time.monotonic())


def play(session):
    for step in range(MOST_STEPS):
        session.ask(StepOnce())
        session.tick(time.monotonic())
        if step and arrived(session.scene[0]):
            return True
    return False


def arrived(table):
    return (table.distances[-1] < NEAR).all() and table.thoughts.done


def another_place(table):
    """Return the place (x, y) farthest from everything on the table."""
    things = np.concatenate([table.body.goals, table.body.pucks])
    away = np.linalg.norm(np.array(PLACES)[:, None] - things, axis=2).min(1)
    return PLACES[int(away.argmax())]


def film(agents, seat, seed, wanted):
    """Play an episode in a browser; return its frames."""
    from playwright.sync_api import sync_playwright

    page = Page(agents, seat, SETUP, PageSettings(port=0, visitors=1, seed=seed))
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS), timeout=120_000
        )
        try:
            camera = Camera(Window(browser, page, Clock(3600, patience=300), SIZE, "?fixedDpr=0.5"))
            return camera.film(wanted)
        finally:
            browser.close()
            page.stop()


class Camera:
    """Drives a window step by step and keeps what it shows."""

    def __init__(self, window):
        self.window, self.frames = window, []

    def film(self, wanted):
        window, session = self.window, self.window.session
        tidy(window.tab)
        before = window.now.body.goals
        begin(session, tick=False)
        window.until(lambda: session.paused and (window.now.body.goals != before).any(), "a start")
        for _ in range(4):
            self.keep(RINGS)
        self.play(RINGS)
        colour = colour_name(window.now.rgb[0])
        self.drag(wanted, DRAGGED.format(colour))
        self.play(CHASED)
        left = " and ".join(f"{100 * d:.1f}" for d in window.now.distances[-1])
        self.keep(f"Both pucks are where they should be: {left} cm from the middle of their rings.")
        return self.frames

    def play(self, words):
        session = self.window.session
        for step in itertools.count(1):
            count = self.window.now.steps
            session.ask(StepOnce())
            self.window.until(lambda count=count: self.window.now.steps > count, "a step")
            done = step > 1 and arrived(self.window.now)
            if done or step % EVERY == 0:
                self.keep(words)
            if done:
                return
            assert step < MOST_STEPS, "it went otherwise than without a browser"

    def drag(self, wanted, words):
        """Drag the first ring with the mouse, which is drawn, to exactly this place."""
        window = self.window
        start, move = window.grip(wanted)
        at = window.screen(start)
        window.tab.mouse.move(*at)
        self.keep(words, at)
        window.tab.mouse.down()
        for share in np.linspace(0.0, 1.0, 9):
            at = window.screen(start + share * move)
            window.tab.mouse.move(*at)
            self.keep(words, at)
        window.tab.mouse.up()
        window.until(lambda: np.linalg.norm(window.now.body.goals[0] - wanted) < 0.03, "the ring")
        window.session.ask(Drag("goal", 0, tuple(wanted.tolist()), last=True))
        window.until(lambda: np.allclose(window.now.body.goals[0], wanted, atol=5e-3), "its place")

    def keep(self, words, mouse=None):
        self.window.rest()
        shown = Image.open(io.BytesIO(self.window.tab.screenshot(timeout=120_000))).convert("RGB")
        if mouse is not None:
            draw_mouse(shown, mouse)
        self.frames.append(Image.fromarray(caption(np.asarray(shown), words, 22)))


def tidy(tab):
    """Close what only this computer says (no graphics card), and the controls: no room for them."""
    note = tab.get_by_role("alert").get_by_role("button")
    if note.count():
        note.first.click()
    tab.locator("[aria-label*='ollapse'], [title*='ollapse']").last.click()
    tab.mouse.move(SIZE[0] / 2, SIZE[1] / 2)  # or what was clicked would go on explaining itself


def draw_mouse(picture, place):
    x, y = place
    arrow = [(0, 0), (0, 20), (5, 16), (9, 24), (13, 22), (9, 14), (15, 14)]
    points = [(x + a, y + b) for a, b in arrow]
    ImageDraw.Draw(picture).polygon(points, fill="black", outline="white")


def colour_name(rgb):
    names = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "turquoise": (0, 0.8, 0.8)}
    return min(names, key=lambda name: np.abs(np.array(names[name]) - rgb).sum())


if __name__ == "__main__":
    main()
