"""A small folder of results with everything the figures of the paper need."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from smorl.paper.evidence import seed_in

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


def named(name, seed):
    return re.sub(r"seed\d+", f"seed{seed}", name)


def more_seeds(row):
    """Three seeds from 10 on for every line of the fixtures, a hundredth apart."""
    first = seed_in(row["name"])
    for extra in range(3):
        seed = 10 + first + 2 * extra
        distances = [round(d * (1 + 0.01 * (extra - 1)), 5) for d in row["distances"]]
        yield {**row, "name": named(row["name"], seed), "seed": seed, "distances": distances}


@pytest.fixture
def results(tmp_path):
    """Six seeds of everything that counts, three of Skew-Fit and SAC from pixels; three models."""
    from PIL import Image

    folder, kept = tmp_path / "results", read("runs.json")

    def passive(env):
        return kept["passive"][
            env.removeprefix("smorl/").removesuffix("-v0").removeprefix("Visual")
        ]

    for run in kept["runs"]:
        for one in more_seeds(run):
            write_run(folder, one, passive(run["env"]))
            if one["method"].startswith("smorl") and one["folder"] in ("gt", "visual"):
                plain = result_of(one["distances"], passive(run["env"]), one["curve"][-1][0])
                name = f"{one['folder']}/{one['name']}/evaluation-plain.json"
                (folder / name).write_text(json.dumps(plain))
    for line in kept["transfer"]:
        for tested in more_seeds(line):
            path = folder / tested["folder"] / f"{tested['name']}.json"
            path.parent.mkdir(exist_ok=True)
            result = result_of(tested["distances"], passive(tested["env"]), 90_000)
            path.write_text(json.dumps({"run": tested["name"], "env": tested["env"], **result}))
    (folder / "analysis").mkdir()
    for name in ("clusters.json", "mig.json"):
        text = (FIXTURES / name).read_text().replace('"none"', '"scalor-3-seed0"')
        text = re.sub(r"seed(\d)\b", r"seed1\1", text)
        (folder / "analysis" / name).write_text(text)
    for seed in (10, 11, 12):
        study = re.sub(
            r"seed\d", f"seed{seed}", (FIXTURES / f"study-seed{seed % 2}.json").read_text()
        )
        (folder / "tracking" / f"study-seed{seed}.json").write_text(study)
        for pucks in (2, 3):
            path = folder / "perception" / f"scalor-{pucks}-seed{seed}"
            path.mkdir(parents=True)
            scores = {"f1": 0.97 + 0.0001 * seed, "reconstruction_mse": 0.001}
            (path / "evaluation.json").write_text(json.dumps(scores))
    worth = folder / "worth" / "gt-rearrange-2"
    worth.mkdir(parents=True)
    for seed in (10, 11, 12):
        for name, more in (("default", 0.0), ("no-motion", 0.01), ("no-plans", 0.05)):
            distances = [0.02 + more + 0.001 * seed, 0.03 + more, 0.04 + 1.1 * more]
            row = {**result_of(distances, [0.2, 0.3, 0.25], 100_000), "pucks_within_5cm": 0.5}
            (worth / f"{name}-seed{seed}.json").write_text(
                json.dumps({**row, "tables_within_4cm": 0.4})
            )
    for name in (
        "analysis/reconstructions-2",
        "analysis/reconstructions-3",
        "tracking/exploit-seed10",
    ):
        shades = np.linspace(0, 255, 40 * 100 * 3).reshape(40, 100, 3)
        Image.fromarray(shades.astype(np.uint8)).save(folder / f"{name}.png")
    return folder
