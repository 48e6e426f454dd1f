"""The page itself: visitors come and go, one thread steps their tables, another draws them."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import viser
from viser import _messages as messages

from smorl.errors import InvalidInput
from smorl.page.casting import Casting, Seat
from smorl.page.following import Progress
from smorl.page.requests import Request
from smorl.page.session import Session
from smorl.page.stage import FLOOR
from smorl.page.table import Setup, Snapshot
from smorl.page.visitor import VIEW, Visitor
from smorl.page.words import BROKEN, FULL, TITLE, TITLE_FOREIGN

VISITORS = 4
_SCENE_RATE = 25  # pictures of the scene a second: it moves smoothly between control steps
_PATIENCE = 0.02  # seconds after which the control thread looks for newcomers
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class PageSettings:
    """How the page is served. `visitors` have a table at once, further ones wait."""

    host: str = "127.0.0.1"
    port: int = 8080
    visitors: int = VISITORS
    seed: int = 0


class Watcher(Protocol):
    """Who else wants to see what happens at the first visitor's table."""

    def add(self, scene: tuple[Snapshot, ...]) -> None:
        """Take in the scene after a step; must not block."""
        ...


class Page:
    """Serves tables to visitors until `stop`."""

    def __init__(
        self,
        casting: Casting,
        seat: Seat,
        setup: Setup,
        settings: PageSettings | None = None,
        watcher: Watcher | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = PageSettings() if settings is None else settings
        self.progress: Progress | None = None  # of a run in training that is followed
        self._watcher = watcher
        self._casting, self._seat, self._setup = casting, seat, setup
        self._clock = clock
        self._seeds = np.random.SeedSequence(self.settings.seed)
        self._visitors: dict[int, Visitor] = {}
        self._waiting: dict[int, viser.ClientHandle] = {}
        self._left: list[Visitor] = []  # whose tables the control thread has yet to close
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        check_host(self.settings.host)
        with contextlib.redirect_stdout(io.StringIO()):  # viser would print a banner
            self.server = viser.ViserServer(
                host=self.settings.host,
                port=self.settings.port,
                label=_title(casting),
                verbose=False,
            )
        _lock_down(self.server)
        _set_scene(self.server, floor=not casting.foreign)
        self.server.on_client_connect(self._welcome)
        self.server.on_client_disconnect(self._farewell)
        self._threads = [
            threading.Thread(target=work, name=f"page-{work.__name__}", daemon=True)
            for work in (self._control, self._draw)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{self.settings.host}:{self.server.get_port()}"

    def sessions(self) -> list[Session]:
        """Return the sessions of everybody who has a table."""
        return [visitor.session for visitor in self._seated()]

    def ask_everybody(self, request: Request) -> None:
        """Ask something of every session."""
        for session in self.sessions():
            session.ask(request)

    def stop(self) -> None:
        """Send everybody home."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout=5)
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    async def _welcome(self, client: viser.ClientHandle) -> None:
        with self._lock:
            full = len(self._visitors) >= self.settings.visitors
            if full:
                self._waiting[client.client_id] = client
        if full:
            client.gui.add_markdown(FULL.format(limit=self.settings.visitors))
        else:
            self._give_table(client)

    async def _farewell(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._waiting.pop(client.client_id, None)
            visitor = self._visitors.pop(client.client_id, None)
            following = None
            if visitor is not None:
                visitor.gone = True
                self._left.append(visitor)
                if self._waiting:
                    following = self._waiting.pop(next(iter(self._waiting)))
        if following is not None:
            following.gui.reset()
            self._give_table(following)

    def _give_table(self, client: viser.ClientHandle) -> None:
        _refuse_uploads(client)
        rng = np.random.default_rng(self._seeds.spawn(1)[0])
        session = Session(self._casting, self._seat, self._setup, rng)
        visitor = Visitor(client, session, self._casting)
        with self._lock:
            self._visitors[client.client_id] = visitor

    def _seated(self) -> list[Visitor]:
        with self._lock:
            return list(self._visitors.values())

    def _control(self) -> None:
        """Step tables in the order they are due, so that nobody's pace costs another theirs."""
        while not self._stopping.is_set():
            self._clear_tables()
            now = self._clock()
            first = min(self._seated(), key=lambda visitor: visitor.session.due, default=None)
            if first is None or first.session.due > now:
                wait = _PATIENCE if first is None else min(first.session.due - now, _PATIENCE)
                self._stopping.wait(wait)
            else:
                self._guard(first, lambda visitor=first, now=now: self._tick(visitor, now))

    def _clear_tables(self) -> None:
        with self._lock:
            left, self._left = self._left, []
        for visitor in left:
            try:
                visitor.session.close()
            except Exception:  # of somebody's own environment: no reason to stop for the others
                _LOG.exception("a table could not be closed")

    def _tick(self, visitor: Visitor, now: float) -> None:
        stepped = visitor.session.tick(now)
        if stepped and self._watcher is not None and self._seated()[:1] == [visitor]:
            self._watcher.add(visitor.session.scene)

    def _guard(self, visitor: Visitor, work: Callable[[], object]) -> None:
        """Do something for one visitor; what goes wrong there must not end it for the others."""
        try:
            if not visitor.gone:
                work()
        except Exception:
            _LOG.exception("a visitor's table failed and was closed")
            visitor.gone = True
            with self._lock:
                self._visitors.pop(visitor.client.client_id, None)
                self._left.append(visitor)
            visitor.client.gui.reset()
            visitor.client.gui.add_markdown(BROKEN)

    def _draw(self) -> None:
        while not self._stopping.is_set():
            started = self._clock()
            for visitor in self._seated():
                self._guard(
                    visitor, lambda visitor=visitor: visitor.draw(self._clock(), self.progress)
                )
            self._stopping.wait(max(0.005, 1 / _SCENE_RATE - (self._clock() - started)))


def check_host(host: str) -> None:
    """Refuse an address that is none of this machine; viser would wait for it for ever."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(
            f"--host {host!r:.80} is no address of this machine ({error}); 127.0.0.1 is for this "
            "machine alone, 0.0.0.0 for its whole network."
        ) from error


def _title(casting: Casting) -> str:
    return TITLE_FOREIGN if casting.foreign else TITLE


def _lock_down(server: viser.ViserServer) -> None:
    """Take away what viser offers to anybody who connects and this page has no use for."""
    # A visitor could otherwise have the server publish itself through a tunnel on the internet.
    connection = server._websock_server
    connection.unregister_handler(messages.ShareUrlRequest)
    connection.unregister_handler(messages.ShareUrlDisconnect)
    for message in (messages.FileTransferStartUpload, messages.FileTransferPart):
        connection.unregister_handler(message)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 84, 147))


def _refuse_uploads(client: viser.ClientHandle) -> None:
    """Any input accepts the start of an upload, whose parts would be kept in memory."""
    connection = client._websock_connection
    for message in (messages.FileTransferStartUpload, messages.FileTransferPart):
        connection.unregister_handler(message)


def _set_scene(server: viser.ViserServer, floor: bool) -> None:
    server.initial_camera.position = VIEW.position
    server.initial_camera.look_at = VIEW.lookat
    server.initial_camera.fov = float(np.radians(VIEW.fovy))
    server.scene.set_up_direction("+z")
    # Light that a computer without a graphics card can draw: no shadows, and no mirrored room.
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.configure_environment_map(hdri=None)
    server.scene.add_light_ambient("/light", intensity=1.2)
    if floor:  # somebody's own environment has nothing that could stand on it
        server.scene.add_grid(
            "/floor", width=6.0, height=6.0, position=(0.0, 0.4, FLOOR), cell_size=0.25
        )
