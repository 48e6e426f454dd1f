"""The notebooks of examples/ run from their first cell to their last, and say what they should."""

import shutil
from pathlib import Path

import pytest

from tests.pages import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def printed(book, tmp_path: Path, monkeypatch) -> str:
    """Run a notebook in a copy of its folder; return all it prints."""
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run = nbformat.read(folder / book, as_version=4)
    nbclient.NotebookClient(run, timeout=1200, resources={"metadata": {"path": folder}}).execute()
    outputs = [output for cell in run.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no picture"
    return "".join(output.text for output in outputs if output.output_type == "stream")


@pytest.mark.slow
def test_watch_and_drive(tmp_path, monkeypatch):
    text = printed("watch_and_drive.ipynb", tmp_path, monkeypatch)
    assert "cm from its goal; the agent says" in text
    assert "cm from its new goal" in text
    assert "'success'" in text


@pytest.mark.slow
def test_own_world(tmp_path, monkeypatch):
    text = printed("own_world.ipynb", tmp_path, monkeypatch)
    assert "'object_distance': None" in text
    assert "objects found:" in text
    assert (tmp_path / "examples" / "runs" / "discs" / "result.json").exists()


def test_notebooks_are_kept_without_outputs():
    assert [book.name for book in NOTEBOOKS] == ["own_world.ipynb", "watch_and_drive.ipynb"]
    for book in NOTEBOOKS:
        for cell in nbformat.read(book, as_version=4).cells:
            assert not cell.get("outputs"), f"{book.name}: clear the outputs"
