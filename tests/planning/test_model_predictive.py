"""Planning in a world whose model is exact: it finds what the policy alone does not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from smorl.dynamics.base import View
from smorl.errors import InvalidInput
from smorl.goals.own_body import StillnessModel
from smorl.planning.base import Situation
from smorl.planning.choosers import make_chooser
from smorl.planning.gentle import GentleContact
from smorl.planning.imagined import Slow
from smorl.planning.model_predictive import PlanConfig, PlanController
from smorl.representations.ground_truth import GroundTruthObjects

REST = StillnessModel(np.eye(3, dtype=np.float32), np.float32([0, 1, 1]))
VIEW = View(REST, np.zeros(2, np.float32))
ENCODER = GroundTruthObjects(3)
LEARNER = {"actions": 2, "discount": 0.9}


class Sticky:
    """Things nearer than 0.1 to the hand go with it; everything else stays."""

    def predict(self, bodies, actions):
        rows = torch.arange(len(actions))
        hand = bodies.position[rows, bodies.hand]
        near = (bodies.position - hand[:, None]).norm(dim=-1) < 0.1
        return bodies.moved(0.1 * actions[:, None] * near[..., None])


class Clueless:
    """A policy that knows nothing, and a critic that likes the first thing to be at (1, 0)."""

    discount = 0.9

    def act(self, objects, present, goal, noise=None):
        return torch.zeros(len(goal), 2) if noise is None else torch.tanh(noise)

    def value(self, objects, present, goal):
        return torch.zeros(len(goal))


def situation(places, goals, current=1):
    """Hand and two things, each with a goal."""
    objects = ENCODER.step(None, np.float32([np.ravel(places)]), np.zeros((1, 2)))[1]
    targets = ENCODER.encode_goal(np.float32([np.ravel(goals)]))
    matched = np.array([[0, 1, 2]])
    return Situation(objects, targets, matched, np.zeros((1, 3), bool), np.array([current]))


class Fair(Clueless):
    """Its critic expects that nothing moves any more."""

    def value(self, objects, present, goal):
        index = (objects[..., :3] * goal[:, None, :3]).sum(-1).argmax(1)
        place = objects[torch.arange(len(goal)), index, 3:5]
        return -(place - goal[:, 3:5]).norm(dim=-1) / (1 - self.discount)


def planner(learned=None, **options):
    config = PlanConfig(**{"horizon": 3, "samples": 64, **options})
    return PlanController(learned or Clueless(), Sticky(), VIEW, ENCODER.layout, config, **LEARNER)


HAND, PUCK, OTHER = [0, 0], [0.05, 0], [0.5, 0.5]


@pytest.mark.parametrize("options", [{}, {"refinements": 2}, {"temperature": 0.05}])
def test_a_plan_moves_the_thing_towards_its_goal_where_the_policy_rests(options):
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.6, 0], OTHER])
    action = planner(**options).act(asked, np.random.default_rng(0))
    assert action.shape == (1, 2)
    assert action[0, 0] > 0.3
    assert abs(action[0, 1]) < action[0, 0]


@pytest.mark.parametrize("options", [{}, {"refinements": 2}])
def test_what_was_imagined_can_be_drawn(options):
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.6, 0], OTHER])
    made = planner(**options)
    action = made.act(asked, np.random.default_rng(0))
    tracks = made.tracks
    assert tracks.shape == (1, 8, 2, 4, 2)
    start = np.broadcast_to(np.float32([HAND, PUCK]), (8, 2, 2))
    assert tracks[0, :, :, 0] == pytest.approx(start)
    # The first way begins with the action that is taken, as the model foresees it.
    assert tracks[0, 0, 0, 1] == pytest.approx(HAND + 0.1 * action[0], abs=1e-6)
    assert tracks[0, 0, 1, 1] == pytest.approx(PUCK + 0.1 * action[0], abs=1e-6)


def test_nothing_is_imagined_where_nothing_matches():
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.6, 0], OTHER])
    made = planner()
    made.act(asked, np.random.default_rng(0))
    made.act(replace(asked, matched=np.full((1, 3), -1)), np.random.default_rng(0))
    assert made.tracks is None


def test_the_same_stream_is_the_same_plan():
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.6, 0], OTHER])
    one, two, three = (
        planner(refinements=1).act(asked, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != three).any()


def test_what_is_done_is_left_alone():
    """The other thing sits beside the hand, at its goal: moving the first would take it along."""
    both = [HAND, PUCK, [0, 0.05]]
    done = situation(both, [HAND, [0.2, 0], [0, 0.05]])
    wanted = situation(both, [HAND, [0.2, 0], [0.3, 0.05]])
    held, taken = (planner().act(s, np.random.default_rng(0))[0, 0] for s in (done, wanted))
    assert held < 0.2 < taken


def test_an_unmatched_goal_is_left_to_the_policy():
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.6, 0], OTHER])
    lost = replace(asked, matched=np.array([[0, -1, 2]]))
    np.testing.assert_array_equal(planner().act(lost, np.random.default_rng(0)), 0)


def test_the_value_at_the_end_decides_beyond_the_horizon():
    class Critic(Clueless):
        def value(self, objects, present, goal):
            return 100 * objects[:, 0, 4]  # the hand up the y axis, whatever the goal

    asked = situation([HAND, [0.9, 0], OTHER], [HAND, [0.9, 0], OTHER])
    plain, guided = (
        PlanController(Critic(), Sticky(), VIEW, ENCODER.layout, PlanConfig(value=value), **LEARNER)
        for value in (False, True)
    )
    assert guided.act(asked, np.random.default_rng(0))[0, 1] > 0.5
    assert plain.act(asked, np.random.default_rng(0))[0, 1] < 0.5


def test_imagined_contact_is_as_gentle_as_the_real_one():
    rng = np.random.default_rng(0)
    floats = (rng.normal(size=2), rng.normal(size=(2, 2)), 0.3, 0.28, np.zeros(2))
    gentle = GentleContact(REST, *(np.float32(f) for f in floats))
    states = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    objects = ENCODER.encode_goal(states)
    actions = rng.uniform(-1, 1, (20, 2)).astype(np.float32)
    imagined = Slow(gentle)(VIEW.bodies(objects), torch.from_numpy(actions)).numpy()
    np.testing.assert_allclose(imagined, gentle(objects, actions), rtol=1e-5)


def test_the_sub_goal_from_which_most_is_expected_comes_first():
    """The first thing sticks to the hand and can be brought home; the second is out of reach."""
    asked = situation([HAND, PUCK, OTHER], [HAND, [0.3, 0], [0.5, 0.8]], current=0)
    chooser = make_chooser("gain", Fair(), planner(Fair()))
    scores = chooser.scores(asked)
    assert scores.argmax() == 1
    np.testing.assert_array_equal(scores, chooser.scores(asked))


def test_harm_to_what_is_done_takes_the_gain_away():
    both = [HAND, PUCK, [0, 0.05]]
    free = situation([HAND, PUCK, OTHER], [HAND, [0.2, 0], OTHER])
    bound = situation(both, [HAND, [0.2, 0], [0, 0.05]])
    rng = np.random.default_rng(0)
    assert planner().gains(free, rng)[0, 1] > planner().gains(bound, rng)[0, 1]


def test_gain_without_a_plan_is_refused():
    with pytest.raises(InvalidInput, match="needs a plan"):
        make_chooser("gain", Clueless())
