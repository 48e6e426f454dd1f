"""Alg. 3 as an object, without any environment: what it exposes, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.goals.base import GoalConfig
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.planning.actor import Actor
from smorl.planning.controllers import CriticController, make_controller
from smorl.planning.subgoals import SubgoalConfig
from smorl.representations.ground_truth import GroundTruthObjects

BOX = UniformPrior(np.float32([-1, -1]), np.float32([1, 1]))
SPACE = MatchedGoals(GoalConfig(solved_threshold=0.05), BOX)


class Straight:
    """Moves towards the goal; values are minus distances."""

    def act(self, objects, goal):
        return np.clip(goal.position - self._place(objects, goal), -0.1, 0.1).astype(np.float32)

    def act_best(self, objects, goal):
        return 0.5 * self.act(objects, goal)

    def value(self, objects, goal):
        return -np.linalg.norm(goal.position - self._place(objects, goal), axis=-1)

    def _place(self, objects, goal):
        return objects.position[np.arange(len(goal.what)), goal.what.argmax(-1)]


def actor(**options):
    config = SubgoalConfig(6, 3, order="hardest", switch_when_solved=True)
    return Actor(GroundTruthObjects(2), Straight(), SPACE, config, actions=2, **options)


def test_an_own_loop_solves_both_goals():
    """Every item goes where it is told: the hand first to its goal, then the puck."""
    state = np.float32([[0, 0, 0.2, 0], [0, 0, 0, 0]])
    goal = np.float32([[0.3, 0.3, 0.2, 0.1], [0, 0, 0, 0]])
    played = actor()
    played.reset(goal)
    steps = 0
    while not played.finished.all():
        action = played.act(state)
        if steps == 0:
            assert played.current.tolist()[0] == 0, "the hand is farther away, so harder"
            assert played.solved.tolist() == [[False, False], [True, True]]
            np.testing.assert_allclose(played.values[0], [-0.3 * 2**0.5, -0.1], atol=1e-6)
        moved = 2 * played.current[:, None] + np.arange(2)
        np.put_along_axis(state, moved, np.take_along_axis(state, moved, 1) + action, 1)
        steps += 1
    assert played.solved.all()
    assert (played.choose() == 0).all(), "whoever is finished rests"


def test_the_own_body_is_no_sub_goal_if_so_told():
    """The hand, which never rests, stays where it is; with nothing else to do a row is done."""
    rest = StillnessModel(np.eye(2, dtype=np.float32), np.float32([0.1, 0.9]))
    space = replace(SPACE, rest=rest)
    config = SubgoalConfig(6, 3, order="hardest", own_body=False)
    played = Actor(GroundTruthObjects(2), Straight(), space, config, actions=2)
    played.reset(np.float32([[0.3, 0.3, 0.2, 0.1]]))
    played.act(np.float32([[0, 0, 0.2, 0]]))
    assert played.targets.present.tolist() == [[False, True]]
    assert played.current.tolist() == [1]
    unknown = Actor(GroundTruthObjects(2), Straight(), SPACE, config, actions=2)
    unknown.reset(np.float32([[0.3, 0.3, 0.2, 0.1]]))
    assert unknown.targets.present.all(), "nobody knows the body before random data was seen"


def test_the_encoder_is_told_the_action_that_was_taken():
    class Listening(GroundTruthObjects):
        heard = ()

        def step(self, carry, observation, actions):
            self.heard = (*self.heard, actions.copy())
            return super().step(carry, observation, actions)

    listening = Listening(2)
    played = Actor(listening, Straight(), SPACE, SubgoalConfig(5, 3), actions=2)
    state = np.float32([[0, 0, 0.2, 0]])
    played.reset(np.float32([[0.3, 0.3, 0.2, 0.4]]))
    action = played.act(state)
    played.act(state)
    assert (listening.heard[0] == 0).all()
    np.testing.assert_array_equal(listening.heard[1], action)


def test_controllers_by_name():
    situation = actor()
    situation.reset(np.float32([[0.3, 0, 0.2, 0]]))
    state = np.float32([[0, 0, 0.2, 0]])
    policy = situation.act(state)
    critic = actor(controller=CriticController(Straight()))
    critic.reset(np.float32([[0.3, 0, 0.2, 0]]))
    np.testing.assert_allclose(critic.act(state), 0.5 * policy)
    assert isinstance(make_controller("critic", Straight()), CriticController)


def test_rows_that_are_lost_are_finished_and_keep_their_answer():
    played = actor()
    played.reset(np.float32([[0, 0, 0.2, 0.3]] * 2))
    played.act(np.float32([[0, 0, 0.2, 0]] * 2))
    played.observe(np.float32([[0.5, 0.5, 0.2, 0.3]] * 2), lost=np.array([True, False]))
    assert played.finished.tolist() == [True, False]
    assert played.solved.tolist() == [[True, False], [False, True]]


def test_mistakes_are_named():
    played = actor()
    with pytest.raises(InvalidInput, match="2 seeds for 1 rows"):
        played.reset(np.zeros((1, 4), np.float32), seeds=[1, 2])
    played.reset(np.zeros((1, 4), np.float32))
    with pytest.raises(InvalidInput, match="seen nothing yet"):
        played.choose()
