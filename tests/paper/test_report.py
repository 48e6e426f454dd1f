"""The page of claims is the one the committed results give."""

from pathlib import Path

from smorl.cli import main
from smorl.paper.claims import CLAIMS
from smorl.paper.figures.table import FIGURES
from smorl.paper.report import write_page

ROOT = Path(__file__).parents[2]


def test_the_committed_page_is_the_one_the_results_give():
    page = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    assert page == write_page(ROOT / "results"), "run `smorl figures --report`"


def test_every_claim_with_its_verdict_and_command(results):
    page = write_page(results)
    assert page == write_page(results)  # nothing is left to chance
    for claim in CLAIMS:
        assert page.count(claim.sentence) == 2, claim.id  # in the overview, and with its numbers
        assert claim.figure in FIGURES
    for name in FIGURES:
        assert f"`smorl reproduce {name}`" in page
    assert "| SMORL (GT), without aids below SAC+HER (GT), Rearrange 3 | " in page
    assert "probability of improvement 1.00 |" in page
    assert "the paper's: 500,000" in page
    assert "times shorter" in page


def test_an_ablation_shows_all_its_variants(results):
    page = write_page(results)
    for task in ("Rearrange 1", "Rearrange 2"):
        assert page.count(f"| {task} | DeepSets, padded | 6 |") == 1
        assert page.count(f"| {task} | conditional heads only | 6 |") == 1


def test_what_is_not_run_is_said(tmp_path, capsys):
    empty, page = tmp_path / "results", tmp_path / "page.md"
    empty.mkdir()
    assert main(["figures", "--report", str(page), "--results", str(empty)]) == 0
    text = page.read_text("utf-8")
    assert text.count("| not yet run |") == len(CLAIMS)
    assert "**reproduced** |" not in text
    assert "![" not in text


def test_numbers_of_the_page_are_those_of_the_files(results):
    import json

    paths = sorted((results / "gt").glob("gt-rearrange-4-seed*/result.json"))
    ends = [json.loads(path.read_text())["object_distance"] for path in paths]
    mean = sum(ends) / len(ends)
    start = "| Rearrange 4 | SMORL (GT) |"
    (row,) = (r for r in write_page(results).splitlines() if r.startswith(start))
    assert f"| 6 | 90,000 | {mean:.3f} ± " in row
    assert row.count("[") == 1  # the interval of the interquartile mean
