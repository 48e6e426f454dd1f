"""A page and a browser, shared by the tests of this folder (`make test-browser`)."""

import shutil
import time

import pytest

from smorl.page.casting import Seat
from smorl.page.server import Page, PageSettings
from smorl.page.table import Setup
from tests.browser.windows import Clock, Company, Window

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--mute-audio",
)


@pytest.fixture(scope="session")
def clock():
    return Clock()


@pytest.fixture(scope="session")
def browser(clock):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no Playwright here: pip install 'smorl[browser]'"
    )
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=path, headless=True, args=list(FLAGS), timeout=120_000
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def page():
    settings = PageSettings(port=0, visitors=2)
    served = Page(Company(), Seat("one", "nobody"), Setup("rearrange", 1), settings)
    yield served
    served.stop()


@pytest.fixture(scope="session")
def window(browser, page, clock):
    """One visit for all tests that need no other: opening the page is what takes time."""
    opened = Window(browser, page, clock)
    yield opened
    opened.close()


@pytest.fixture
def alone(page):
    """Everybody has left before and after."""

    def empty():
        start = time.monotonic()
        while page.sessions():
            assert time.monotonic() - start < 60, "somebody who left has not freed the table"
            time.sleep(0.1)

    return empty
