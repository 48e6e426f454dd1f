"""What a sweep varies."""

from pathlib import Path

import pytest

from smorl.cluster.axes import Axis, grid, parse_axes, parse_axis, point_name
from smorl.cluster.sweep import Sweep, check_sweep, grid_name, text_of
from smorl.errors import InvalidInput


def test_values_and_ranges():
    assert parse_axis("learner.lr=1e-3,2e-3") == Axis("learner.lr", "choice", ("1e-3", "2e-3"))
    assert parse_axis("learner.lr=log(1e-4,1e-2)") == Axis("learner.lr", "log", (), 1e-4, 1e-2)
    assert parse_axis("a=int(1,8)") == Axis("a", "int", (), 1.0, 8.0)
    hidden = parse_axis("networks.policy_hidden=(16,16),(32,)")
    assert hidden.values == ("(16,16)", "(32,)")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["learner.lr"], "must look like"),
        (["learner.lr="], "must look like"),
        (["learner.lr=1,,2"], "empty or a repeated"),
        (["learner.lr=1,1"], "empty or a repeated"),
        (["learner.lr=log(1)"], "two numbers"),
        (["learner.lr=log(a,b)"], "two numbers"),
        (["learner.lr=log(0,1)"], "above 0 for log"),
        (["learner.lr=uniform(2,1)"], "first number must be below"),
        (["learner.lr=int(1.5,2)"], "whole for int"),
        (["learner.lr=1,2", "learner.lr=3"], "given twice"),
    ],
)
def test_mistakes_get_one_clear_sentence(texts, message):
    with pytest.raises(InvalidInput, match=message):
        parse_axes(texts)


def test_a_grid_is_every_combination():
    axes = parse_axes(["a=1,2", "b=x,y"])
    points = grid(axes)
    assert len(points) == 4
    assert points[1] == {"a": "1", "b": "y"}
    assert grid([]) == [{}]
    assert grid_name({}, 2) == "as-it-is-seed2"
    assert point_name({"perception": "a/b c"}) == "perception=a+b+c"
    with pytest.raises(InvalidInput, match="a grid cannot list"):
        grid(parse_axes(["a=log(1,2)"]))


def test_numbers_survive_as_options():
    axis = parse_axis("learner.lr=log(1e-4,1e-2)")
    value = 0.1 + 0.2
    assert float(text_of(value, axis)) == value
    assert text_of(3, parse_axis("a=int(1,8)")) == "3"
    assert text_of("x", parse_axis("a=x,y")) == "x"


@pytest.mark.parametrize(
    ("fixed", "text", "message"),
    [
        ((), "learner.lrr=1", "Unknown setting"),
        ((), "learner.lr=x,y", "learner.lr must be"),
        ((), "learner.lr=uniform(-2,-1)", "learner.lr = .* out of range"),
        ((), "seed=1,2", "use --seeds"),
        ((("learner.lr", "1"),), "learner.lr=1,2", "leave --learner.lr out"),
    ],
)
def test_settings_are_checked_before_anything_runs(fixed, text, message):
    sweep = Sweep("debug", fixed, parse_axes([text]), Path("out"))
    with pytest.raises(InvalidInput, match=message):
        check_sweep(sweep)


def test_a_perception_is_trained_once_per_seed_and_shared():
    axes = parse_axes(["learner.lr=1e-3,2e-3"])
    jobs = Sweep("debug-visual", (), axes, Path("out")).grid(2)
    eyes = [job for job in jobs if not job.wanted]
    runs = [job for job in jobs if job.wanted]
    assert [job.writes.name for job in eyes] == ["debug-scalor-seed0", "debug-scalor-seed1"]
    assert len(runs) == 4
    for job in runs:
        (needed,) = job.needs
        assert needed.name == f"debug-scalor-seed{job.training.seed}"
        assert job.training.config()["perception"] == str(needed)
    # Given a perception there is nothing to train first.
    fixed = (("perception", "shipped:scalor-1"),)
    assert len(Sweep("debug-visual", fixed, axes, Path("out")).grid(2)) == 4
