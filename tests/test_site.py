"""The documentation builds as a site: strictly, every link checked, nothing from elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT

pytest.importorskip("mkdocs")
pytest.importorskip("material")


def build(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "-f", str(config), "-d", str(folder)]
    # An address that answers nobody: whoever asks the network while building fails.
    offline = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **offline, "NO_MKDOCS_2_WARNING": "1"}, text=True,
        capture_output=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_every_page_is_there_and_in_the_menu(site):
    menu = (site / "index.html").read_text("utf-8")
    for page in PAGES:
        if page.is_relative_to(ROOT / "docs"):
            path = page.relative_to(ROOT / "docs").with_suffix(".html")
            assert (site / path).exists(), path
            assert f'href="{path.as_posix()}"' in menu or path.name == "index.html", path


@pytest.mark.slow
def test_equations_are_drawn_and_docstrings_are_found(site):
    goals = (site / "method" / "goals.html").read_text("utf-8")
    assert goals.count("<math") >= 4
    assert "arithmatex" not in goals
    for page in site.rglob("*.html"):
        # What the converter does not know it leaves as it is.
        assert "<mtext>\\" not in page.read_text("utf-8"), page
        assert "<mi>\\" not in page.read_text("utf-8"), page
    api = (site / "api.html").read_text("utf-8")
    assert all(name in api for name in ("load_perception", "ObjectSet", "encode_goal"))


@pytest.mark.slow
def test_a_link_to_nothing_stops_the_build(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# x\n[nothing](nothing.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nstrict: true\nuse_directory_urls: false\n")
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode != 0
    assert "nothing.md" in done.stderr
