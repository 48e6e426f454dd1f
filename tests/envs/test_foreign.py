"""Anybody's environments: found by name, put behind the contract, refused with a reason."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from smorl.envs.contract import check_goals, require_truth, spaces_of, truth_of, views_of
from smorl.envs.factory import View, find_env, make_envs, make_visual_envs, tells_truth
from smorl.errors import InvalidInput
from smorl.plugins import trust_named

DISCS = f"{Path(__file__).parents[2] / 'examples' / 'own_env.py'}:Discs-v0"


@pytest.fixture(scope="module")
def discs():
    envs = make_envs(DISCS, 2, 1, view=View(image_size=32))
    yield envs
    envs.close()


def test_an_env_in_a_file_shows_square_pictures_and_takes_its_own_number_of_actions(discs):
    spaces = spaces_of(discs)
    assert (spaces.observation, spaces.goal, spaces.actions) == ((32, 32, 3), (32, 32, 3), 3)
    assert spaces.visual
    assert spaces.objects is None
    assert "64x48" in discs.note
    observation, _ = discs.reset(seed=[3, 4])
    assert all(observation[name].shape == (2, 32, 32, 3) for name in observation)
    again, _ = discs.reset(seed=[3, 4])
    np.testing.assert_array_equal(again["observation"], observation["observation"])


def test_actions_in_unit_range_reach_the_env_in_its_own(discs):
    discs.reset(seed=[0, 1])
    inner = discs.unwrapped.envs[0].unwrapped
    taken = []
    step, inner.step = inner.step, lambda action: taken.append(action) or step(action)
    discs.step(np.array([[-1, 0, 1], [0, 0, 0]], np.float32))
    np.testing.assert_allclose(taken[0], [-1, 0, 2], atol=1e-6)  # the last lies in [0, 2]
    del inner.step


def test_without_truth_nobody_pretends_to_know(discs):
    assert truth_of(discs) is None
    with pytest.raises(InvalidInput, match="the study needs the truth"):
        require_truth(discs, "the study")
    assert not tells_truth(DISCS)
    assert tells_truth("smorl/Rearrange1-v0")


def test_a_stranger_is_filmed_by_what_it_shows(discs):
    observation, _ = discs.reset(seed=[5, 6])
    views = views_of(discs, 96, row=1)
    np.testing.assert_array_equal(views.agent(goal_state=True), observation["desired_goal"][1])
    assert views.scene().shape == (96, 96, 3)
    assert views.agent(pixels=64).shape == (64, 64, 3)


class Odd(gym.Env):
    """An environment with something wrong; `space` and `actions` say what."""

    def __init__(self, space, actions=None):
        self.observation_space = space
        self.action_space = actions or gym.spaces.Box(-1, 1, (2,))


BOX = gym.spaces.Box(-1, 1, (4,), np.float32)
WRONG = {
    "plain": (Odd(BOX), "must be a Dict"),
    "discrete": (Odd(gym.spaces.Dict(observation=BOX), gym.spaces.Discrete(3)), "must be a Box"),
    "unbounded": (
        Odd(gym.spaces.Dict(observation=BOX), gym.spaces.Box(-np.inf, np.inf, (1,))),
        "without bounds",
    ),
    "grey": (Odd(gym.spaces.Dict(observation=gym.spaces.Box(0, 255, (8, 8), np.uint8))), "shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_an_env_lacks_is_said(name, monkeypatch):
    env, message = WRONG[name]
    spec = gym.envs.registration.EnvSpec(f"Odd-{name}-v0", entry_point=lambda: env)
    monkeypatch.setitem(gym.registry, spec.id, spec)
    with pytest.raises(InvalidInput, match=message):
        make_envs(spec.id, 1, 1)


def test_no_goals_is_said_when_goals_are_needed(discs):
    check_goals(discs, DISCS)
    space, discs.single_observation_space = (
        discs.single_observation_space,
        gym.spaces.Dict(observation=BOX),
    )
    with pytest.raises(InvalidInput, match="no `desired_goal`"):
        check_goals(discs, DISCS)
    discs.single_observation_space = space


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Rearange2-v0", "Did you mean 'smorl/Rearrange2-v0'"),
        ("no_such_module:Env-v0", "no module 'no_such_module'"),
        ("nowhere.py:Env-v0", "no Python file"),
        (DISCS.replace("Discs", "Disks"), "Did you mean|unknown environment"),
    ],
)
def test_unknown_names_get_a_remedy(name, message):
    trust_named([name])
    with pytest.raises(InvalidInput, match=message):
        find_env(name)


def test_a_state_env_shows_no_pictures():
    with pytest.raises(InvalidInput, match="smorl/VisualPush1-v0"):
        make_visual_envs("smorl/Push1-v0", 1, 1)
