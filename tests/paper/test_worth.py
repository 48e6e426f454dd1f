"""What a setting is worth, from evaluations of agents over seeds."""

import json

import numpy as np
import pytest

from smorl.cli import main
from smorl.paper.figures.table import build
from smorl.paper.report import write_page
from smorl.paper.statistics import mean_difference
from smorl.paper.worth import compare, table

PASSIVE = [0.2, 0.3, 0.1, 0.2]


def keep(folder, name, seed, distances, passive=PASSIVE):
    near = float(np.mean(np.array(distances) < 0.05))
    row = {"distances": distances, "passive_distances": passive}
    row |= {"pucks_within_5cm": near, "tables_within_4cm": near}
    (folder / f"{name}-seed{seed}.json").write_text(json.dumps(row))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for seed in range(3):
        good = 0.02 + 0.01 * rng.random(4)
        keep(tmp_path, "default", seed, good.tolist())
        keep(tmp_path, "no-plan", seed, (good + 0.1).tolist())
    keep(tmp_path, "once", 7, [0.03] * 4)
    (tmp_path / "notes.json").write_text("[]")  # not of these
    return tmp_path


def test_variants_stand_beside_the_base_with_their_intervals(folder):
    base, *others = compare(folder, "default")
    assert (base.name, base.seeds, base.difference) == ("default", (0, 1, 2), None)
    assert [v.name for v in others] == ["once", "no-plan"]
    once, worse = others
    assert once.difference is None, "one seed has no interval"
    assert worse.difference == mean_difference(worse.distances, base.distances)
    assert worse.difference.value == pytest.approx(0.1)
    assert 0 < worse.difference.low < 0.1 < worse.difference.high
    assert (base.within_5cm, worse.within_5cm) == (1, 0)


def test_the_table_says_so(folder, capsys):
    assert main(["study", "worth", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert shown == table(compare(folder, "default"))
    assert shown.splitlines()[2].startswith("| default | 3 | **0.02")
    assert "| no-plan | 3 | **0.12" in shown


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: [p.unlink() for p in f.glob("*-seed*")], "has no files VARIANT-seedN.json"),
        (lambda f: [p.unlink() for p in f.glob("default*")], "has no variant 'default'"),
        (lambda f: keep(f, "x", 1, [0.1] * 4, passive=[0.1] * 4), "different episodes"),
        (
            lambda f: (f / "x-seed1.json").write_text('{"distances": ["a"]}'),
            "does not hold an evaluation",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(folder, spoil, message, capsys):
    (folder / "once-seed7.json").unlink()
    spoil(folder)
    assert main(["study", "worth", str(folder)]) == 2
    assert message in capsys.readouterr().err


def test_the_figure_has_a_row_for_every_variant_and_the_page_its_numbers(results):
    (axis,) = build("worth", results).axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["no motion", "no plans"]
    assert axis.get_title() == "gt-rearrange-2: 3.4 cm, 3 seeds"
    means = [bar.lines[0].get_xdata()[0] for bar in axis.containers]
    folder = compare(results / "worth" / "gt-rearrange-2", "default")
    assert means == pytest.approx([100 * v.difference.value for v in folder[1:]])
    assert table(folder) in write_page(results)
