"""The whole model: the ELBO against hand-computed toys, masks, memory, generation, both sizes."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from smorl.config import from_json, to_json
from smorl.errors import InvalidInput
from smorl.representations.scalor.model.background import Background
from smorl.representations.scalor.model.distributions import Normal, Sampler
from smorl.representations.scalor.model.networks import ConvLstm
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.model.settings import ScalorConfig, Schedule, schedule
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from tests.representations.scalor.small import (
    SMALL,
    centred,
    generator,
    make_model,
    noise,
    videos,
)

ANNEALED = Schedule(temperature=0.7, presence_prior=0.03)
SIZE, CELLS = SMALL.image_size, SMALL.cells**2
KLS = [f"kl/{name}" for name in ("what", "where", "depth", "presence", "background", "mask")]


def test_without_objects_the_elbo_is_that_of_the_background():
    """Presence is certainly zero and the background's posterior is known: all by hand."""
    picture = noise(SIZE, SIZE, 3, seed=3).numpy()
    model = make_model(background=picture, presence_bias=-20.0, presence_logit=40.0)
    with torch.no_grad():
        model.discovery.head.weight[8] = 0
        model.background.encoder.weight.zero_()
        model.background.encoder.bias.copy_(torch.tensor([0.6, -0.2]))
    images, actions = videos(2, 1)
    terms = model.elbo(images, actions, ANNEALED, generator())
    residual = (images[:, 0] - torch.from_numpy(picture).permute(2, 0, 1)) / SMALL.sigma
    constant = 3 * SIZE**2 * math.log(SMALL.sigma * math.sqrt(2 * math.pi))
    likelihood = -0.5 * (residual**2).sum((1, 2, 3)).mean() - constant
    torch.testing.assert_close(terms["log_likelihood"], likelihood)
    presence = -CELLS * math.log(1 - ANNEALED.presence_prior)
    assert terms["kl/presence"].item() == pytest.approx(presence, rel=1e-4)
    std = math.log1p(math.exp(-0.2)) + 1e-4
    background = 0.5 * (std**2 + 0.6**2 - 1 - 2 * math.log(std))
    assert terms["kl/background"].item() == pytest.approx(background, rel=1e-4)
    for name in ("kl/what", "kl/where", "kl/depth", "objects", "foreground"):
        assert terms[name].item() == pytest.approx(0, abs=1e-6), name
    mse = ((residual * SMALL.sigma) ** 2).mean()
    torch.testing.assert_close(terms["mse"], mse)
    expected = presence + background - likelihood.item()
    assert terms["loss"].item() == pytest.approx(expected, rel=1e-5)


def test_loss_is_the_negative_elbo():
    model = make_model(paint=0.5)
    terms = model.elbo(*videos(2, 3), ANNEALED, generator())
    total = sum(terms[name] for name in KLS) - terms["log_likelihood"]
    torch.testing.assert_close(terms["loss"], total)
    assert {name for name in terms if name.startswith("kl/")} == set(KLS)
    for name, value in terms.items():
        assert value.dim() == 0, name
        assert value.isfinite(), name
    for name in KLS:
        assert terms[name] >= 0, name
    assert 0 < terms["objects"] <= SMALL.slots


def test_elbo_is_the_mean_over_frames_of_single_steps():
    model, (images, actions) = make_model(), videos(2, 3)
    terms = model.elbo(images, actions, ANNEALED, generator())
    sampler, state = Sampler(generator(), ANNEALED.temperature), model.init(2)
    frames = []
    for t in range(3):
        state, frame = model.step(
            state, images[:, t], actions[:, t], sampler, ANNEALED, first=t == 0
        )
        frames.append(frame)
    for name in ("kl/what", "kl/presence", "kl/background", "log_likelihood"):
        expected = torch.stack([frame.terms[name] for frame in frames]).mean()
        torch.testing.assert_close(terms[name], expected)


def test_the_same_noise_gives_the_same_elbo():
    model, batch = make_model(), videos(2, 2)
    one, two, other = (model.elbo(*batch, ANNEALED, generator(s))["loss"] for s in (0, 0, 1))
    assert one.equal(two)
    assert not one.equal(other)


@dataclass(frozen=True)
class SharedNoise(Sampler):
    """Noise that depends on call and slot alone, so that more slots do not shift it."""

    calls: list = None  # pyright: ignore

    def normal(self, mean, std):
        return mean + std * self.draw(mean)

    def presence(self, logit):
        return torch.sigmoid((self.draw(logit) + logit) / self.temperature)

    def draw(self, like):
        self.calls.append(None)
        full = (like.shape[0], 32, *like.shape[2:]) if like.dim() == 3 else like.shape
        values = torch.randn(full, generator=generator(len(self.calls)))
        return values[:, : like.shape[1]]


@pytest.mark.parametrize("sampled", [False, True])
def test_absent_slots_change_nothing(sampled):
    """Two objects in 3 or in 9 slots: the same ELBO, gradients and latents."""
    images, actions = videos(2, 4)
    results = []
    for slots in (3, 9):
        # Boxes over half of the picture explain it, so that no third object is accepted.
        model = make_model(slots=slots, size=0.9, size_range=0.1, where_std=-6.0, explained=0.02)
        sampler = SharedNoise(generator(), 0.7, []) if sampled else Sampler(None)
        state, total = model.init(2), 0.0
        for t in range(4):
            if t == 1:  # leave two of whatever the first frame found
                alive = state.slots.alive & (torch.arange(slots) < 2)
                state = replace(state, slots=replace(state.slots, alive=alive))
            state, frame = model.step(
                state, images[:, t], actions[:, t], sampler, ANNEALED, first=t == 0
            )
            if t:
                assert (state.slots.alive.sum(1) == 2).all()
                total = total + sum(frame.terms.values())
        total.sum().backward()
        gradient = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        results.append((total.detach(), gradient, state.slots))
    (few, few_grad, few_slots), (many, many_grad, many_slots) = results
    torch.testing.assert_close(few, many)
    assert few_grad.keys() == many_grad.keys()
    for name, value in few_grad.items():
        torch.testing.assert_close(value, many_grad[name], rtol=1e-3, atol=1e-3)
    for name in ("what", "where", "depth", "presence", "state"):
        torch.testing.assert_close(
            getattr(few_slots, name)[:, :2], getattr(many_slots, name)[:, :2]
        )
    assert (many_slots.ids[:, 2:] == -1).all()


PAPER = ScalorConfig(
    networks="paper", background="decoded", glimpse=32, what=4, slots=5, proposals=16,
    tracker=128, lstm_layers=2, size=0.22, size_range=0.12, window=0.0, presence_bias=0.5,
    coexist=1.0, forget=0.0, mask_bias=0.0,
)  # fmt: skip


@pytest.mark.parametrize("size", ["fast", "paper"])
def test_one_gradient_step_reaches_every_parameter(size):
    config = PAPER if size == "paper" else SMALL
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Scalor(config, 2)
    images, actions = videos(2, 3, size=config.image_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    before = model.elbo(images, actions, ANNEALED, generator())["loss"]
    before.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
    optimizer.step()
    after = model.elbo(images, actions, ANNEALED, generator())["loss"]
    assert after < before


def test_gradients_do_not_flow_through_what_is_carried():
    """Release: only the convolutional LSTM carries gradients from frame to frame."""
    model, (images, actions) = make_model(), videos(1, 1)
    sampler = Sampler(generator(), 0.7)
    state, _ = model.step(model.init(1), images[:, 0], actions[:, 0], sampler, ANNEALED, first=True)
    assert not any(getattr(state.slots, name).requires_grad for name in vars(state.slots))
    assert state.memory.requires_grad


def gated_lstm(layers: int = 2) -> ConvLstm:
    """A ConvLSTM that lets nothing in, keeps everything and shows half of it."""
    lstm = ConvLstm(replace(SMALL, lstm_layers=layers), actions=2)
    channels = SMALL.channels
    with torch.no_grad():
        for conv, linear in zip(lstm.inputs, lstm.actions, strict=True):
            for part in (conv.weight, linear.weight, linear.bias, conv.bias):
                part.zero_()
            conv.bias[:channels] = -30
            conv.bias[channels : 2 * channels] = 30
    return lstm


def test_the_lstm_remembers_what_is_in_its_cell():
    """The release fed hidden states as cells: then this memory would halve with every frame."""
    lstm = gated_lstm()
    state = lstm.init(1)
    state[:, :, 1] = cell = 2 * noise(1, 2, SMALL.channels, SMALL.cells, SMALL.cells) - 1
    for _ in range(20):
        hidden, state = lstm(noise(1, SMALL.channels, 2, 2), torch.zeros(1, 2), state)
    torch.testing.assert_close(state[:, :, 1], cell)
    torch.testing.assert_close(state[:, :, 0], 0.5 * torch.tanh(cell))
    torch.testing.assert_close(hidden, state[:, -1, 0])


def test_the_cell_is_not_the_hidden_state():
    model = make_model()
    state, outputs = model.lstm.init(1), []
    for t in range(3):
        out, state = model.lstm(noise(1, SMALL.channels, 2, 2, seed=t), torch.zeros(1, 2), state)
    assert not state[:, :, 0].allclose(state[:, :, 1])
    for shift in (0.0, 0.5):  # the same hidden state with another cell gives another output
        other = state.clone()
        other[:, :, 1] += shift
        outputs.append(model.lstm(out, torch.zeros(1, 2), other)[0])
    assert not outputs[0].allclose(outputs[1])


def test_actions_change_the_posterior():
    model, (images, actions) = make_model(), videos(1, 3)
    places = []
    for sign in (1, -1):
        state = model.init(1)
        for t in range(3):
            state, _ = model.step(
                state, images[:, t], sign * actions[:, t], Sampler(None), ANNEALED, first=t == 0
            )
        places.append(state.slots.where)
    assert not places[0].allclose(places[1])


def tracked_state(model, batch: int = 2):
    images, actions = videos(batch, 2, size=model.config.image_size)
    state = model.init(batch)
    for t in range(2):
        state, _ = model.step(
            state, images[:, t], actions[:, t], Sampler(None), ANNEALED, first=t == 0
        )
    return state


@pytest.mark.parametrize("background", ["static", "decoded"])
def test_imagined_rollouts(background):
    model = make_model_decoded() if background == "decoded" else make_model()
    state = tracked_state(model)
    actions = 2 * noise(2, 5, 2, seed=9) - 1
    slots, pictures = model.imagine(state, actions)
    assert pictures.shape == (2, 5, 3, SIZE, SIZE)
    assert slots.where.shape == (2, 5, SMALL.slots, 4)
    assert slots.alive.shape == (2, 5, SMALL.slots)
    assert pictures.isfinite().all()
    assert not pictures.requires_grad
    again, _ = model.imagine(state, actions)
    assert slots.where.equal(again.where)
    other, _ = model.imagine(state, -actions)
    assert not slots.where.allclose(other.where)
    sampled = [model.imagine(state, actions, generator(s))[1] for s in (1, 1, 2)]
    assert sampled[0].equal(sampled[1])
    assert not sampled[0].equal(sampled[2])
    # What is imagined first does not depend on later actions.
    shorter, _ = model.imagine(state, actions[:, :2])
    torch.testing.assert_close(shorter.where, slots.where[:, :2])


def make_model_decoded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Scalor(replace(SMALL, background="decoded"), 2)


def test_imagined_objects_keep_their_identities():
    model = make_model()
    state = tracked_state(model)
    slots, _ = model.imagine(state, torch.zeros(2, 3, 2))
    assert (slots.ids == state.slots.ids[:, None]).all()
    assert (slots.presence[~slots.alive] == 0).all()


def test_static_background_starts_at_the_given_picture():
    picture = noise(SIZE, SIZE, 3).numpy()
    background = Background(SMALL, picture)
    expected = torch.from_numpy(picture).permute(2, 0, 1)
    for latent in (torch.zeros(2, 1), torch.ones(2, 1)):  # the tint starts at nothing
        torch.testing.assert_close(background.decode(latent), expected.expand(2, -1, -1, -1))
    with torch.no_grad():
        background.tint.weight.fill_(0.1)
    torch.testing.assert_close(background.decode(torch.ones(1, 1)), expected[None] + 0.1)
    assert "base" in background.state_dict()


def test_static_background_is_what_the_encoders_compare_with():
    picture = np.full((SIZE, SIZE, 3), 0.25, np.float32)
    model = make_model(background=picture)
    image = noise(1, 3, SIZE, SIZE)
    torch.testing.assert_close(model.pictures(image), torch.cat([image, image - 0.25], 1))
    assert make_model_decoded().pictures(image).equal(image)


def test_decoded_background_is_a_picture_of_its_latent():
    background = Background(replace(SMALL, background="decoded"), None)
    pictures = background.decode(torch.tensor([[0.0], [2.0]]))
    assert pictures.shape == (2, 3, SIZE, SIZE)
    assert ((pictures > 0) & (pictures < 1)).all()
    assert not pictures[0].allclose(pictures[1])
    covered = torch.ones(1, 1, SIZE, SIZE)
    image = noise(1, 3, SIZE, SIZE)
    encoding = torch.zeros(1, SMALL.channels, 2, 2)
    seen, latent = background.infer(image, encoding, covered, Sampler(None))
    assert latent.equal(seen.mean)
    bare, _ = background.infer(image, encoding, 0 * covered, Sampler(None))
    assert not seen.mean.allclose(bare.mean)


def test_background_prior_starts_from_the_last_latent():
    background = Background(SMALL, None)
    with torch.no_grad():
        background.prior.out.weight.zero_()
        background.prior.out.bias.zero_()
    prior, _ = background.prior(torch.tensor([[1.7]]), torch.zeros(1, background.prior.hidden))
    assert isinstance(prior, Normal)
    torch.testing.assert_close(prior.mean, torch.tensor([[1.7]]))


def test_schedule_falls_geometrically_and_stays():
    config = replace(
        SMALL,
        prior_start=0.1,
        prior_end=1e-3,
        prior_steps=100,
        temperature_start=1.0,
        temperature_end=0.25,
        temperature_steps=200,
    )
    assert schedule(config, 0) == Schedule(1.0, 0.1)
    half = schedule(config, 50)
    assert half.presence_prior == pytest.approx(0.01)
    assert schedule(config, 100).temperature == pytest.approx(0.5)
    for step in (200, 10**9):
        end = schedule(config, step)
        assert end.presence_prior == pytest.approx(1e-3)
        assert end.temperature == pytest.approx(0.25)
    assert make_model().schedule(3) == schedule(SMALL, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image_size", 50),
        ("image_size", 24),
        ("channels", 24),
        ("glimpse", 2),
        ("ratio_range", 1.0),
        ("forget", 1.0),
        ("cells", 0),
        ("slots", 0),
        ("what", 0),
        ("sigma", 0.0),
        ("proposals", 5),
        ("size_range", 0.5),
        ("prior_end", 0.5),
        ("temperature_end", 2.0),
        ("networks", "large"),
        ("background", "none"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=rf"^{name} = "):
        replace(SMALL, **{name: value})
    tree = to_json(ScalorTrainingConfig())
    tree["scalor"] |= to_json(SMALL) | {name: value}
    with pytest.raises(InvalidInput, match=rf"scalor\.{name} "):
        from_json(ScalorTrainingConfig, tree)


def test_painting_costs_by_the_pixel():
    """0.5 nats for each covered pixel, where alpha is not cut."""
    images, actions = videos(2, 1)
    model = centred(make_model(paint=0.5, size=0.2, size_range=0.05, where_std=-9.0))
    terms = model.elbo(images, actions, ANNEALED, generator())
    assert terms["foreground"] > 0.05
    torch.testing.assert_close(terms["kl/mask"], 0.5 * SIZE**2 * terms["foreground"])


def test_forgetting_makes_training_find_objects_again():
    images, actions = videos(4, 6)
    kept = make_model(forget=0.0).elbo(images, actions, ANNEALED, generator())
    lost = make_model(forget=0.9).elbo(images, actions, ANNEALED, generator())
    assert lost["discovered"] > kept["discovered"] + 0.5


@pytest.mark.parametrize("layers", [1, 2])
def test_sequences_run_through_the_lstm_as_frame_by_frame(layers):
    lstm = ConvLstm(replace(SMALL, lstm_layers=layers), 2)
    lstm.peephole.data = noise(*lstm.peephole.shape, seed=3) - 0.5
    encodings, actions = noise(2, 4, SMALL.channels, 2, 2), noise(2, 4, 2, seed=1)
    state, expected = lstm.init(2), []
    for t in range(4):
        out, state = lstm(encodings[:, t], actions[:, t], state)
        expected.append(out)
    torch.testing.assert_close(lstm.run(encodings, actions), torch.stack(expected, 1))
