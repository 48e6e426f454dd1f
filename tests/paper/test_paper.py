"""Every figure of the paper from the small results of `fixtures/`, and what is on it."""

import json
import re
import shutil

import numpy as np
import pytest

from smorl.cli import main
from smorl.errors import DamagedFile, InvalidInput
from smorl.paper import plan
from smorl.paper.evidence import VARIANTS, Evidence, NotYetRun
from smorl.paper.figures.styles import STYLES
from smorl.paper.figures.table import FIGURES, build, draw, has_results
from smorl.paper.figures.tracking import SHARES


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


def legend(owner):
    return [text.get_text() for text in owner.get_texts()]


def heights(axis):
    return [patch.get_height() for patch in axis.patches]


def test_gt_has_three_panels_of_two_methods(results):
    figure = build("gt", results)
    assert titles(figure) == ["Rearrange 2", "Rearrange 3", "Rearrange 4"]
    for axis in figure.axes:
        # Two methods of six seeds each: twelve thin lines, two means, and doing nothing.
        assert len(axis.lines) == 12 + 2 + 1
        assert [line.get_linestyle() for line in axis.lines].count(":") == 1
        assert len(axis.collections) == 2
    assert legend(figure.legends[0]) == ["SMORL (GT), 6 seeds", "SAC+HER (GT), 6 seeds", "passive"]


def test_seeds_that_were_tuned_on_are_drawn_marked_where_there_are_no_others(results):
    for path in (results / "gt").glob("sac-*/config.json"):
        config = json.loads(path.read_text())
        path.write_text(json.dumps(config | {"seed": config["seed"] - 10}))
    for path in (results / "gt").glob("gt-*-seed10/config.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seed": 0}))
    figure = build("gt", results)
    said = ["SMORL (GT), 5 seeds", "SAC+HER (GT), 6 tuning seeds", "passive"]
    assert legend(figure.legends[0]) == said


def test_the_means_drawn_are_those_of_the_seeds(results):
    figure = build("gt", results)
    ends = [
        json.loads(path.read_text())["object_distance"]
        for path in (results / "gt").glob("gt-rearrange-3-seed*/result.json")
    ]
    thick = [line for line in figure.axes[1].lines if line.get_linewidth() == 1.6]
    drawn = [float(np.asarray(line.get_ydata())[-1]) for line in thick]
    assert min(abs(np.mean(ends) - value) for value in drawn) < 1e-3


def test_visual_compares_four_methods_on_four_tasks(results):
    figure = build("visual", results)
    assert titles(figure) == ["Push 1", "Push 2", "Rearrange 1", "Rearrange 2"]
    for axis in figure.axes:
        assert len(axis.collections) == 4
        assert len(axis.lines) == 18 + 4 + 1  # six seeds of SMORL and RIG, three of the others
    said = legend(figure.legends[0])
    assert [text.split(",")[0] for text in said] == [
        "SMORL", "RIG", "Skew-Fit", "SAC+HER (GT)", "passive",
    ]  # fmt: skip


def test_a_panel_without_runs_says_so(results):
    for path in (results / "visual").glob("*-push-2-*"):
        shutil.rmtree(path)
    axis = build("visual", results).axes[1]
    assert [text.get_text() for text in axis.texts] == ["not yet run"]
    assert not axis.lines


def test_ood_has_a_bar_per_number_of_pucks_and_one_at_home(results):
    (axis,) = build("ood", results).axes
    assert len(axis.patches) == 4
    moved, home, two, three = heights(axis)
    agents = Evidence(results).transferred("ood")
    assert moved == pytest.approx(np.mean([a.distance for a in agents if a.task == "Rearrange 1"]))
    assert three == pytest.approx(np.mean([a.distance for a in agents if a.task == "Rearrange 3"]))
    assert home < two < three
    dotted = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert len(dotted) == 4


def test_ablation_shows_every_variant_twice(results):
    left, right = build("ablation", results).axes
    assert len(left.collections) == len(VARIANTS)
    assert len(right.patches) == len(VARIANTS)
    hatches = [patch.get_hatch() or "" for patch in right.patches]
    assert len(set(hatches)) == len(VARIANTS)  # told apart in grey


def test_long_shows_usual_runs_beside_longer_ones(results):
    figure = build("long", results)
    names = [text.split(",")[0:2] for text in legend(figure.legends[0])]
    assert ["SMORL", " twice the steps"] in names
    assert ["SMORL", " usual steps"] in names
    (axis,) = figure.axes
    longest = max(
        np.asarray(line.get_xdata())[-1] for line in axis.lines if len(line.get_xdata()) > 2
    )
    assert longest == pytest.approx(180)


def test_tracking_shows_shares_rewards_curves_and_the_film(results):
    figure = build("tracking", results)
    shares, rewards, paid, curves, film = figure.axes
    assert len(shares.patches) == 3 * len(SHARES)
    by_group = np.array(heights(shares)).reshape(len(SHARES), 3)
    assert by_group.sum(0) == pytest.approx(100)
    arm = by_group[list(SHARES).index("arm")]
    assert arm[0] == pytest.approx(95 / 3)  # the mean of 30, 35 and 30 %
    assert arm[0] > 5 * arm[1]
    assert len(rewards.patches) == 3 * 3
    assert len(curves.collections) == 2
    # The reward by ID rises as far as the other; its pucks stay where they are.
    means = [np.asarray(line.get_ydata()) for line in paid.lines if line.get_linewidth() > 1]
    assert [mean[-1] for mean in means] == pytest.approx([-0.26, -0.21], abs=0.01)
    assert len(paid.lines) == 2 * (3 + 1)  # a line for each of three seeds, one for their mean
    assert len(film.images) == 1
    (results / "tracking" / "exploit-seed10.png").unlink()
    assert len(build("tracking", results).axes) == 4


def test_a_study_without_rewards_is_drawn_without_them(results):
    for path in (results / "tracking").glob("study*.json"):
        path.write_text(re.sub(r'"(\w*reward\w*)": -?[\d.]+', r'"\1": null', path.read_text()))
    rewards = build("tracking", results).axes[1]
    assert np.isnan(heights(rewards)).all()


def test_clusters_mig_and_reconstructions(results):
    (axis,) = build("clusters", results).axes
    assert "37 detections, 4 clusters" in axis.get_title()
    bars, matrix, *_ = build("mig", results).axes
    assert heights(bars) == pytest.approx([0.63, 0.07])
    assert len(matrix.images) == 1
    panels = build("reconstructions", results).axes
    assert [axis.get_title() for axis in panels] == [
        "Visual Rearrange with 2 pucks", "Visual Rearrange with 3 pucks",
    ]  # fmt: skip
    (results / "analysis" / "reconstructions-2.png").write_bytes(b"no picture")
    with pytest.raises(DamagedFile, match=r"reconstructions-2\.png"):
        build("reconstructions", results)


def test_the_command_writes_png_and_pdf_and_skips_what_is_missing(results, tmp_path, capsys):
    shutil.rmtree(results / "long")
    out = tmp_path / "images"
    args = ["figures", "ood", "long", "--results", str(results), "--out", str(out)]
    assert main(args) == 0
    assert sorted(path.name for path in out.iterdir()) == ["ood.pdf", "ood.png"]
    assert (out / "ood.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "ood.pdf").read_bytes().startswith(b"%PDF")
    assert "`smorl reproduce long` makes them" in capsys.readouterr().err
    assert main(["figures", "long", "--results", str(results), "--out", str(out)]) == 1


def test_mistakes_are_named(results, tmp_path, capsys):
    assert main(["figures", "oud", "--results", str(results)]) == 2
    assert "Did you mean 'ood'?" in capsys.readouterr().err
    assert main(["figures", "--results", str(tmp_path / "nothing")]) == 2
    shutil.rmtree(results / "ood")
    with pytest.raises(NotYetRun, match="smorl reproduce ood"):
        draw("ood", results, tmp_path)
    shutil.copytree(results / "gt" / "gt-rearrange-2-seed10", results / "gt" / "once-more")
    with pytest.raises(InvalidInput, match="both smorl-gt on Rearrange 2 with seed 10"):
        Evidence(results).agents("gt")


def test_there_is_a_figure_for_every_plan():
    assert set(FIGURES) == set(plan.FIGURES)


def test_nothing_to_draw_without_results(tmp_path):
    assert not any(has_results(name, tmp_path) for name in FIGURES)


def test_variants_are_told_apart_without_colour():
    looks = {(str(STYLES[kind].line), STYLES[kind].marker) for kind in VARIANTS}
    assert len(looks) == len(VARIANTS)
