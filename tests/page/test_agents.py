"""Trained agents as players, with a stand-in for what was learned."""

from types import SimpleNamespace

import numpy as np
import pytest

from smorl.dynamics.base import View
from smorl.envs.factory import View as Camera
from smorl.envs.rendering.cameras import get_camera
from smorl.errors import InvalidInput
from smorl.goals.base import GoalConfig
from smorl.goals.own_body import StillnessModel
from smorl.goals.priors import UniformPrior
from smorl.goals.space import MatchedGoals
from smorl.page.agents import (
    AS_TRAINED,
    NOBODY,
    OWN_CAMERA,
    SCRIPTED,
    AgentPlayer,
    Agents,
    setup_of,
)
from smorl.page.casting import Seat
from smorl.page.charts import distances, thoughts
from smorl.page.players import Moment, Nobody, Scripted
from smorl.page.table import Setup, Table
from smorl.planning.actor import Actor
from smorl.planning.controllers import make_controller
from smorl.planning.model_predictive import PlanConfig, PlanController
from smorl.planning.subgoals import SubgoalConfig
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.trained.loading import load_run
from tests.planning.test_model_predictive import Clueless, Sticky

NAMES = (None, "policy", "critic")
REST = StillnessModel(np.eye(2, dtype=np.float32), np.float32([0, 1]))
BOX = UniformPrior(np.float32([-1, -1]), np.float32([1, 1]))


class Straight:
    """Moves the hand towards the current sub-goal; values are minus distances."""

    def act(self, objects, goal):
        offset = goal.position - objects.position[:, 0]
        return np.clip(10 * offset, -1, 1).astype(np.float32)

    act_best = act

    def value(self, objects, goal):
        place = objects.position[np.arange(len(goal.what)), goal.what.argmax(-1)]
        return -np.linalg.norm(goal.position - place, axis=-1)

    def attention(self, objects, goal):
        rows, slots = objects.present.shape
        return {"conditional": np.full((rows, 1, slots), 1 / slots)}


def actor(pucks=1, controller=None):
    space = MatchedGoals(GoalConfig(solved_threshold=0.05), BOX)
    config = SubgoalConfig(5, 3, order="hardest", switch_when_solved=True)
    who = make_controller(controller or "policy", Straight()) if controller in NAMES else controller
    return Actor(
        GroundTruthObjects(pucks + 1), Straight(), space, config, actions=2, controller=who
    )


def run_of(env):
    """A stand-in for a loaded run on ground truth."""
    pucks = setup_of(env).pucks
    return SimpleNamespace(
        config=SimpleNamespace(env=env, method="smorl-gt"),
        env=env,
        view=None,
        encoder=GroundTruthObjects(pucks + 1),
        actor=lambda controller=None: actor(pucks, controller),
    )


def moment(*state):
    return Moment(np.zeros((64, 64, 3), np.uint8), np.float32(state))


def test_a_player_goes_on_after_the_paper_would_have_stopped():
    player = AgentPlayer(actor(), pixels=False, camera=None)
    player.aim(moment(0.0, 0.4, 0.1, 0.6))
    for _ in range(40):  # 15 steps are an episode of this actor
        action = player.act(moment(0.0, 0.4, -0.1, 0.6))
    assert np.abs(action).max() > 0
    assert not player.thoughts.done


def test_a_player_rests_when_everything_is_solved_and_wakes_when_disturbed():
    player = AgentPlayer(actor(), pixels=False, camera=None)
    player.aim(moment(0.0, 0.4, 0.1, 0.6))
    assert (player.act(moment(0.0, 0.4, 0.1, 0.6)) == 0).all()
    assert player.thoughts.done
    assert np.abs(player.act(moment(0.0, 0.4, 0.2, 0.7))).max() > 0
    assert player.thoughts.belief.target == pytest.approx((0.1, 0.6), abs=1e-6)
    assert player.thoughts.belief.mover == pytest.approx((0.2, 0.7), abs=1e-6)


def test_a_new_goal_keeps_what_was_seen():
    player = AgentPlayer(actor(), pixels=False, camera=None)
    player.aim(moment(0.0, 0.4, 0.1, 0.6))
    player.act(moment(0.0, 0.4, -0.1, 0.6))
    player.aim(moment(0.0, 0.4, 0.2, 0.7))
    player.act(moment(0.0, 0.5, -0.1, 0.6))
    # The hand has moved by 0.1 since the frame before the new goal.
    assert player.thoughts.view.objects.motion[0] == pytest.approx((0.0, 0.1), abs=1e-6)


def test_what_the_planner_imagines_is_drawn_as_it_imagines_it():
    encoder, view = GroundTruthObjects(2), View(REST, np.zeros(2, np.float32))
    learned, config = Clueless(), PlanConfig(horizon=3, samples=16)
    who = PlanController(learned, Sticky(), view, encoder.layout, config, actions=2, discount=0.9)
    player = AgentPlayer(actor(controller=who), pixels=False, camera=None)
    player.aim(moment(0.0, 0.4, 0.3, 0.4))
    player.act(moment(0.0, 0.4, 0.05, 0.4))
    belief = player.thoughts.belief
    best, others = who.tracks[0, 0], who.tracks[0, 1:]
    assert belief.plan.reshape(2, 5, 2)[:, :4] == pytest.approx(best)
    assert np.isnan(belief.plan[4::5]).all()
    assert belief.tracks.shape == (7 * 2 * 5, 2)
    assert belief.tracks.reshape(7, 2, 5, 2)[:, :, :4] == pytest.approx(others)


def test_what_it_says_is_safe_and_complete():
    table = Table(
        Setup("rearrange", 1), AgentPlayer(actor(), False, None), np.random.default_rng(0)
    )
    table.step()
    snapshot = table.snapshot()
    text = thoughts(snapshot)
    assert "works on it" in text
    assert "puck 1" in text
    assert "50 %" in text  # attention on two objects, equally
    assert "nan" not in distances(snapshot)


def test_a_shipped_agent_plays_here_as_it_does_anywhere():
    """From pixels, planning: the same actions to the last bit as an actor outside the page."""
    run, rng = load_run("shipped:visual-rearrange-2"), np.random.default_rng(3)
    player = AgentPlayer(run.actor(), pixels=True, camera=get_camera(OWN_CAMERA))
    table = Table(Setup("rearrange", 2), player, rng, run.view)
    before, goal = table._look()
    alone = run.actor()
    alone.reset(goal.picture[None])
    for step in range(6):
        action = alone.act(before.picture[None])
        table.step()
        assert not player.thoughts.done
        assert (player._actor.action == action).all()
        assert step or np.abs(action).max() > 0
        before, _ = table._look()
    table.close()


def test_runs_are_loaded_once_and_again_when_they_have_learned_more():
    loads = []

    def load(name, env=None):
        loads.append((name, env))
        return run_of(env or "smorl/Rearrange2-v0")

    agents = Agents(["a", "b"], load)
    two = Setup("rearrange", 2)
    for _ in range(3):
        part = agents.cast(Seat("a", AS_TRAINED), two).result(10)
        assert isinstance(part.player, AgentPlayer)
        assert part.view == Camera()
    agents.cast(Seat("a", AS_TRAINED), Setup("push", 1)).result(10)
    assert loads == [("a", None), ("a", "smorl/Push1-v0")]
    agents.forget("a")
    agents.cast(Seat("a", AS_TRAINED), two).result(10)
    assert len(loads) == 3
    agents.close()


def test_those_who_need_no_agent_load_none():
    agents = Agents(["missing"], lambda name, env=None: pytest.fail("nobody asked for an agent"))
    setup = Setup("rearrange", 1)
    assert isinstance(agents.cast(Seat("missing", SCRIPTED), setup).result(10).player, Scripted)
    assert isinstance(agents.cast(Seat("missing", NOBODY), setup).result(10).player, Nobody)
    agents.close()


def test_environments_and_tables():
    assert Setup("push", 3).env_id(visual=True) == "smorl/VisualPush3-v0"
    assert setup_of("smorl/VisualRearrange2-v0") == Setup("rearrange", 2)
    with pytest.raises(InvalidInput, match="not one of"):
        setup_of("my:Own-v0")
