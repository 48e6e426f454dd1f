"""A visitor's window, driven by Playwright."""

import time
from concurrent.futures import Future

import gymnasium as gym
import numpy as np
import pytest

from smorl.envs.factory import View
from smorl.page.casting import Part
from smorl.page.players import Nobody, Scripted
from smorl.page.stage import RING_RADIUS, RING_WIDTH
from tests.page.test_env_table import Dot, Right

# Seconds one thing may take, and all of them together. Software GL on a busy machine is slow.
PATIENCE, BUDGET = 60.0, 300.0
# A browser that takes longer than this for a frame (seconds) cannot be judged.
SLOWEST_FRAME = 2.0
_FRAMES = """() => new Promise(done => {
    const start = performance.now()
    setTimeout(() => done(20), 20000)
    const frame = () => done((performance.now() - start) / 2e3)
    requestAnimationFrame(() => requestAnimationFrame(frame))
})"""


class Company:
    """Players without a trained agent: enough for everything the browser does."""

    foreign = False

    def __init__(self):
        self.asked = 0

    def agents(self):
        return ("one", "other")

    def controllers(self):
        return ("scripted", "nobody")

    def cast(self, seat, setup):
        self.asked += 1
        promise = Future()
        player = Scripted() if seat.controller == "scripted" else Nobody()
        promise.set_result(Part(player, View()))
        return promise


class OwnWorld:
    """Somebody's own environment, which has no 3-D model."""

    foreign = True

    def agents(self):
        return ("one",)

    def controllers(self):
        return ("as it was trained",)

    def cast(self, seat, setup):
        promise = Future()
        envs = gym.vector.SyncVectorEnv([lambda: Dot(images=True, judge=True)])
        promise.set_result(Part(Right(), View(), envs))
        return promise


class Clock:
    """The time all tests together may take."""

    def __init__(self, budget=BUDGET, patience=PATIENCE):
        self._end, self._patience = time.monotonic() + budget, patience

    @property
    def patience(self):
        """Seconds the next thing may take; it always gets a little."""
        return float(np.clip(self._end - time.monotonic(), 5.0, self._patience))

    @property
    def over(self):
        """Whether it is used up, so that nothing gets the patience it needs."""
        return time.monotonic() > self._end


class Window:
    """One visitor's window. What does not happen in time fails the test, unless the machine is so
    busy that the browser does not even draw: then it is skipped, and says so."""

    # A quarter of the pixels each way: what is dragged is found by geometry, not by pixels.
    def __init__(self, browser, page, clock, size=(1100, 420), query="?fixedDpr=0.25"):
        self._served, self._clock, self._query = page, clock, query
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        self.context.set_default_timeout(1000 * clock.patience)
        self.tab = self.context.new_page()
        self.open()

    def open(self):
        before = set(map(id, self._served.sessions()))
        address = f"{self._served.address}/{self._query}"
        self.wait_for(lambda limit: self.tab.goto(address, wait_until="commit", timeout=limit))
        self.until(lambda: set(map(id, self._served.sessions())) - before, "a table")
        (self.session,) = [s for s in self._served.sessions() if id(s) not in before]
        self.client = max(self._served.server.get_clients().items())[1]
        self.until(lambda: self.session.scene, "the first picture")
        self.see("What the agent sees")
        # The panels take their places beside the scene, which is where it is looked for below.
        boxes = []
        self.until(lambda: boxes.append(self._canvas()) or boxes[-3:] == 3 * boxes[-1:], "rest")

    def until(self, condition, what="it"):
        """Wait while the browser and the page go on."""
        end = time.monotonic() + self._clock.patience
        while not condition():
            if time.monotonic() > end:
                self._give_up(f"waited too long for {what}")
            self.tab.wait_for_timeout(100)

    def wait_for(self, call):
        """Call something of Playwright's with a limit in milliseconds."""
        from playwright.sync_api import TimeoutError as Late

        try:
            return call(1000 * self._clock.patience)
        except Late as error:
            self._give_up(str(error))

    def _give_up(self, what):
        frame = self.tab.evaluate(_FRAMES)
        if frame > SLOWEST_FRAME:
            pytest.skip(f"the machine is too busy: the browser draws a frame in {frame:.1f} s")
        if self._clock.over:
            pytest.skip(f"the machine is too busy: these tests have had their {BUDGET:.0f} s")
        pytest.fail(what)

    def see(self, text):
        self.wait_for(lambda limit: self.tab.get_by_text(text).first.wait_for(timeout=limit))

    def click(self, what):
        self.wait_for(lambda limit: what.click(timeout=limit))

    def press(self, name):
        self.click(self.tab.get_by_role("button", name=name, exact=True))

    def choose(self, label, option, which=0):
        """Choose from one of the lists beside the scene."""
        self.click(self.tab.get_by_label(label, exact=True).nth(which))
        self.click(self.tab.get_by_role("option", name=option, exact=True).first)

    @property
    def now(self):
        return self.session.scene[0]

    def _canvas(self):
        return self.tab.locator("canvas").first.bounding_box()

    def screen(self, point):
        """Where (pixels) this window shows a point of the world (3,), metres."""
        camera, box = self.client.camera, self._canvas()
        eye = np.array(camera.position)
        forward = np.array(camera.look_at) - eye
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, camera.up_direction)
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        offset = np.array(point) - eye
        half = np.tan(camera.fov / 2) * (offset @ forward)
        x = (offset @ right) / (half * box["width"] / box["height"])
        y = (offset @ up) / half
        return box["x"] + (1 + x) / 2 * box["width"], box["y"] + (1 - y) / 2 * box["height"]

    def drag(self, start, end):
        """Drag what is at a point of the world to another."""
        (x, y), (to_x, to_y) = self.screen(start), self.screen(end)
        mouse = self.tab.mouse
        mouse.move(x, y)
        self.tab.evaluate(_FRAMES)
        mouse.down()
        for share in np.linspace(0.1, 1.0, 6):
            mouse.move(x + share * (to_x - x), y + share * (to_y - y))
            self.tab.evaluate(_FRAMES)
        mouse.up()

    def rest(self):
        """Wait until what is known is drawn."""
        self.tab.wait_for_timeout(300)
        self.tab.evaluate(_FRAMES)

    def grip(self, wanted, shift=0.0):
        """Where (3,) to take the first ring, and the way (3,) to `wanted` (2,), metres."""
        start = np.array((*self.now.body.goals[0] + (shift, 0.0), 0.0))
        # By the rim that faces the camera, which no puck in the ring hides.
        towards = np.array(self.client.camera.position)[:2] - start[:2]
        start[:2] += (RING_RADIUS - RING_WIDTH / 2) * towards / np.linalg.norm(towards)
        return start, np.array((*wanted - self.now.body.goals[0], 0.0))

    def drag_goal(self, wanted, shift=0.0):
        """Drag the first ring to `wanted` (2,) metres, on the table that stands at `shift`."""
        start, move = self.grip(wanted, shift)
        self.drag(start, start + move)
        self.until(
            lambda: np.linalg.norm(self.now.body.goals[0] - wanted) < 0.02, "the ring to follow"
        )

    def picture(self):
        """The address of the panel's picture, which changes with what it shows."""
        return self.tab.locator("img").first.get_attribute("src")

    def close(self):
        self.context.close()
