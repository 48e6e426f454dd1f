"""Recorded episodes are those that were played, and Minari reads them without this package."""

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from smorl.cli import main
from smorl.cli.export import main as export
from smorl.envs.factory import make_envs
from smorl.errors import InvalidInput, RunConflict
from smorl.library import load
from smorl.studies.episodes import record


def test_an_episode_at_random_plays_again_step_by_step():
    envs = make_envs("smorl/Push1-v0", 2, 1)
    first, second, third = record(envs, None, episodes=3, seed=40, steps=5)
    envs.close()
    env = gym.make("smorl/Push1-v0")
    for episode in (first, second, third):
        observation, info = env.reset(seed=episode.seed)
        for t, action in enumerate(episode.actions):
            np.testing.assert_array_equal(observation["observation"],
                                          episode.observations["observation"][t])  # fmt: skip
            observation, reward, _, _, info = env.step(action)
            assert reward == pytest.approx(episode.rewards[t], abs=1e-6)
        np.testing.assert_allclose(info["object_distances"], episode.infos["object_distances"][-1])
        assert len(episode.infos["success"]) == len(episode.actions) + 1 == 6
    assert [e.seed for e in (first, second, third)] == [40, 41, 42]
    assert not np.array_equal(first.actions, second.actions)


@pytest.mark.slow
def test_an_agent_ends_where_its_evaluation_ends():
    run = load("shipped:visual-rearrange-1")
    envs = run.envs(2)
    episodes = list(record(envs, run.actor(), episodes=2, seed=1_000_000, steps=60))
    envs.close()
    evaluation = run.evaluate(2, seed=1_000_000)
    ends = [episode.infos["object_distance"][-1] for episode in episodes]
    np.testing.assert_allclose(ends, evaluation.distance, atol=1e-6)
    assert [len(episode.actions) for episode in episodes] == evaluation.length.tolist()


READ = """
import json, sys
sys.modules["smorl"] = None  # as if it were not installed
import minari
data = minari.load_dataset(sys.argv[1])
episode = next(data.iterate_episodes())
print(json.dumps({
    "episodes": data.total_episodes, "steps": data.total_steps, "env": data.env_spec.id,
    "shape": list(episode.observations["observation"].shape), "keys": sorted(episode.observations),
    "sum": int(episode.observations["observation"].sum()), "actions": episode.actions.tolist(),
    "truncated": episode.truncations.tolist(), "told": sorted(episode.infos),
}))
"""


def test_minari_loads_it_where_smorl_is_not_installed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("minari")
    monkeypatch.setattr("smorl.envs.registration.SUBTASK_STEPS", {"push": 1, "rearrange": 1})
    name = "push1-random-v0"
    words = ["--minari", name, "--env", "VisualPush1-v0", "--episodes", "2", "--seed", "7"]
    monkeypatch.chdir(tmp_path)
    assert export([*words, "--out", "."]) == 0
    assert "2 episodes, 6 steps" in capsys.readouterr().out
    surroundings = {"MINARI_DATASETS_PATH": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-c", READ, name]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=True)
    found = json.loads(done.stdout)
    envs = make_envs("smorl/VisualPush1-v0", 1, 1)
    (played,) = record(envs, None, episodes=1, seed=7, steps=3)
    envs.close()
    assert (found["episodes"], found["steps"], found["env"]) == (2, 6, "smorl/VisualPush1-v0")
    assert found["shape"] == [4, 64, 64, 3]
    assert found["sum"] == int(played.observations["observation"].sum())  # lossless
    assert found["actions"] == played.actions.tolist()
    assert found["truncated"] == [False, False, True]
    assert found["keys"] == ["desired_goal", "observation"]
    assert "object_distances" in found["told"]
    with pytest.raises(RunConflict, match="exists"):
        export([*words, "--out", "."])
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--minari", "x-v0"], "whose episodes"),
        (["--minari", "bad name", "--env", "Push1-v0"], "rearrange2-random-v0"),
        (["--minari", "../x-v0", "--env", "Push1-v0"], "leads out|no name"),
        (["runs/x"], "agent.safetensors"),
        (["runs/x", "a.safetensors", "--env", "Push1-v0"], "--env is for data sets"),
        (["runs/x", "a.safetensors", "--minari", "x-v0"], "--out FOLDER"),
        (["--minari", "x-v0", "--env", "CartPole-v1"], "smorl envs"),
    ],
)
def test_what_cannot_be_exported_is_told_in_words(words, says, tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=says):
        export(words)
    assert not list(tmp_path.iterdir())


def test_without_minari_it_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "minari", None)
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--minari", "x-v0", "--env", "Push1-v0"]) == 2
    assert "smorl[minari]" in capsys.readouterr().err
