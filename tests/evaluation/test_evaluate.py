"""Evaluation on a world made of plain arithmetic: what is measured, and when episodes end."""

from dataclasses import replace
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

from smorl.evaluation.evaluate import evaluate
from smorl.goals.base import GoalConfig
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.planning.actor import Actor
from smorl.planning.subgoals import SubgoalConfig
from smorl.representations.ground_truth import GroundTruthObjects

SPACE = MatchedGoals(GoalConfig(), UniformPrior(np.float32([0, 0]), np.float32([1, 1])))


class Carry(gym.vector.VectorEnv):
    """Hand and one puck on a line; the puck moves with the hand. Goals: puck at 1, hand at 0."""

    def __init__(self, num_envs, diverges_at=None):
        self.num_envs, self.diverges_at = num_envs, diverges_at
        self.action_space = gym.spaces.Box(-1, 1, (num_envs, 2), np.float32)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        self.puck = np.array([0.1 * (s % 5) for s in seed])
        return self._observe(), self._info()

    def step(self, actions):
        self.steps += 1
        self.puck = self.puck + 0.1 * actions[:, 0]
        truncated = np.zeros(self.num_envs, bool)
        info = self._info()
        if self.steps == self.diverges_at:
            truncated[0] = True
            last = self._info()
            self.puck[0] = -100.0  # the row starts again somewhere else
            info = {**self._info(), "final_info": last}
        return self._observe(), -self.puck, truncated & False, truncated, info

    def _info(self):
        return {"object_distances": np.abs(1 - self.puck)[:, None]}

    @property
    def truth(self):
        """The truth of the contract, as far as evaluation asks: the goals of puck and hand."""
        goals = np.tile([[1.0, 0.0], [0.0, 0.0]], (self.num_envs, 1, 1))
        return SimpleNamespace(tolerance=1e-3, goal_places=lambda: goals)

    def _observe(self):
        zero, one = np.zeros(self.num_envs), np.ones(self.num_envs)
        state = np.stack([zero, zero, self.puck, zero], 1).astype(np.float32)
        goal = np.stack([zero, zero, one, zero], 1).astype(np.float32)
        return {"observation": state, "desired_goal": goal}


class Right:
    """Pushes right while the goal is the puck's and not reached, else stays."""

    def act(self, objects, goal):
        wants = (goal.what[:, 1] == 1) & (objects.position[:, 1, 0] < 0.96)
        return np.stack([wants, wants * 0], 1).astype(np.float32)

    def value(self, objects, goal):
        return -np.linalg.norm(objects.position[:, 1] - goal.position, axis=-1)


def actor(config, encoder=None):
    """Whoever sees the truth and pushes right."""
    encoder = GroundTruthObjects(2) if encoder is None else encoder
    return Actor(encoder, Right(), SPACE, config, actions=2)


def test_the_metric_is_the_distance_on_the_last_step():
    result = evaluate(Carry(3), actor(SubgoalConfig(12, 3)), episodes=5, seed=0)
    np.testing.assert_allclose(result.passive, [1.0, 0.9, 0.8, 0.7, 0.6])
    np.testing.assert_allclose(result.distance, 0, atol=1e-6)
    assert result.success.all()
    assert (result.solved == 1).all()
    # Episodes end when every sub-goal is solved at the end of an attempt.
    assert set(result.length) <= {12, 24}
    assert result.summary()["episodes"] == 5


def test_every_episode_is_on_record_in_metres():
    config = SubgoalConfig(3, 1, order="hardest")
    result = evaluate(Carry(2), actor(config), episodes=3, seed=4)
    record = result.by_episode(4)
    assert record["first_episode_seed"] == 4
    np.testing.assert_allclose(record["distances"], result.distance, atol=1e-5)
    np.testing.assert_allclose(record["passive_distances"], result.passive, atol=1e-5)
    assert all(isinstance(d, float) and d == round(d, 5) for d in record["distances"])
    assert not set(record) & set(result.summary())


def test_too_little_time_leaves_a_distance():
    config = SubgoalConfig(3, 1, order="hardest")
    result = evaluate(Carry(2), actor(config), episodes=2, seed=0)
    np.testing.assert_allclose(result.distance, [0.7, 0.6], atol=1e-6)
    assert (result.length == 3).all()
    assert not result.success.any()


def test_a_diverged_row_keeps_its_last_distance():
    config = SubgoalConfig(10, 1, order="hardest")
    result = evaluate(Carry(2, diverges_at=4), actor(config), episodes=2, seed=0)
    np.testing.assert_allclose(result.distance, [0.6, 0.0], atol=1e-6)
    assert result.length.tolist() == [4, 10]


def test_the_same_seed_is_the_same_episodes_however_they_are_batched():
    def run(rows):
        return evaluate(Carry(rows), actor(SubgoalConfig(4, 3)), episodes=6, seed=3)

    one, many = run(1), run(4)
    np.testing.assert_allclose(one.distances, many.distances)
    np.testing.assert_array_equal(one.length, many.length)


TRIES = SubgoalConfig(12, 3)


def play(encoder, episodes=3, config=TRIES, **options):
    return evaluate(Carry(episodes), actor(config, encoder), episodes=episodes, seed=0, **options)


def counts(result):
    names = ("goals_detected", "goals_matched", "false_solved")
    return tuple(result.summary()[name] for name in names)


def test_on_ground_truth_everything_is_found_and_matched():
    assert counts(play(GroundTruthObjects(2))) == (2, 1, 0)


class Liar(GroundTruthObjects):
    """Claims that the puck is where it should be."""

    def step(self, carry, observation, actions):
        objects = self.encode_goal(observation)
        objects.position[:, 1] = (1, 0)
        return carry, objects


def test_what_only_seems_solved_is_counted_as_false():
    result = play(Liar(2))
    assert result.held.tolist() == [1, 1, 1], "the arm is solved too, but is no puck"
    assert counts(result) == (2, 1, 1)
    assert (result.solved == 1).all()
    assert not result.success.any()


class Blind(GroundTruthObjects):
    """Sees nothing in the goal images of even rows."""

    def encode_goal(self, observation):
        found = super().encode_goal(observation)
        return replace(
            found, present=found.present & (np.arange(len(observation)) % 2 > 0)[:, None]
        )

    def step(self, carry, observation, actions):
        return carry, super().encode_goal(observation)


@pytest.mark.parametrize("order", ["cycle", "hardest"])
def test_a_goal_image_that_shows_nothing_leaves_the_episode_passive(order):
    result = play(Blind(2), config=SubgoalConfig(12, 3, order=order))
    np.testing.assert_array_equal(result.length == 0, [True, False, True])
    np.testing.assert_array_equal(result.distance[::2], result.passive[::2])
    assert result.distance[1] < 0.05
    assert result.detected.tolist() == [0, 2, 0]
    assert counts(result) == (pytest.approx(2 / 3), 1, 0)
    assert result.solved.tolist() == [0, 1, 0]


class Forgetful(GroundTruthObjects):
    """Does not see the puck in the given frames."""

    def __init__(self, items, frames):
        super().__init__(items)
        self.frames = frames

    def init(self, batch):
        return 0

    def step(self, carry, observation, actions):
        found = self.encode_goal(observation)
        hidden = np.zeros_like(found.present)
        hidden[:, 1] = carry in self.frames
        return carry + 1, replace(found, present=found.present & ~hidden)


@pytest.mark.parametrize("frames", [range(100), range(1), range(5, 6)])
def test_an_object_that_is_lost_for_a_frame_is_not_matched(frames):
    result = play(Forgetful(2, frames))
    assert counts(result)[:2] == (2, 0.5)
    assert result.kept.tolist() == [1, 1, 1]


def test_objects_that_never_match_do_not_keep_others_from_being_tried():
    seen = []
    config = SubgoalConfig(4, 3, order="hardest")
    result = play(Forgetful(2, range(100)), config=config, observer=seen.append)
    # The puck is the hardest by value, but matches nothing.
    assert (seen[0]["current"] == 0).all()
    assert (seen[0]["matched"] == [0, -1]).all()
    assert result.solved.tolist() == [0.5] * 3
    assert result.held.tolist() == [0, 0, 0]
    assert counts(result)[2] == 0
    assert (result.length == 12).all()


class Spotter(GroundTruthObjects):
    """Finds one object more in goal images than it has slots for."""

    def encode_goal(self, observation):
        return GroundTruthObjects(3, 3).encode_goal(np.pad(observation, ((0, 0), (0, 2))))

    def step(self, carry, observation, actions):
        return carry, super().encode_goal(observation)


def test_more_goals_than_slots_are_tried_and_counted():
    result = play(Spotter(2, identities=3), config=SubgoalConfig(12, 3, order="hardest"))
    assert counts(result) == (3, pytest.approx(2 / 3), 0)
    np.testing.assert_allclose(result.solved, 2 / 3)
    np.testing.assert_allclose(result.distance, 0, atol=1e-6)


def test_the_observer_is_told_of_every_moment_and_of_the_end():
    seen = []
    result = play(GroundTruthObjects(2), episodes=1, observer=seen.append)
    assert len(seen) == result.length[0] + 1
    assert not seen[-2]["finished"].any()
    assert seen[-1]["finished"].all()
    assert (seen[-1]["matched"] == [0, 1]).all()
    assert seen[-1]["objects"].position[0, 1, 0] > 0.9
    seen.clear()
    play(Blind(2), episodes=1, observer=seen.append)
    assert len(seen) == 1, "a film of it has one picture"


class Stranger(Carry):
    """The same world, whose distances and goals nobody tells."""

    truth = None

    def _info(self):
        return {}


def test_without_an_outside_judge_only_the_agents_own_measure_is_known():
    envs = Stranger(3)
    result = evaluate(envs, actor(SubgoalConfig(10, 3)), episodes=3, seed=0)
    summary = result.summary()
    assert summary["subgoals_solved"] == 1.0
    assert summary["goals_matched"] == 1.0
    unknown = {name for name, value in summary.items() if value is None}
    assert {"object_distance", "success", "passive_distance", "false_solved"} <= unknown
    assert result.by_episode(0)["distances"] == []
