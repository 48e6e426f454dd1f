"""Learning curves from files."""

import json

import numpy as np
import pytest

from smorl.cli import main
from smorl.errors import DamagedFile, InvalidInput
from smorl.paper.figures.curves import band, draw_curves, find_runs, read_curve
from smorl.paper.figures.styles import STYLES


def make_run(folder, seed, rows, method="smorl-gt", env="smorl/Rearrange2-v0", **settings):
    folder.mkdir(parents=True)
    config = {"method": method, "env": env, "seed": seed, **settings}
    (folder / "config.json").write_text(json.dumps(config))
    lines = ["env_steps,object_distance,passive_distance"]
    lines += [f"{s},{d},0.178" for s, d in rows]
    (folder / "evaluations.csv").write_text("\n".join(lines) + "\n")


def test_read_and_draw(tmp_path):
    make_run(tmp_path / "a", 0, [(10, 0.2), (20, 0.1)])
    make_run(tmp_path / "b", 1, [(10, 0.1), (20, 0.05)])
    curves = [read_curve(path) for path in find_runs([tmp_path])]
    assert [curve.seed for curve in curves] == [0, 1]
    out = draw_curves(curves, tmp_path / "curves.png")
    assert out.read_bytes().startswith(b"\x89PNG")


def test_band_is_mean_and_deviation_on_shared_steps():
    a = (np.array([0.0, 10, 20]), np.array([1.0, 2, 3]))
    b = (np.array([0.0, 10]), np.array([3.0, 4]))
    steps, mean, deviation = band([a, b])
    assert steps.tolist() == [0, 10]
    assert mean.tolist() == [2, 3]
    assert deviation.tolist() == [1, 1]


def test_damaged_and_missing(tmp_path):
    with pytest.raises(InvalidInput, match="no runs"):
        find_runs([tmp_path])
    make_run(tmp_path / "a", 0, [])
    with pytest.raises(DamagedFile, match="not a readable run"):
        read_curve(tmp_path / "a")


@pytest.fixture
def comparison(tmp_path):
    """The runs of the paper's visual comparison, small: four tasks, two seeds of SMORL."""
    for task in ("Push1", "Push2", "Rearrange1", "Rearrange2"):
        for method, seed, end in (
            ("smorl", 0, 0.05), ("smorl", 1, 0.07), ("rig", 0, 0.15), ("skewfit", 0, 0.14),
            ("sac-her", 0, 0.12), ("passive", 0, 0.178),
        ):  # fmt: skip
            seen = task if method in ("sac-her", "passive") else f"Visual{task}"
            rows = [(1000, 0.17), (2000, (0.17 + end) / 2), (3000, end)]
            rows[0] = (1000, 0.3) if task == "Rearrange2" else rows[0]
            name = f"{method}-{task}-{seed}"
            make_run(tmp_path / name, seed, rows, method, f"smorl/{seen}-v0")
    return [read_curve(path) for path in find_runs([tmp_path])]


def test_pixels_and_ground_truth_share_a_panel(comparison, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **k: (drawn.append(f), save(f, *a, **k)))
    draw_curves(comparison, tmp_path / "visual.png")
    (figure,) = drawn
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["Push 1", "Push 2", "Rearrange 1", "Rearrange 2"]
    for axis in figure.axes:
        # Five single seeds, four means, one dotted line; doing nothing has no curve.
        assert len(axis.lines) == 5 + 4 + 1
        (dotted,) = (line for line in axis.lines if line.get_linestyle() == ":")
        assert np.asarray(dotted.get_ydata()) == pytest.approx(0.178)
        assert len(axis.collections) == 4  # a band per method
        low, high = axis.get_ylim()
        assert low == 0
        assert high > 0.3  # the largest of any panel: panels can be compared
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [
        "SMORL, 2 seeds", "RIG, 1 seed", "Skew-Fit, 1 seed", "SAC+HER (GT), 1 seed", "passive",
    ]  # fmt: skip


def test_methods_are_told_apart_without_colour():
    visual = [STYLES[name] for name in ("smorl", "rig", "skewfit", "sac-her")]
    assert len({(str(style.line), style.marker) for style in visual}) == len(visual)
    assert len({style.marker for style in visual}) == len(visual)


def test_the_command_draws_the_comparison(comparison, tmp_path, capsys):
    out = tmp_path / "docs" / "visual.png"
    out.parent.mkdir()
    assert main(["curves", str(tmp_path), "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "24 runs" in capsys.readouterr().err


def test_two_settings_with_one_seed_are_two_lines(tmp_path, monkeypatch, capsys):
    from matplotlib.figure import Figure

    for name, seed, rate, end in (("a", 0, 0.001, 0.1), ("b", 1, 0.001, 0.1), ("c", 0, 0.002, 0.2)):
        make_run(tmp_path / name, seed, [(10, 0.2), (20, end)], learner={"lr": rate})
        (tmp_path / name / "result.json").touch()
    make_run(tmp_path / "d", 1, [(10, 0.2), (20, 0.1)], learner={"lr": 0.001})
    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **k: (drawn.append(f), save(f, *a, **k)))
    assert main(["curves", str(tmp_path), "--out", str(tmp_path / "x.png")]) == 0
    (axis,) = drawn[0].axes
    means = [line for line in axis.lines if line.get_linewidth() == 1.6]
    assert sorted(float(line.get_ydata()[-1]) for line in means) == pytest.approx([0.1, 0.2])
    assert len({str(line.get_linestyle()) for line in means}) == 2
    labels = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert labels[:2] == [
        "SMORL (GT) (learner.lr=0.001), 2 seeds", "SMORL (GT) (learner.lr=0.002), 1 seed",
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert f"warning: {tmp_path}/d is not finished." in said
    assert f"warning: {tmp_path}/b and {tmp_path}/d have the same settings and seed 1" in said
