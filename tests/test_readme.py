"""README and docs say what the committed results say, and link to what is there."""

import json
import re

import pytest

from smorl.cli import perception_results
from smorl.cli.gap import as_markdown
from smorl.envs.registration import env_ids
from smorl.paper.figures.curves import find_runs
from smorl.paper.results import read_result, table
from tests.pages import PAGES, REPOSITORY, ROOT, name_of, targets


@pytest.mark.parametrize(("folder", "mark"), [("gt", "results"), ("visual", "visual")])
def test_the_results_tables_are_those_the_raw_results_give(folder, mark):
    results = [read_result(path) for path in find_runs([ROOT / "results" / folder])]
    expected = table([result for result in results if result is not None])
    shown = between("docs/results.md", mark)
    assert shown == expected, f"paste the table of `smorl results results/{folder}`"


def between(page: str, mark: str) -> str:
    """Return what stands between the marks `<!-- mark -->` and `<!-- end of mark -->`."""
    text = (ROOT / page).read_text("utf-8")
    return text.split(f"<!-- {mark} -->\n")[1].split(f"<!-- end of {mark} -->")[0]


def agents_table() -> str:
    """The table of README.md, from `results/fresh` and from what training took."""
    head = (
        "| agent | sees | distance | doing nothing | pucks in 5 cm | all pucks in 4 cm | minutes |"
    )
    lines = [head, "|---" * 7 + "|"]
    passive = {env.id: env.passive_distance for env in env_ids()}  # the one number of a task
    for file in sorted((ROOT / "results" / "fresh").glob("*.json")):
        raw = json.loads(file.read_text("utf-8"))
        (run,) = (ROOT / "results").glob(raw["trained"])
        minutes = json.loads((run / "result.json").read_text("utf-8"))["seconds"] / 60
        seen = "pixels" if file.stem.startswith("visual") else "true places"
        lines.append(
            f"| `{raw['run']}` | {seen} | **{100 * raw['object_distance']:.1f} cm** | "
            f"{100 * passive[raw['env']]:.1f} cm | {100 * raw['pucks_within_5cm']:.0f} % | "
            f"{100 * raw['tables_within_4cm']:.0f} % | {minutes:.0f} |"
        )
    return "\n".join(lines) + "\n"


def test_the_small_table_is_the_one_the_raw_results_give():
    expected = agents_table()
    assert between("README.md", "agents") == expected, f"paste:\n{expected}"


def test_the_perception_table_is_the_one_the_raw_results_give(capsys):
    assert perception_results.main([str(ROOT / "results" / "perception")]) == 0
    page = (ROOT / "docs" / "perception.md").read_text("utf-8")
    shown = page.split("<!-- perception -->\n")[1].split("<!-- end of perception -->")[0]
    assert shown == capsys.readouterr().out, "paste `smorl perception results results/perception`"


def test_the_gap_table_is_the_one_the_raw_result_gives():
    raw = json.loads((ROOT / "results" / "gap" / "visual-rearrange-1.json").read_text("utf-8"))
    page = (ROOT / "docs" / "learner.md").read_text("utf-8")
    assert as_markdown(raw["rows"]) in page, "paste `smorl gap shipped:visual-rearrange-1`"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_linked_file_exists(page):
    for target, file in targets(page):
        assert file is None or file.exists(), f"{name_of(page)}: {target}"


def test_the_readme_shows_on_a_package_index_too():
    """There only absolute addresses work; all of ours are the one of pyproject.toml."""
    readme = (ROOT / "README.md").read_text("utf-8")
    for target, file in targets(ROOT / "README.md"):
        assert target.startswith("https://"), f"{target}: write its whole address"
        assert file is not None or "smorl" not in target, f"{target}: not {REPOSITORY}"
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", readme)
    assert all(address.startswith(f"{REPOSITORY}/raw/main/") for _, address in pictures)
    moving = ROOT / pictures[0][1].partition("/raw/main/")[2]
    assert moving.suffix in (".gif", ".webp")
    assert moving.stat().st_size < 3e6


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_list_is_one_on_the_site_too(page):
    """Without an empty line before its first item the site would run it into the paragraph."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", prose):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        items = [bool(re.match(r"\s*([-*]|\d+\.) ", line)) for line in lines]
        assert not any(items) or items[0], f"an empty line is missing in: {block[:200]}"
