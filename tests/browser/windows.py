"""A visitor's window, driven by Playwright."""

import time
from concurrent.futures import Future

import numpy as np

from smorl.page.casting import Part
from smorl.page.players import Nobody, Scripted
from smorl.page.table import View

# Seconds. Software GL on a busy machine: everything arrives, but not soon.
PATIENCE = 90.0


class Company:
    """Players without a trained agent: enough for everything the browser does."""

    foreign = False

    def agents(self):
        return ("one", "other")

    def controllers(self):
        return ("scripted", "nobody")

    def cast(self, seat, setup):
        promise = Future()
        player = Scripted() if seat.controller == "scripted" else Nobody()
        promise.set_result(Part(player, View()))
        return promise


class Window:
    """One visitor's window."""

    def __init__(self, browser, page):
        self._served = page
        self.context = browser.new_context(viewport={"width": 1200, "height": 480})
        self.tab = self.context.new_page()
        self.open()

    def open(self):
        before = set(map(id, self._served.sessions()))
        self.tab.goto(self._served.address)
        self.until(lambda: set(map(id, self._served.sessions())) - before)
        (self.session,) = [s for s in self._served.sessions() if id(s) not in before]
        self.client = max(self._served.server.get_clients().items())[1]
        self.until(lambda: self.session.scene)
        # The panels take their places beside the scene, which is where it is looked for below.
        self.tab.get_by_text("What the agent sees").first.wait_for(timeout=1000 * PATIENCE)
        self.tab.wait_for_timeout(1500)

    def until(self, condition, patience=PATIENCE):
        """Wait while the browser and the page go on."""
        start = time.monotonic()
        while not condition():
            assert time.monotonic() - start < patience, "waited too long"
            self.tab.wait_for_timeout(100)

    @property
    def now(self):
        return self.session.scene[0]

    def screen(self, point):
        """Where (pixels) this window shows a point of the world (3,), metres."""
        camera, box = self.client.camera, self.tab.locator("canvas").first.bounding_box()
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
        self.tab.wait_for_timeout(200)
        mouse.down()
        for share in np.linspace(0.1, 1.0, 10):
            mouse.move(x + share * (to_x - x), y + share * (to_y - y))
            self.tab.wait_for_timeout(50)
        self.tab.wait_for_timeout(300)
        mouse.up()

    def picture(self):
        """The address of the panel's picture, which changes with what it shows."""
        return self.tab.locator("img").first.get_attribute("src")

    def close(self):
        self.context.close()
