"""Which objects a policy looks at: asked of real networks, drawn as numbers and over time."""

import numpy as np
import pytest

from smorl.errors import InvalidInput
from smorl.learners.acting import LearnedAgent, PassiveAgent
from smorl.learners.networks import NetworkConfig, TorsoConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.types import ObjectLayout
from smorl.visualise.agent_view import AgentView
from smorl.visualise.attention import Attention, attend, attention_table
from smorl.visualise.attention_figure import PALETTE, attention_over_time
from smorl.visualise.overlay import crop, draw_tag
from tests.conftest import make_goal, make_set

ROWS, SLOTS = 2, 3


def make_agent(**torso):
    config = NetworkConfig(torso=TorsoConfig(**torso), policy_hidden=(8,), critic_hidden=(8,))
    return LearnedAgent(Sac(SacConfig(), config, ObjectLayout(SLOTS, 2), 2, seed=0))


def make_state(present=True, targets=True):
    rng = np.random.default_rng(0)
    shape = (ROWS, SLOTS)
    objects = make_set(rng.normal(size=(*shape, 2)), rng.normal(size=(*shape, 2)))
    objects.present[:, 2] = False
    objects.present[:] &= present
    objects = objects.map(lambda a: a * objects.present[..., None] if a.ndim == 3 else a)
    goal = make_set(rng.normal(size=(*shape, 2)), rng.normal(size=(*shape, 2)))
    goal.present[:] = targets
    return {
        "objects": objects,
        "targets": goal,
        "carry": None,
        "matched": np.array([[1, -1, 0]] * ROWS),
        "solved": np.zeros(shape, bool),
        "current": np.array([0, 2]),
        "finished": np.zeros(ROWS, bool),
    }


def test_an_agent_says_what_its_policy_attends_to():
    agent = make_agent(embedding=12, heads=3, free_heads=2, queries=2)
    state = make_state()
    goal = make_goal(np.ones((ROWS, 2)), np.zeros((ROWS, 2)))
    found = agent.attention(state["objects"], goal)
    assert {name: weights.shape for name, weights in found.items()} == {
        "conditional": (ROWS, 3, SLOTS),
        "unconditional": (ROWS, 4, SLOTS),
    }
    for weights in found.values():
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
        assert (weights[..., 2] == 0).all(), "nobody is in slot 2"
    # They are the weights the forward pass uses: pooled features are their weighted sum.
    seen = agent.learner.inputs(*agent._tensors(state["objects"], goal))
    network = agent.learner.policy.net
    pooled = network.torso.pool(seen, network.fold().queries)
    expected = np.einsum("khn,knf->khf", found["conditional"], state["objects"].features())
    own = pooled[0, :, : 3 * 4].detach().numpy().reshape(ROWS, 3, 4)
    np.testing.assert_allclose(own, expected, atol=1e-5)


def test_attention_follows_the_goal_where_it_is_conditional():
    agent = make_agent(embedding=12, heads=3, free_heads=1, queries=1)
    objects = make_state()["objects"]
    one, two = (
        agent.attention(objects, make_goal(np.full((ROWS, 2), w), np.zeros((ROWS, 2))))
        for w in (-2.0, 2.0)
    )
    assert np.abs(one["conditional"] - two["conditional"]).max() > 1e-3
    np.testing.assert_array_equal(one["unconditional"], two["unconditional"])


def test_the_current_sub_goal_is_the_one_asked_for():
    agent, state = make_agent(embedding=12, heads=3), make_state()
    for row, current in ((0, 0), (1, 2)):
        attention = attend(agent, state, row)
        assert attention is not None
        assert attention.heads == ("cond. 1", "cond. 2", "cond. 3")
        goal = state["targets"].goals()[:, current]
        expected = agent.attention(state["objects"], goal)["conditional"][row]
        np.testing.assert_allclose(attention.weights, expected, atol=1e-6)


def test_where_there_is_no_attention_there_is_none():
    state = make_state()
    assert attend(PassiveAgent(2), state) is None
    assert attend(make_agent(kind="deepsets"), state) is None
    assert attend(make_agent(embedding=12, heads=3), make_state(targets=False)) is None
    empty = attend(make_agent(embedding=12, heads=3), make_state(present=False))
    assert empty is not None
    assert (empty.weights == 0).all()


def test_a_heavier_weight_is_a_darker_cell():
    attention = Attention(("cond. 1", "uncond. 1"), np.array([[0.0, 1.0], [0.6, 0.4]]))
    square = np.zeros((44, 44, 3), np.uint8)
    table = attention_table(attention, [(square, (255, 0, 0)), (square, (0, 255, 0))])
    corner = [[int(table[top, left].sum()) for left in (74, 125)] for top in (92, 125)]
    assert corner[0][0] == 3 * 255 > corner[1][1] > corner[1][0] > corner[0][1]
    absent = attention_table(attention, [(square, (255, 0, 0)), None])
    assert absent.shape == table.shape
    assert (absent[92, 125] == 255).all()


def moments(count=12, agent=None):
    sights = []
    for step in range(count):
        state = make_state()
        state["current"][:] = step // 6
        sights.append(AgentView.of(state, agent=make_agent(embedding=12, heads=3)))
    return sights


def test_an_episode_is_drawn_in_the_colours_of_its_objects():
    views = [np.full((64, 64, 3), 10 * i, np.uint8) for i in range(12)]
    picture = attention_over_time(moments(), views)
    colours = {tuple(colour) for colour in picture.reshape(-1, 3)[::7].tolist()}
    assert set(PALETTE[:2]) <= colours, "two objects, two colours"
    assert PALETTE[2] not in colours, "nobody is in slot 2"
    with pytest.raises(InvalidInput, match="no attention to draw"):
        attention_over_time([AgentView.of(make_state())], views[:1])


def test_tags_stay_inside_the_picture():
    black = np.zeros((64, 64, 3), np.uint8)
    for centre in ((-1, -1), (1, 1), (0, 0)):
        tagged = draw_tag(black, centre, (0.1, 0.1), "7", (255, 255, 255))
        rows, columns = np.nonzero((tagged == 255).all(-1))
        assert np.ptp(rows) >= 11
        assert np.ptp(columns) >= 8


def test_a_crop_shows_its_box_and_moves_inwards_at_the_border():
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[48:, 48:] = 200
    assert (crop(picture, (0.75, 0.75), (0.2, 0.2), 44) == 200).mean() > 0.9
    assert crop(picture, (1.0, 1.0), (0.2, 0.1), 44).min() == 200, "moved inwards, not stretched"
    assert crop(picture, (-0.5, -0.5), (0.1, 0.3), 44).max() == 0
