"""Learning curves from files."""

import json

import numpy as np
import pytest

from smorl.errors import DamagedFile, InvalidInput
from smorl.figures.curves import Curve, band, draw_curves, find_runs, read_curve


def make_run(folder, seed, rows):
    folder.mkdir(parents=True)
    config = {"method": "smorl-gt", "env": "smorl/Rearrange2-v0", "seed": seed}
    (folder / "config.json").write_text(json.dumps(config))
    lines = ["env_steps,object_distance,passive_distance"]
    lines += [f"{s},{d},0.178" for s, d in rows]
    (folder / "evaluations.csv").write_text("\n".join(lines) + "\n")


def test_read_and_draw(tmp_path):
    make_run(tmp_path / "a", 0, [(10, 0.2), (20, 0.1)])
    make_run(tmp_path / "b", 1, [(10, 0.1), (20, 0.05)])
    curves = [read_curve(path) for path in find_runs([tmp_path])]
    assert [curve.seed for curve in curves] == [0, 1]
    out = draw_curves(curves, tmp_path / "deep" / "curves.png")
    assert out.read_bytes().startswith(b"\x89PNG")


def test_band_is_mean_and_deviation_on_shared_steps():
    a = Curve("m", "e", 0, np.array([0.0, 10, 20]), np.array([1.0, 2, 3]), 0.2)
    b = Curve("m", "e", 1, np.array([0.0, 10]), np.array([3.0, 4]), 0.2)
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
