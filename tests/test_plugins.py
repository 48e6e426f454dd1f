"""Parts from outside the package, one file each: named as text, found, used, refused."""

from pathlib import Path

import numpy as np
import pytest

import smorl
from smorl.errors import InvalidInput
from smorl.plugins import load, load_module, trust

STATE_ENV = """
import gymnasium as gym
import numpy as np

class Reach(gym.Env):
    # A hand in observation[0:2], a block in [2:4], noise behind; the goal is the block's.
    def __init__(self):
        box = lambda n: gym.spaces.Box(-np.inf, np.inf, (n,), np.float64)
        self.observation_space = gym.spaces.Dict(
            observation=box(6), achieved_goal=box(2), desired_goal=box(2))
        self.action_space = gym.spaces.Box(-0.5, 0.5, (4,), np.float32)
    def _observe(self):
        observation = np.concatenate([self.hand, self.block, self.np_random.normal(size=2)])
        return {"observation": observation, "achieved_goal": self.block, "desired_goal": self.goal}
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hand, self.block, self.goal = self.np_random.uniform(0, 1, (3, 2))
        return self._observe(), self._info()
    def _info(self):
        return {"object_distances": np.linalg.norm(self.block - self.goal, keepdims=True)}
    def step(self, action):
        self.hand = np.clip(self.hand + action[:2], 0, 1)
        if np.linalg.norm(self.hand - self.block) < 0.1:  # blocks rest until they are touched
            self.block = np.clip(self.block + action[2:], 0, 1)
        return self._observe(), 0.0, False, False, self._info()

gym.register("Reach-v0", entry_point=Reach, max_episode_steps=50)
"""
SHORT = {
    "collect__total_steps": 80,
    "collect__initial_steps": 40,
    "evaluation__final_episodes": 2,
    "evaluation__every": 1000,
}


def test_a_strangers_goal_env_trains_when_told_which_numbers_are_which_object(tmp_path):
    file = tmp_path / "reach.py"
    file.write_text(STATE_ENV)
    options = {"env": f"{file}:Reach-v0", "state_objects": "0:2, 2:4=0:2", "goals__prior": "fitted"}
    result = smorl.train("debug", out=tmp_path / "run", progress=False, **SHORT, **options)
    assert result is not None
    assert result["object_distance"] > 0  # told by the info, though there is no truth
    assert result["goals_detected"] == 1.0
    agent = smorl.load(tmp_path / "run")
    assert (agent.spaces.actions, agent.encoder.layout.slots) == (4, 2)
    with pytest.raises(InvalidInput, match="names no goal"):
        smorl.train(
            "debug", out=tmp_path / "b", progress=False, **{**options, "state_objects": "0:2"}
        )


class Last:
    """A chooser: the last sub-goal first."""

    def scores(self, situation):
        return np.broadcast_to(np.arange(situation.solved.shape[1]), situation.solved.shape)


class Still:
    """A controller that does nothing."""

    def act(self, situation, rng):
        return np.zeros((len(situation.current), 2), np.float32)


def test_choosers_and_controllers_from_outside_play(tmp_path):
    smorl.train("debug", out=tmp_path / "run", progress=False, **SHORT)
    agent = smorl.load(tmp_path / "run")
    own = agent.actor()
    actor = smorl.Actor(
        own.encoder, agent.agent, own.space, own.config, actions=2, chooser=Last(),
        controller=Still(),
    )  # fmt: skip
    envs = agent.envs(2)
    observation, _ = envs.reset(seed=[1, 2])
    actor.reset(observation["desired_goal"])
    assert not actor.act(observation["observation"]).any()
    assert actor.current.tolist() == [actor.targets.present.shape[1] - 1] * 2
    envs.close()


def test_names_are_found_or_refused_with_a_remedy(tmp_path):
    file = tmp_path / "part.py"
    file.write_text("THING = 3\n")
    for name in ("part.py", "nowhere.py", "broken.py"):
        trust(str(tmp_path / name))
    for name in ("nowhere_at_all", "", "..", "a b"):
        trust(name)
    assert load(f"{file}:THING") == 3
    assert load_module(str(file)) is load_module(str(file))
    with pytest.raises(InvalidInput, match="Did you mean 'THING'"):
        load(f"{file}:THINGS")
    with pytest.raises(InvalidInput, match="is no Python file"):
        load_module(str(Path(tmp_path) / "nowhere.py"))
    with pytest.raises(InvalidInput, match="no module 'nowhere_at_all'"):
        load_module("nowhere_at_all")
    for name in ("", "..", "a b"):
        with pytest.raises(InvalidInput, match="no module"):
            load_module(name)
    broken = tmp_path / "broken.py"
    broken.write_text("import surely_not_installed\n")
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        load_module(str(broken))
