"""A small folder of results with everything the figures of the paper need."""

import json
from pathlib import Path

import numpy as np
import pytest

FIXTURES = Path(__file__).parent / "fixtures"


def read(name):
    return json.loads((FIXTURES / name).read_text("utf-8"))


def result_of(distances, passive, env_steps):
    return {
        "object_distance": float(np.mean(distances)),
        "passive_distance": float(np.mean(passive)),
        "env_steps": env_steps,
        "distances": distances,
        "passive_distances": passive,
        "first_episode_seed": 1_000_000,
    }


def write_run(folder, run, passive):
    """A kept run from one line of runs.json."""
    path = folder / run["folder"] / run["name"]
    path.mkdir(parents=True)
    config = {key: run[key] for key in ("method", "env", "seed")}
    config["goals"] = {"reward": run.get("reward", "matching")}
    config["networks"] = {
        "torso": run.get("torso", {"kind": "attention", "heads": 3, "queries": 0})
    }
    (path / "config.json").write_text(json.dumps(config))
    lines = [f"{steps},{distance},{np.mean(passive)}" for steps, distance in run["curve"]]
    header = "env_steps,object_distance,passive_distance"
    (path / "evaluations.csv").write_text("\n".join([header, *lines]) + "\n")
    result = result_of(run["distances"], passive, run["curve"][-1][0])
    (path / "result.json").write_text(json.dumps(result))


@pytest.fixture
def results(tmp_path):
    """Two seeds of everything, as `smorl reproduce` keeps them."""
    from PIL import Image

    folder, kept = tmp_path / "results", read("runs.json")

    def passive(env):
        return kept["passive"][
            env.removeprefix("smorl/").removesuffix("-v0").removeprefix("Visual")
        ]

    for run in kept["runs"]:
        write_run(folder, run, passive(run["env"]))
    for tested in kept["transfer"]:
        path = folder / tested["folder"] / f"{tested['name']}.json"
        path.parent.mkdir(exist_ok=True)
        result = result_of(tested["distances"], passive(tested["env"]), 90_000)
        path.write_text(json.dumps({"run": tested["name"], "env": tested["env"], **result}))
    (folder / "analysis").mkdir()
    for name in ("clusters.json", "mig.json"):
        (folder / "analysis" / name).write_bytes((FIXTURES / name).read_bytes())
    for seed in (0, 1):
        name = f"study-seed{seed}.json"
        (folder / "tracking" / name).write_bytes((FIXTURES / name).read_bytes())
        for pucks in (2, 3):
            path = folder / "perception" / f"scalor-{pucks}-seed{seed}"
            path.mkdir(parents=True)
            scores = {"f1": 0.97 + 0.01 * seed, "reconstruction_mse": 0.001}
            (path / "evaluation.json").write_text(json.dumps(scores))
    for name in (
        "analysis/reconstructions-2",
        "analysis/reconstructions-3",
        "tracking/exploit-seed0",
    ):
        shades = np.linspace(0, 255, 40 * 100 * 3).reshape(40, 100, 3)
        Image.fromarray(shades.astype(np.uint8)).save(folder / f"{name}.png")
    return folder
