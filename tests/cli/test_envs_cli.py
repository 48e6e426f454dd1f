"""`smorl envs` and `smorl bench envs` as a user runs them."""

import json
import subprocess
import sys
import time

import pytest

from smorl.bench import envs as bench
from smorl.cli import main
from smorl.envs.registration import env_ids


def test_envs_lists_every_id(capsys):
    assert main(["envs"]) == 0
    text = capsys.readouterr().out
    for env in env_ids():
        line = next(line for line in text.splitlines() if line.startswith(f"{env.id} "))
        assert line.split()[1:] == [
            str(env.num_objects),
            env.observation,
            str(env.episode_steps),
            str(env.passive_distance),
        ]


def test_envs_as_json(capsys):
    assert main(["envs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [env.id for env in env_ids()]


def test_listing_needs_no_simulator():
    code = (
        "import sys; from smorl.cli import main; main(['envs']); assert 'mujoco' not in sys.modules"
    )
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert time.perf_counter() - started < 5


def test_bench_typo_gets_a_hint(capsys):
    assert main(["bench", "env"]) == 2
    assert "Did you mean 'envs'" in capsys.readouterr().err
    assert main(["bench", "--help"]) == 0


def test_bench_envs_reports_speeds_and_ratios(capsys, monkeypatch):
    monkeypatch.setattr(bench, "ROWS", (1, 4))
    full = bench.measure
    monkeypatch.setattr(bench, "measure", lambda seconds, threads: full(0.02, threads))
    assert main(["bench", "envs", "--json", "--quick"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["speeds"]) == 2 * (1 + 2 * 2)
    assert all(speed["steps_per_second"] > 0 for speed in report["speeds"])
    assert {"state/vector_over_single", "visual/vector_over_single", "image_over_physics"} <= set(
        report["ratios"]
    )
    assert bench.as_text(report).count("smorl/") == len(report["speeds"])


@pytest.mark.slow
def test_vector_env_beats_single_envs():
    report = bench.measure(seconds=2.0)
    assert report["ratios"]["state/vector_over_single"] > 1.3
    assert report["ratios"]["image_over_physics"] < 2.0
