"""While collecting, some tables are played by plans."""

from dataclasses import replace

import numpy as np
import pytest

from smorl.dynamics.base import Bodies
from smorl.errors import InvalidInput
from smorl.methods import EncoderInputs
from smorl.presets import get_preset
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.training.acting import make_explorer, pursuing
from smorl.training.collector import explorer
from smorl.training.train_state import TrainState
from smorl.types import Episode, Spaces
from tests.cli.same_run import assert_same_checkpoints, assert_same_files
from tests.training.test_ahead import Here, train
from tests.training.test_ahead import config as ahead_config

ROWS = 4


def planned(share, base=None):
    base = get_preset("debug").build() if base is None else base
    return replace(base, collect=replace(base.collect, planned=share))


@pytest.fixture
def begun():
    """A run whose random data, a hand that walks to and fro between two pucks, is complete."""
    state = TrainState.create(planned(0.5), EncoderInputs(Spaces((6,), 2)))
    places = np.zeros((ROWS, state.replay.horizon + 1, 3, 2), np.float32)
    places[..., 0, 0] = 0.1 * (np.arange(places.shape[1]) % 2)
    places[..., 1:, 0] = [0.05, 0.3]
    frames = places.reshape(-1, 6)
    objects = GroundTruthObjects(3).encode_goal(frames)
    objects = objects.map(lambda array: array.reshape(*places.shape[:2], *array.shape[1:]))
    actions = np.zeros((ROWS, state.replay.horizon, 2), np.float32)
    actions[..., 0] = np.where(np.arange(actions.shape[1]) % 2, -1, 1)
    goals = objects.goals()[:, 0, 1]
    state.replay.add(Episode(objects, actions, goals))
    state.begin(planned(0.5))
    assert state.foresight is not None
    assert state.foresight.view is not None
    return state, objects[:, 0], goals


class Away:
    """A model in which whatever is not the hand flies away, unless the action is exactly zero."""

    def predict(self, bodies, actions):
        moves = (actions.abs().sum(-1) > 0)[:, None, None] * bodies.things[..., None]
        return replace(bodies, position=bodies.position + moves.float())


def test_plans_act_in_the_first_tables_and_the_policy_in_the_others(begun):
    state, objects, goals = begun
    state.foresight.model = Away()  # so doing nothing, which is always tried, is best
    shape = (ROWS, 2)
    policy = explorer(state.agent(planned(0)), np.random.default_rng(5), shape, random=False)
    expected = policy(objects, goals)
    for share, rows in ((0.0, 0), (0.5, 2), (1.0, 4)):
        act = make_explorer(state, planned(share), np.random.default_rng(5), ROWS, random=False)
        actions = act(objects, goals)
        assert actions.shape == shape
        np.testing.assert_array_equal(actions[:rows], 0)
        np.testing.assert_array_equal(actions[rows:], expected[rows:])
    assert (expected != 0).all()


def test_random_actions_stay_random(begun):
    state, objects, goals = begun
    acts = [
        make_explorer(state, planned(share), np.random.default_rng(5), ROWS, random=True)
        for share in (0.0, 1.0)
    ]
    np.testing.assert_array_equal(acts[0](objects, goals), acts[1](objects, goals))


def test_a_row_pursues_its_own_goal_and_all_else_should_stay(begun):
    state, objects, goals = begun
    situation = pursuing(objects, goals, state.space)
    np.testing.assert_array_equal(situation.matched, np.ones((ROWS, 1)))
    np.testing.assert_array_equal(situation.goal.position, goals.position)
    nothing = replace(objects, present=np.zeros_like(objects.present))
    assert (pursuing(nothing, goals, state.space).matched == -1).all()
    assert isinstance(state.foresight.view.bodies(objects), Bodies)


def test_runs_that_plan_while_they_collect_repeat_themselves_and_survive_a_cut(tmp_path):
    settings = planned(0.5, ahead_config(1))
    train(tmp_path / "a", Here(settings, late=False), settings)
    train(tmp_path / "b", Here(settings, late=True), settings, stop_after=2)
    train(tmp_path / "b", Here(settings, late=True), settings)
    assert_same_files(tmp_path / "a", tmp_path / "b", "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(tmp_path / "a", tmp_path / "b")
    alone = replace(settings, collect=replace(settings.collect, collectors=0))
    train(tmp_path / "c", None, alone)
    train(tmp_path / "d", None, alone, stop_after=2)
    train(tmp_path / "d", None, alone)
    assert_same_files(tmp_path / "c", tmp_path / "d", "metrics.jsonl", "evaluations.csv")
    assert_same_checkpoints(tmp_path / "c", tmp_path / "d")


def test_plans_need_a_model_of_objects():
    base = get_preset("debug").build()
    bare = replace(base, dynamics=None, evaluation=replace(base.evaluation, controller="policy"))
    with pytest.raises(InvalidInput, match=r"collect\.planned 0\.5 needs a model of objects"):
        planned(0.5, bare)
    with pytest.raises(InvalidInput, match=r"planned = 1\.5"):
        planned(1.5)


def test_a_state_without_anything_seen_leaves_it_to_the_policy():
    state = TrainState.create(planned(1.0), EncoderInputs(Spaces((6,), 2)))
    objects = GroundTruthObjects(3).encode_goal(np.zeros((ROWS, 6), np.float32))
    act = make_explorer(state, planned(1.0), np.random.default_rng(0), ROWS, random=False)
    policy = explorer(state.agent(planned(0)), np.random.default_rng(0), (ROWS, 2), random=False)
    goals = objects.goals()[:, 1]
    np.testing.assert_array_equal(act(objects, goals), policy(objects, goals))
