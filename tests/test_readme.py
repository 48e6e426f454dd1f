"""The README says what the committed results say."""

import json
from pathlib import Path

import pytest

from smorl.cli import perception_results
from smorl.cli.gap import as_markdown
from smorl.paper.figures.curves import find_runs
from smorl.paper.results import read_result, table

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("folder", "mark"), [("gt", "results"), ("visual", "visual")])
def test_the_results_tables_are_those_the_raw_results_give(folder, mark):
    results = [read_result(path) for path in find_runs([ROOT / "results" / folder])]
    expected = table([result for result in results if result is not None])
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.split(f"<!-- {mark} -->\n")[1].split(f"<!-- end of {mark} -->")[0]
    assert shown == expected, f"paste the table of `smorl results results/{folder}` into README.md"


def test_the_perception_table_is_the_one_the_raw_results_give(capsys):
    assert perception_results.main([str(ROOT / "results" / "perception")]) == 0
    page = (ROOT / "docs" / "perception.md").read_text("utf-8")
    shown = page.split("<!-- perception -->\n")[1].split("<!-- end of perception -->")[0]
    assert shown == capsys.readouterr().out, "paste `smorl perception results results/perception`"


def test_the_gap_table_is_the_one_the_raw_result_gives():
    raw = json.loads((ROOT / "results" / "gap" / "visual-rearrange-1.json").read_text("utf-8"))
    page = (ROOT / "docs" / "learner.md").read_text("utf-8")
    assert as_markdown(raw["rows"]) in page, "paste `smorl gap shipped:visual-rearrange-1`"


def test_every_linked_file_exists():
    import re

    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text("utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page}: {target}"
