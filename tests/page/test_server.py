"""The page as a server, spoken to without a browser."""

import asyncio
import contextlib
import time
import urllib.error
import urllib.request

import msgspec
import pytest
import viser
from viser import _messages as messages
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from smorl.page.casting import Seat
from smorl.page.server import Page, PageSettings
from smorl.page.table import Setup
from tests.browser.windows import Company

PATIENCE = 30.0


@pytest.fixture
def page():
    settings = PageSettings(port=0, visitors=2)
    served = Page(Company(), Seat("one", "nobody"), Setup("rearrange", 1), settings)
    yield served
    served.stop()


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (0.0, 2.0, 1.0),
    "image_height": 300,
    "image_width": 400,
    "fov": 0.8,
    "near": 0.1,
    "far": 10.0,
    "look_at": (0.0, 0.5, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


def until(condition):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < PATIENCE
        time.sleep(0.02)


async def _stay(page, raw, then):
    address = page.address.replace("http", "ws")
    protocol = f"viser-v{viser.__version__}"
    async with connect(address, subprotocols=[protocol], max_size=None) as socket:
        await socket.send(msgspec.msgpack.encode(CAMERA))
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
