"""The page as a server, spoken to without a browser."""

import asyncio
import contextlib
import gc
import socket
import time
import urllib.error
import urllib.request
import weakref

import msgspec
import pytest
from viser import _messages as messages
from websockets.exceptions import ConnectionClosed

from smorl.bench.page import CAMERA, connected
from smorl.envs.tabletop.checks import TABLE_HIGH, TABLE_LOW
from smorl.errors import InvalidInput
from smorl.page.casting import Seat
from smorl.page.server import Page, PageSettings, check_host
from smorl.page.table import Setup
from tests.browser.windows import Company

PATIENCE = 30.0


@pytest.fixture
def page():
    settings = PageSettings(port=0, visitors=2)
    served = Page(Company(), Seat("one", "nobody"), Setup("rearrange", 1), settings)
    yield served
    served.stop()


def until(condition):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < PATIENCE
        time.sleep(0.02)


async def _stay(page, raw, then):
    async with connected(page.address) as socket:
        await socket.send(CAMERA)
        for message in raw:
            await socket.send(message)
        return await asyncio.to_thread(then)


def stay(page, then, raw=()):
    return asyncio.run(_stay(page, raw, then))


def test_a_visitor_gets_a_table_and_frees_it_on_leaving(page):
    stay(page, lambda: until(lambda: page.sessions() and page.sessions()[0].scene))
    until(lambda: not page.sessions())
    assert not page._visitors


def test_the_page_listens_on_this_machine_only(page):
    assert page.settings.host == "127.0.0.1"
    assert page.address.startswith("http://127.0.0.1:")
    port = page.server.get_port()
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(
        ConnectionRefusedError
    ):  # any other address of this machine, even of its loopback
        socket.create_connection(("127.0.0.2", port), timeout=5)


@pytest.mark.parametrize(
    "path", ["/../../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"]
)
def test_no_files_but_the_page_itself(page, path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(page.address + path)
    assert urllib.request.urlopen(page.address).status == 200


def test_nobody_can_have_the_page_published_or_upload_files(page):
    handlers = page.server._websock_server._incoming_handlers
    for message in (messages.ShareUrlRequest, messages.FileTransferStartUpload):
        assert message not in handlers

    def look():
        until(page.sessions)
        (client,) = page.server.get_clients().values()
        own = client._websock_connection._incoming_handlers
        assert messages.FileTransferStartUpload not in own
        assert messages.FileTransferPart not in own

    stay(page, look)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe nonsense", msgspec.msgpack.encode({"type": "No"})])
def test_broken_messages_end_one_visit_and_no_other(page, raw):
    def others():
        until(page.sessions)
        first = page.sessions()[0]
        with contextlib.suppress(ConnectionClosed):  # thrown out
            stay(page, lambda: time.sleep(0.2), [raw])
        until(lambda: page.sessions() == [first])
        steps = first.scene[0].steps if first.scene else 0
        until(lambda: first.scene and first.scene[0].steps > steps + 1)

    stay(page, others)


def drag(client, grip, place, phase):
    """A gesture on the first ring, as a browser sends it."""
    return msgspec.msgpack.encode(
        {
            "type": "SceneNodeDragMessage",
            "phase": phase,
            "name": "/table-0/goal-0/ring",
            "instance_index": None,
            "start_position": grip,
            "start_screen_pos": (0.5, 0.5),
            "end_position": place,
            "end_screen_pos": (0.5, 0.5),
            "button": "left",
            "modifier": None,
            "owner": str(client),
        }
    )


def drawn(page):
    (visitor,) = page._visitors.values()
    return visitor._stages and visitor._stages[0]._drawn


async def _flood(page, places, look):
    async with connected(page.address) as socket:

        async def take():  # what the page sends must be taken, or it waits
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await socket.recv()

        reading = asyncio.create_task(take())
        await socket.send(CAMERA)
        await asyncio.to_thread(until, lambda: page.sessions() and page.sessions()[0].scene)
        await asyncio.to_thread(until, lambda: drawn(page))
        client, ring = next(iter(page._visitors)), page.sessions()[0].scene[0].body.goals[0]
        grip = (*ring.tolist(), 0.0)
        await socket.send(drag(client, grip, grip, "start"))
        for place in places:
            await socket.send(drag(client, grip, place, "update"))
        await socket.send(drag(client, grip, places[-1], "end"))
        await asyncio.to_thread(look)
        reading.cancel()


def test_a_drag_reaches_the_table_and_a_flood_of_them_fills_nothing(page):
    """Places far outside and no numbers at all among them; the last one is where it stays."""
    strange = [(9.0, 9.0, 9.0), (float("nan"),) * 3, (1e300, -1e300, -1e300), (0.0, 2.0, 1.0)]
    places = 200 * [*strange, (0.1, 0.6, 0.0)]

    def look():
        (session,) = page.sessions()
        assert len(session._inbox) <= 2
        until(lambda: abs(session.scene[0].body.goals[0] - (0.1, 0.6)).max() < 0.06)
        steps = session.scene[0].steps
        until(lambda: session.scene[0].steps > steps + 2)
        goals = session.scene[0].body.goals
        assert (goals >= TABLE_LOW).all()
        assert (goals <= TABLE_HIGH).all()

    asyncio.run(_flood(page, places, look))
    until(lambda: not page.sessions())


def test_who_leaves_is_cleared_away_completely(page):
    kept = []

    def look():
        until(lambda: page.sessions() and page.sessions()[0].scene)
        kept.append(weakref.ref(page.sessions()[0]._tables[0]))

    for _ in range(3):
        stay(page, look)
        until(lambda: not page.sessions())

    def freed():
        gc.collect()
        return all(table() is None for table in kept)

    until(freed)


@pytest.mark.parametrize("host", ["x.invalid", "999.9.9.9", "203.0.113.7", "a" * 300, "\udcff"])
def test_a_host_that_is_not_ours_is_refused_at_once(host):
    check_host("127.0.0.1")  # this one is
    with pytest.raises(InvalidInput, match="no address of this machine"):
        check_host(host)
