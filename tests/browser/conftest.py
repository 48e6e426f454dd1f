"""A page and a browser, shared by the tests of this folder (`make test-browser`)."""

import shutil
import time

import pytest

from smorl.page.casting import Seat
from smorl.page.server import Page, PageSettings
from smorl.page.table import Setup
from tests.browser.windows import PATIENCE, Company, Window

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
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'smorl[browser]'")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def page():
    settings = PageSettings(port=0, visitors=2)
    served = Page(Company(), Seat("one", "scripted"), Setup("rearrange", 1), settings)
    yield served
    served.stop()


@pytest.fixture
def window(browser, page):
    opened = Window(browser, page)
    yield opened
    opened.close()
    start = time.monotonic()
    while page.sessions() and time.monotonic() - start < PATIENCE:
        time.sleep(0.1)
