"""The model of objects against mathematics: what must not matter, and a world it can learn."""

import numpy as np
import pytest
import torch

from smorl.dynamics.base import Bodies, View
from smorl.dynamics.fitting import DynamicsConfig, draw, loss, prediction_errors, scales
from smorl.dynamics.object_model import ObjectModel
from smorl.goals.own_body import StillnessModel, hand_and_things, steps_by_id
from smorl.types import Episode, ObjectGoal, ObjectSet

REST = StillnessModel(np.eye(4, dtype=np.float32), np.float32([0, 1, 1, 1]))
VIEW = View(REST, np.zeros(2, np.float32))


def trained_like(seed=0, sizes=(2, 2)):
    """A model with weights that matter: at birth it predicts that everything stays."""
    model = ObjectModel(*sizes, 16, seed)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def some_bodies(rows=5, slots=4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    place, motion = (torch.randn(rows, slots, 2, generator=rng) for _ in range(2))
    things = torch.ones(rows, slots, dtype=torch.bool)
    things[:, 0] = False
    return Bodies(place, motion, torch.zeros(rows, dtype=torch.long), things)


def permuted(bodies, order):
    position = torch.tensor(order).argsort()[bodies.hand]
    return Bodies(
        bodies.position[:, order], bodies.motion[:, order], position, bodies.things[:, order]
    )


def test_the_order_of_slots_changes_nothing():
    model, bodies, order = trained_like(), some_bodies(), [2, 0, 3, 1]
    actions = torch.randn(5, 2)
    here = model(bodies, actions)
    there = model(permuted(bodies, order), actions)
    torch.testing.assert_close(there, here[:, order])
    assert here.abs().max() > 0.1


@pytest.mark.parametrize("things", [0, 1, 3])
def test_empty_slots_change_nothing(things):
    model, bodies, actions = trained_like(), some_bodies(), torch.randn(5, 2)
    bodies = Bodies(
        bodies.position[:, : 1 + things],
        bodies.motion[:, : 1 + things],
        bodies.hand,
        bodies.things[:, : 1 + things],
    )
    padded = Bodies(
        torch.cat([bodies.position, torch.randn(5, 2, 2)], 1),
        torch.cat([bodies.motion, torch.randn(5, 2, 2)], 1),
        bodies.hand,
        torch.cat([bodies.things, torch.zeros(5, 2, dtype=torch.bool)], 1),
    )
    torch.testing.assert_close(model(padded, actions)[:, : 1 + things], model(bodies, actions))


def test_predicting_moves_places_and_leaves_motion():
    model, bodies, actions = trained_like(), some_bodies(), torch.randn(5, 2)
    after = model.predict(bodies, actions)
    torch.testing.assert_close(after.position - bodies.position, after.motion)
    torch.testing.assert_close(after.motion, (model(bodies, actions) * model.unit).detach())


def test_an_untrained_model_says_that_everything_stays():
    model = ObjectModel(2, 2, 16, 0)
    assert (model(some_bodies(), torch.randn(5, 2)) == 0).all()


def linear_world(episodes=160, steps=8, seed=0):
    """The hand goes 0.05 per action; things glide on at half their speed. In metres."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (episodes, steps, 2)).astype(np.float32)
    place = np.zeros((episodes, steps + 1, 3, 2), np.float32)
    motion = np.zeros_like(place)
    place[:, 0] = rng.uniform(-0.3, 0.3, (episodes, 3, 2))
    motion[:, 0, 1:] = rng.uniform(-0.05, 0.05, (episodes, 2, 2))
    for t in range(steps):
        motion[:, t + 1, 0] = 0.05 * actions[:, t]
        motion[:, t + 1, 1:] = 0.5 * motion[:, t, 1:]
        place[:, t + 1] = place[:, t] + motion[:, t + 1]
    shape = place.shape[:3]
    what = np.broadcast_to(np.eye(4, dtype=np.float32)[:3], (*shape, 4))
    nothing, ids = np.zeros((*shape, 0), np.float32), np.broadcast_to(np.arange(3), shape)
    objects = ObjectSet(what, place, nothing, nothing, np.ones(shape, bool), ids, motion)
    goal = ObjectGoal(what[:, 0, 0], place[:, 0, 0], nothing[:, 0, 0])
    return Episode(objects, actions, goal)


def test_a_linear_world_is_learned():
    torch.set_num_threads(1)
    world, config = linear_world(), DynamicsConfig(width=32, batch_size=128, moved=0.05)
    model = ObjectModel(2, 2, config.width, 0)
    model.know_scales(*scales(world.objects, VIEW))
    np.testing.assert_allclose(model.unit.numpy(), 0.05 / np.sqrt(3), rtol=0.1)
    optimizer, rng = torch.optim.Adam(model.parameters(), lr=1e-2), np.random.default_rng(0)
    before = prediction_errors(model, world, np.arange(0, 160, 16), VIEW, 3, config.moved)
    for step in range(200):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * (1 - step / 200)
        optimizer.zero_grad()
        loss(model, draw(world, 160, config, VIEW, model.unit.numpy(), rng)).backward()
        optimizer.step()
    after = prediction_errors(model, world, np.arange(0, 160, 16), VIEW, 3, config.moved)
    assert before["dynamics/1_steps/pushed"] == pytest.approx(before["dynamics/1_steps/stays"])
    assert after["dynamics/1_steps/pushed"] < 0.12 * after["dynamics/1_steps/stays"]
    assert after["dynamics/3_steps/pushed"] < 0.15 * after["dynamics/3_steps/stays"]


def test_held_out_episodes_are_never_drawn():
    world, config = linear_world(), DynamicsConfig(batch_size=256)
    held = world.objects.position[::16, :-1, 0].reshape(-1, 2)
    rng = np.random.default_rng(0)
    batch = draw(world, 160, config, VIEW, np.ones(2, np.float32), rng)
    drawn = batch.bodies.position[:, 0].numpy()
    assert len(drawn) == 256
    assert not (np.abs(drawn[:, None] - held).max(-1) < 1e-7).any()


def test_the_hand_is_the_part_of_the_body_that_reaches_out():
    what = np.float32([[[1, 0, 0, 0], [1, 0.1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]])
    place = np.float32([[[0, 0], [0, 1], [0, 2], [0, 3]]])
    nothing, present = np.zeros((1, 4, 0), np.float32), np.array([[True, True, True, False]])
    objects = ObjectSet(what, place, nothing, nothing, present)
    hand, things = hand_and_things(objects, REST, np.float32([0, 1]))
    assert hand.tolist() == [1]
    assert things.tolist() == [[False, False, True, False]]
    assert hand_and_things(objects, REST, np.float32([0, -1]))[0].tolist() == [0]


def test_steps_follow_ids_and_not_slots():
    place = np.float32([[[0, 0], [1, 1]]])
    what, nothing = np.zeros((1, 2, 1), np.float32), np.zeros((1, 2, 0), np.float32)
    present = np.ones((1, 2), bool)
    now = ObjectSet(what, place, nothing, nothing, present, ids=np.array([[4, 7]]))
    later = ObjectSet(what, place, nothing, nothing, present, ids=np.array([[7, 9]]))
    step, known = steps_by_id(now, later)
    assert known.tolist() == [[False, True]]
    np.testing.assert_array_equal(step[0, 1], [-1, -1])
