"""The snippets of docs/library.md run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.slow
def test_every_snippet_of_the_library_page_runs_in_turn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(SNIPPETS) >= 4
    names: dict = {}
    for snippet in SNIPPETS:
        exec(snippet, names)
    assert names["result"]["episodes"] == 4
    assert names["action"].shape == (1, 2)
    assert (tmp_path / "runs" / "first" / "result.json").exists()
