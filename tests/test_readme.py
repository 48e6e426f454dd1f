"""README and docs say what the committed results say, and link to what is there."""

import json
import re

import pytest

from smorl.cli import parts, perception_results
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


def seeds_table() -> str:
    """The table of docs/results.md with every seed of the default agents."""
    lines = [
        "| preset | seed | distance [m] | pucks in 5 cm | all in 4 cm | fresh: distance "
        "| pucks in 5 cm | all in 4 cm | minutes |",
        "|---" * 9 + "|",
    ]
    for file in sorted((ROOT / "results").glob("*/*/evaluation-5000000.json")):
        preset, seed = file.parent.name.rsplit("-seed", 1)
        own, fresh = (
            json.loads(f.read_text("utf-8")) for f in (file.with_name("result.json"), file)
        )
        cells = [
            f"{d['object_distance']:.3f} | {100 * d['pucks_within_5cm']:.0f} % | "
            f"{100 * d['tables_within_4cm']:.0f} %"
            for d in (own, fresh)
        ]
        minutes = own["seconds"] / 60
        lines.append(f"| `{preset}` | {seed} | {cells[0]} | {cells[1]} | {minutes:.0f} |")
    return "\n".join(lines) + "\n"


def test_every_seed_of_the_default_agents_is_listed():
    expected = seeds_table()
    assert between("docs/results.md", "seeds") == expected, f"paste:\n{expected}"


def transfer_table() -> str:
    """The table of docs/results.md with agents of two pucks tested with one and three."""
    lines = [
        "| agent | pucks | distance [m] | pucks in 5 cm | doing nothing | fresh: distance "
        "| pucks in 5 cm |",
        "|---" * 7 + "|",
    ]
    files = (ROOT / "results" / "ood").glob("*-on-*.json")
    for file in sorted(files, key=lambda f: (f.stem[-1], f.stem)):
        run, pucks = file.stem.rsplit("-on-", 1)
        fresh, cells = file.parent / run / f"fresh-on-{pucks}.json", []
        for path in (file, fresh):
            if not path.exists():
                cells.append("- | -")
                continue
            row = json.loads(path.read_text("utf-8"))
            cells.append(f"{row['object_distance']:.3f} | {100 * row['pucks_within_5cm']:.0f} %")
        passive = json.loads(file.read_text("utf-8"))["passive_distance"]
        lines.append(f"| `{run}` | {pucks} | {cells[0]} | {passive:.3f} | {cells[1]} |")
    return "\n".join(lines) + "\n"


def test_every_agent_that_was_tested_elsewhere_is_listed():
    expected = transfer_table()
    assert between("docs/results.md", "transfer") == expected, f"paste:\n{expected}"


def pushing_table() -> str:
    """The table of docs/perception.md: what an agent needs, while pucks are pushed."""
    kinds = ("free", "touching_or_pushed", "half_hidden")
    lines = [
        "| perception | matched: free | touching or pushed | half hidden | wrong object "
        "| place, touching or pushed: median | 90 % | jitter at rest | hand within 2 |",
        "|---" * 9 + "|",
    ]
    for file in sorted((ROOT / "results" / "perception").glob("*/evaluation.json")):
        raw = json.loads(file.read_text("utf-8"))
        told = {k.removeprefix("pushing/"): v for k, v in raw.items() if k.startswith("pushing/")}
        cells = [f"{told[f'{kind}/matched']:.3f}" for kind in kinds] + [f"{told['wrong']:.4f}"]
        cells += [f"{told[f'touching_or_pushed/error_{name}']:.2f}" for name in ("median", "90")]
        cells += [f"{told['jitter']:.3f}", f"{told['hand_near']:.3f}"]
        lines.append(f"| {file.parent.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_pushing_is_the_one_the_raw_results_give():
    expected = pushing_table()
    assert between("docs/perception.md", "pushing") == expected, f"paste:\n{expected}"


def test_the_perception_table_is_the_one_the_raw_results_give(capsys):
    assert perception_results.main([str(ROOT / "results" / "perception")]) == 0
    page = (ROOT / "docs" / "perception.md").read_text("utf-8")
    shown = page.split("<!-- perception -->\n")[1].split("<!-- end of perception -->")[0]
    assert shown == capsys.readouterr().out, "paste `smorl perception results results/perception`"


def test_the_gap_table_is_the_one_the_raw_result_gives():
    raw = json.loads((ROOT / "results" / "gap" / "visual-rearrange-1.json").read_text("utf-8"))
    page = (ROOT / "docs" / "learner.md").read_text("utf-8")
    assert as_markdown(raw["rows"]) in page, "paste `smorl gap shipped:visual-rearrange-1`"


def test_the_table_of_the_trackers_parts_is_the_one_the_raw_result_gives():
    raw = json.loads((ROOT / "results" / "analysis" / "parts.json").read_text("utf-8"))
    page = (ROOT / "docs" / "perception.md").read_text("utf-8")
    assert parts.table(raw["rows"]) in page, f"paste `{raw['made']['command']}`"


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
