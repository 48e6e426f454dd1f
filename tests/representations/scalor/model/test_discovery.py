"""Discovery: one proposal per cell; what is explained, outdone or too many is turned away."""

import pytest
import torch

from smorl.representations.scalor.model.discovery import REJECTED_PRIOR, _dared
from smorl.representations.scalor.model.distributions import Normal, Sampler, bernoulli_kl
from smorl.representations.scalor.model.geometry import crop
from smorl.representations.scalor.model.settings import ScalorConfig, Schedule, schedule
from tests.representations.scalor.small import SMALL, centred, generator, make_model, noise

BATCH, CELLS = 2, SMALL.cells**2
ANNEALED = Schedule(temperature=0.5, presence_prior=0.02)


def propose(model, explained=None, free=10, sampler=None, annealed=ANNEALED):
    size = model.config.image_size
    image = noise(BATCH, 3, size, size)
    encoding = noise(BATCH, model.config.channels, model.config.cells, model.config.cells, seed=1)
    room = torch.full((BATCH,), free)
    sampler = Sampler(None) if sampler is None else sampler
    return model.discovery(image, encoding, explained, room, sampler, annealed)


def alpha(value: float) -> torch.Tensor:
    return torch.full((BATCH, 1, SMALL.image_size, SMALL.image_size), value)


def test_first_frame_considers_every_cell_later_frames_some():
    model = make_model(proposals=2)
    assert propose(model).where.shape == (BATCH, CELLS, 4)
    later = propose(model, alpha(0.0))
    assert later.where.shape == (BATCH, 2, 4)
    first = propose(model)
    # Nothing is explained, so the surest cells of both are the same.
    torch.testing.assert_close(later.presence, first.presence.topk(2, 1).values)


def test_explained_proposals_are_rejected():
    model = centred(make_model())
    assert propose(model, alpha(0.0)).accepted.all()
    found = propose(model, alpha(1.0))
    assert not found.accepted.any()
    assert (found.presence == 0).all()


def test_alpha_up_to_a_tenth_explains_nothing():
    model = centred(make_model())
    assert propose(model, alpha(0.09)).accepted.all()
    assert not propose(model, alpha(0.11)).accepted.any()


def test_only_proposals_over_explained_pixels_are_rejected():
    """The left half is explained: only what mostly shows there goes."""
    model = centred(make_model(size=0.2, size_range=0.05))
    half = alpha(0.0)
    half[..., : SMALL.image_size // 2] = 1
    found = propose(model, half)
    left = found.where[..., 2] < -0.3
    right = found.where[..., 2] > 0.3
    assert left.any()
    assert right.any()
    assert not found.accepted[left].any()
    assert found.accepted[right].all()


@pytest.mark.parametrize("free", [0, 1, 3, 10])
def test_no_more_are_accepted_than_there_is_room_and_the_surest_are(free):
    found, everything = propose(make_model(), free=free), propose(make_model())
    assert (found.accepted.sum(1) == min(free, CELLS)).all()
    for row in range(BATCH):
        surest = everything.presence[row, :, 0].topk(min(free, CELLS)).indices
        assert found.accepted[row, surest].all()
    torch.testing.assert_close(found.presence, everything.presence * found.accepted[..., None])


def judge(model, where, presence, explained=None, free=10):
    """Ask for a verdict on full masks at given boxes."""
    g = model.config.glimpse
    masks = torch.ones(1, len(where), g, 1, g)
    room = torch.tensor([free])
    shown = torch.tensor(presence)[None, :, None]
    return model.discovery._judge(masks, torch.tensor([where]), shown, explained, room)


def test_the_surer_of_two_overlapping_proposals_stays():
    where = [[0.3, 0.3, 0.0, 0.0], [0.3, 0.3, 0.05, 0.0], [0.2, 0.2, 0.7, 0.7]]
    accepted, rejected = judge(make_model(overlap=0.5), where, [0.8, 0.9, 0.7])
    assert accepted.tolist() == [[False, True, True]]
    assert rejected.tolist() == [[True, False, False]]
    accepted, _ = judge(make_model(overlap=1.0), where, [0.8, 0.9, 0.7])
    assert accepted.all()  # 1 means never


def test_a_proposal_is_not_outdone_by_one_that_is_itself_outdone():
    """A covers B, B covers C, A does not cover C: B goes and C stays."""
    where = [[0.2, 0.2, -0.2, 0.0], [0.2, 0.2, 0.0, 0.0], [0.2, 0.2, 0.2, 0.0]]
    accepted, _ = judge(make_model(overlap=0.3), where, [0.9, 0.8, 0.7])
    assert accepted.tolist() == [[True, False, True]]


def test_a_rejected_proposal_outdoes_nobody_and_takes_no_room():
    explained = torch.zeros(1, 1, SMALL.image_size, SMALL.image_size)
    explained[..., :14] = 1
    where = [[0.25, 0.25, -0.12, 0.0], [0.25, 0.25, 0.2, 0.0]]
    accepted, rejected = judge(
        make_model(overlap=0.1, explained=0.2), where, [0.9, 0.8], explained, free=1
    )
    assert rejected.tolist() == [[True, False]]
    assert accepted.tolist() == [[False, True]]


def test_each_cell_reaches_a_cell_width_around_its_centre():
    model = make_model()
    centres = model.discovery.centres
    at_rest = model.discovery.place(torch.zeros(CELLS, 4), centres)
    torch.testing.assert_close(at_rest[:, 2:], centres)
    torch.testing.assert_close(at_rest[:, :2], torch.full((CELLS, 2), SMALL.size))
    far = model.discovery.place(torch.full((CELLS, 4), 50.0), centres)
    torch.testing.assert_close(far[:, 2:], centres + 2 / SMALL.cells)


def plain_head(model, logit: float, mean: float, raw_std: float) -> None:
    """Make every cell say the same, whatever it sees."""
    with torch.no_grad():
        model.discovery.head.weight.zero_()
        bias = model.discovery.head.bias
        bias[:4], bias[4:8] = mean, raw_std
        bias[8] = torch.atanh(torch.tensor(logit / model.config.presence_logit))
        bias[9], bias[10] = mean, raw_std


def test_divergences_of_a_known_posterior():
    model = make_model(where_std=-1.0)
    plain_head(model, logit=1.5, mean=0.4, raw_std=0.3)
    found = propose(model, alpha(1.0))  # all are rejected; their KL counts all the same
    presence = torch.sigmoid(torch.tensor(1.5))
    for name, raw, count in (("where", 0.3 - 1.0, 4), ("depth", 0.3, 1)):
        std = torch.nn.functional.softplus(torch.tensor(raw)) + 1e-4
        each = 0.5 * (std**2 + 0.4**2 - 1 - 2 * std.log())
        expected = CELLS * presence * count * each
        torch.testing.assert_close(found.kl[name], expected.expand(BATCH))
    prior = torch.logit(torch.tensor(REJECTED_PRIOR))
    expected = CELLS * bernoulli_kl(torch.tensor(1.5), prior)
    torch.testing.assert_close(found.kl["presence"], expected.expand(BATCH))


def test_presence_divergence_counts_every_cell_with_its_own_prior():
    """Two cells are considered and rejected; the two others keep the annealed prior."""
    model = make_model(proposals=2)
    plain_head(model, logit=-0.5, mean=0.0, raw_std=0.0)
    found = propose(model, alpha(1.0))
    logit = torch.tensor(-0.5)
    priors = torch.tensor([REJECTED_PRIOR, REJECTED_PRIOR, 0.02, 0.02])
    expected = bernoulli_kl(logit, torch.logit(priors)).sum()
    torch.testing.assert_close(found.kl["presence"], expected.expand(BATCH))
    first = propose(model)
    torch.testing.assert_close(
        first.kl["presence"], CELLS * bernoulli_kl(logit, torch.logit(priors[3])).expand(BATCH)
    )


@pytest.mark.parametrize("step", [0, 234, 500, 10**6])
def test_a_rejected_proposal_is_never_cheaper_than_an_accepted_one(step):
    """Presence must cost more where it is rejected, at every prior that annealing passes."""
    model = make_model()
    plain_head(model, logit=2.0, mean=0.0, raw_std=0.0)
    annealed = schedule(ScalorConfig(), step)
    accepted = propose(model, alpha(0.0), annealed=annealed).kl["presence"]
    rejected = propose(model, alpha(1.0), annealed=annealed).kl["presence"]
    assert (rejected > accepted + 1).all()


def test_appearance_divergence_is_that_of_the_glimpse_encoder():
    model = make_model()
    found = propose(model)
    image = noise(BATCH, 3, SMALL.image_size, SMALL.image_size)
    look = Normal.of(model.encoder(crop(image, found.where, SMALL.glimpse)))
    torch.testing.assert_close(found.what, look.mean)
    expected = (found.presence[..., 0] * look.kl_standard()).sum(1)
    torch.testing.assert_close(found.kl["what"], expected)


def test_presence_starts_at_its_bias():
    """A negative bias lets the prior act before presence is sure of itself."""
    for bias in (-0.3, 0.5):
        model = make_model(presence_bias=bias)
        presence = propose(model).presence
        expected = torch.sigmoid(SMALL.presence_logit * torch.tanh(torch.tensor(bias)))
        assert (torch.logit(presence) - torch.logit(expected)).abs().max() < 2


def test_samples_come_from_the_generator():
    model = make_model()

    def where(seed: int) -> torch.Tensor:
        return propose(model, sampler=Sampler(generator(seed), 0.5)).where

    assert where(0).equal(where(0))
    assert not where(0).equal(where(1))


def test_how_much_must_be_explained_is_a_setting():
    quarter = alpha(0.0)
    quarter[..., : SMALL.image_size // 4] = 1  # half of the boxes on the left
    for explained, left in ((0.4, False), (0.6, True)):
        found = propose(centred(make_model(explained=explained)), quarter)
        assert (found.accepted == (found.where[..., 2] > 0) | left).all()


def dead(model):
    """A model whose cells are as sure as they can be that nothing is there."""
    with torch.no_grad():
        model.discovery.head.bias[8] = -20
    return model


@pytest.mark.parametrize("dare", [0.0, 1.0])
def test_cells_that_propose_nothing_are_tried_all_the_same(dare):
    """Only then does what they would explain reach them: the gradient is thousands as large."""
    model = dead(make_model(dare=dare))
    sampler = Sampler(generator(), temperature=0.5)
    found = propose(model, sampler=sampler)
    assert bool(found.presence.gt(0.5).any()) == bool(dare)
    bias = model.discovery.head.bias
    (slope,) = torch.autograd.grad(found.presence.sum(), bias)
    assert torch.isfinite(slope).all()


def test_a_dare_leaves_the_gradient_of_the_logit():
    logit = torch.full((4, 3), -8.0, requires_grad=True)
    tried = _dared(logit, Sampler(generator()), 1.0)
    assert (tried == 0).all()
    tried.sum().backward()
    assert (logit.grad == 1).all()


def test_tracking_dares_nothing():
    model = dead(make_model(dare=1.0))
    assert (propose(model).presence < 0.01).all()
