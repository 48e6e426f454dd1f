"""Propagation: bounded moves, death by absence, hidden objects, and the learned prior."""

from dataclasses import replace

import pytest
import torch

from smorl.representations.scalor.model.distributions import Normal, Sampler, bernoulli_kl
from smorl.representations.scalor.model.slots import Slots
from tests.representations.scalor.small import SMALL, generator, make_model, noise

COUNT = SMALL.slots
KLS = ("what", "where", "depth", "presence")


def some_slots(alive=(True, True, False), seed: int = 5) -> Slots:
    """One row of slots with something in them."""
    empty = Slots.empty(SMALL, 1)
    places = torch.tensor([[-0.5, -0.4], [0.3, 0.6], [0.0, 0.0]])
    where = torch.cat([torch.full((COUNT, 2), 0.25), places], -1)[None]
    shown = torch.tensor(alive)[None]
    return replace(
        empty,
        what=noise(1, COUNT, SMALL.what, seed=seed),
        where=where,
        presence=shown[..., None].float(),
        alive=shown,
        ids=torch.where(shown, torch.arange(COUNT), -1),
    )


def follow(model, slots, action=(0.0, 0.0), sampler=None, seed: int = 0):
    size = model.config.image_size
    image = noise(1, 3, size, size, seed=seed)
    encoding = noise(1, model.config.channels, model.config.cells, model.config.cells, seed=1)
    moved = torch.tensor([action])
    sampler = Sampler(None) if sampler is None else sampler
    return model.propagation(slots, image, model.pictures(image), encoding, moved, sampler)


def constant(layers: torch.nn.Sequential, value: torch.Tensor | float) -> None:
    """Make a small network say `value` whatever it sees."""
    with torch.no_grad():
        layers[-1].weight.zero_()
        layers[-1].bias.copy_(torch.as_tensor(value).expand_as(layers[-1].bias))


def test_moves_are_bounded_and_stay_near_the_picture():
    model = make_model(step_range=0.2)
    where = torch.tensor([0.25, 0.25, 0.9, -0.3])
    still = model.propagation.move(where, torch.zeros(4))
    torch.testing.assert_close(still, torch.tensor([SMALL.size, SMALL.size, 0.9, -0.3]))
    far = model.propagation.move(where, torch.tensor([0.0, 0.0, 50.0, -50.0]))
    torch.testing.assert_close(far[2:], torch.tensor([1.05, -0.5]))


def test_empty_slots_have_no_divergence_and_no_presence():
    slots, _, _, kl = follow(make_model(), some_slots((False, False, False)))
    assert not slots.alive.any()
    assert (slots.presence == 0).all()
    for name in KLS:
        assert kl[name].item() == 0


def test_what_is_in_empty_slots_does_not_matter():
    model, one = make_model(), some_slots()
    other = one.map(lambda tensor: tensor.clone())
    for name in ("what", "where", "depth", "state", "prior", "bias"):
        getattr(other, name)[:, 2] += 0.1
    kept, _, _, kl = follow(model, one)
    changed, _, _, kl_changed = follow(model, other)
    for name in KLS:
        torch.testing.assert_close(kl[name], kl_changed[name])
    torch.testing.assert_close(kept.where[:, :2], changed.where[:, :2])


def test_an_object_dies_when_its_absence_has_added_up():
    """Presence 0.8 adds 0.2 per frame: 0.2, 0.4, and with 0.6 > 0.55 it is gone."""
    model = make_model(dies=0.55)
    wanted = torch.logit(torch.tensor(0.8)) / SMALL.presence_logit
    constant(model.propagation.presence, torch.atanh(wanted) - 2.0)
    slots, lived = some_slots((True, False, False)), []
    for _ in range(3):
        slots, _, _, kl = follow(model, slots)
        lived.append(slots.alive[0, 0].item())
    assert lived == [True, True, False]
    assert slots.presence[0, 0].item() == 0
    # In its last frame the presence still costs, since it existed before; nothing else does.
    assert kl["presence"].item() > 0
    assert kl["what"].item() == 0
    _, _, _, kl = follow(model, slots)
    assert kl["presence"].item() == 0


def test_divergences_of_a_known_posterior():
    """Networks that say constants: presence-weighted KLs of two of three slots, by hand."""
    model = make_model()
    part = model.propagation
    constant(part.presence, 0.0)
    constant(part.bias, torch.cat([torch.full((4,), 0.2), torch.full((4,), 0.5)]))
    constant(part.depth, torch.tensor([0.3, 0.1]))
    with torch.no_grad():
        part.prior.heads.weight.zero_()
        part.prior.heads.bias.zero_()
    slots = some_slots()
    _, _, _, kl = follow(model, slots)
    softplus = torch.nn.functional.softplus
    std = softplus(torch.tensor([0.5 - 2, 0.1, 0.0])) + 1e-4
    logit = SMALL.presence_logit * torch.tanh(torch.tensor(2.0))
    presence = torch.sigmoid(logit)
    where = Normal(torch.full((4,), 0.2), std[0].expand(4))
    expected = 2 * presence * where.kl(Normal(torch.zeros(4), std[2].expand(4)))
    torch.testing.assert_close(kl["where"], expected[None])
    depth = Normal(torch.tensor([0.3]), std[1:2])
    expected = 2 * presence * depth.kl(Normal(torch.zeros(1), std[2:]))
    torch.testing.assert_close(kl["depth"], expected[None])
    torch.testing.assert_close(kl["presence"], 2 * bernoulli_kl(logit, torch.tensor(5.0))[None])


def test_the_prior_expects_appearance_and_depth_to_persist():
    model = make_model()
    with torch.no_grad():
        model.propagation.prior.heads.weight.zero_()
        model.propagation.prior.heads.bias.zero_()
    slots = replace(some_slots(), depth=noise(1, COUNT, 1, seed=7))
    predicted = model.propagation.prior(slots, torch.zeros(1, 2))
    torch.testing.assert_close(predicted.what.mean, slots.what)
    torch.testing.assert_close(predicted.depth.mean, slots.depth)


def test_actions_change_posterior_and_prior():
    model, slots = make_model(), some_slots()
    still, _, _, _ = follow(model, slots)
    moved, _, _, _ = follow(model, slots, action=(1.0, -1.0))
    for name in ("where", "what", "state", "prior"):
        assert not getattr(still, name)[0, 0].allclose(getattr(moved, name)[0, 0]), name


def test_recurrent_state_matters():
    model, slots = make_model(), some_slots()
    other = replace(slots, state=slots.state + 0.5)
    assert not follow(model, slots)[0].where.allclose(follow(model, other)[0].where)


@pytest.mark.parametrize("window", [0.5, 0.0])
def test_what_an_object_sees_is_around_its_last_place(window):
    """Changing the picture far away changes nothing; near the object it does."""
    model, slots = make_model(window=window), some_slots((True, False, False))
    size = SMALL.image_size
    image, encoding = noise(1, 3, size, size), noise(1, SMALL.channels, 2, 2, seed=1)

    def place(picture) -> torch.Tensor:
        moved = model.propagation(
            slots, picture, model.pictures(picture), encoding, torch.zeros(1, 2), Sampler(None)
        )
        return moved[0].where[0, 0]

    far, near = image.clone(), image.clone()
    far[..., 24:, 24:] = 0
    near[..., 4:14, 4:14] = 0
    torch.testing.assert_close(place(far), place(image))
    assert place(near).allclose(place(image)) != bool(window)


def hidden(model, where, depth, alive=(True, True, True)):
    masks = torch.ones(1, COUNT, SMALL.glimpse, 1, SMALL.glimpse)
    depths = torch.tensor(depth)[None, :, None]
    return model.propagation._hidden(masks, torch.tensor([where]), depths, torch.tensor([alive]))


BEHIND = [[0.4, 0.4, 0.0, 0.0], [0.2, 0.2, 0.05, 0.0], [0.2, 0.2, 0.7, 0.7]]


def test_an_object_wholly_behind_a_nearer_one_is_hidden():
    model = make_model(coexist=0.7)
    assert hidden(model, BEHIND, [0.0, 1.0, 0.0]).tolist() == [[False, True, False]]
    # In front of the larger one it is seen, and covers too little of it to hide it.
    assert not hidden(model, BEHIND, [0.0, -1.0, 0.0]).any()
    assert not hidden(make_model(coexist=1.0), BEHIND, [0.0, 1.0, 0.0]).any()


def test_dead_objects_hide_nothing():
    model = make_model(coexist=0.7)
    assert not hidden(model, BEHIND, [0.0, 1.0, 0.0], alive=(False, True, True)).any()


def test_hidden_objects_go_at_once_and_are_expected_absent():
    model = make_model(coexist=0.7)
    part = model.propagation
    constant(part.bias, torch.zeros(8))
    constant(part.presence, 0.0)
    with torch.no_grad():  # masks are solid, and the object with the larger what is farther
        model.decoder.net[-1][-1].weight.zero_()
        model.decoder.net[-1][-1].bias.fill_(5.0)
    slots = some_slots()
    places = slots.where.clone()
    places[..., 2:] = 0.0
    together = replace(slots, where=places)
    kept, _, _, kl = follow(model, together)
    assert kept.alive.sum() == 1
    gone = int((~kept.alive[0, :2]).nonzero())
    assert kept.depth[0, gone] > kept.depth[0, 1 - gone]
    _, _, _, apart = follow(model, slots)
    assert kl["presence"].item() > apart["presence"].item() + 10


def test_imagined_objects_obey_actions_and_noise():
    model, slots = make_model(), some_slots()

    def imagine(action, seed=None):
        sampler = Sampler(None if seed is None else generator(seed))
        return model.propagation.imagine(slots, torch.tensor([action]), sampler)

    still, moved = imagine((0.0, 0.0)), imagine((1.0, 1.0))
    assert not still.where[0, 0].allclose(moved.where[0, 0])
    assert still.where.equal(imagine((0.0, 0.0)).where)
    assert imagine((0.0, 0.0), 1).where.equal(imagine((0.0, 0.0), 1).where)
    assert not imagine((0.0, 0.0), 1).where.equal(imagine((0.0, 0.0), 2).where)
    assert still.alive.tolist() == [[True, True, False]]
