"""Parameters, batches and encoders follow the device, and compute there what the processor does.

The device is simulated (tests/simulated_device.py): it has the processor's numbers, but nothing on
it may meet a tensor of the processor. So whatever is forgotten there raises here.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.optim import adam

import smorl
from smorl import devices
from smorl.config import to_json
from smorl.devices import CPU, device_of, to_array, to_tensor
from smorl.dynamics.fitting import DynamicsConfig, draw, loss, prediction_errors
from smorl.dynamics.object_model import ObjectModel
from smorl.envs.factory import make_visual_envs
from smorl.goals.skew import SkewConfig, log_importance
from smorl.learners.acting import LearnedAgent
from smorl.learners.base import LearnerConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.library import make_config
from smorl.methods import EncoderInputs
from smorl.planning.gentle import GentleContact
from smorl.planning.model_predictive import PlanConfig, PlanController
from smorl.presets import get_preset
from smorl.presets.perception import debug
from smorl.representations.ground_truth import GroundTruthObjects
from smorl.representations.perceptions import load_perception
from smorl.representations.scalor.tracking import memory
from smorl.representations.scalor.tracking.search import own_masks
from smorl.representations.scalor.training.finder import Sightings, learn
from smorl.representations.scalor.training.settings import FinderConfig
from smorl.representations.scalor.training.state import PerceptionState
from smorl.representations.scalor.training.step import train_step
from smorl.representations.scalor.weights import load_weights, rounded, save_weights
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.fit import make_optimizer, train_vae
from smorl.representations.vae.model import BetaVae
from smorl.representations.vae.settings import VaeTraining
from smorl.representations.video import Sequences
from smorl.runs.checkpoint import load_latest, save_checkpoint
from smorl.training.ahead import RoundPlayer, open_ahead, rows_of
from smorl.training.foresight import Foresight
from smorl.training.loop import Trainer
from smorl.training.train_state import TrainState
from smorl.types import ObjectGoal, Spaces
from tests.dynamics.test_object_model import VIEW as WORLD_VIEW
from tests.dynamics.test_object_model import linear_world
from tests.learners.test_compiled import LAYOUT, SIZE, everything, make_batch
from tests.learners.test_gradients import NETS, OPTIONS
from tests.planning.test_model_predictive import REST, VIEW, situation
from tests.representations.scalor.test_finder import with_known
from tests.representations.scalor.tracking import test_search
from tests.representations.vae.small import SMALL, dots
from tests.simulated_device import DEVICE, Far, MixedDevices, SimulatedDevice
from tests.test_contracts import LEARNERS


@pytest.fixture(autouse=True)
def simulated(monkeypatch):
    """Every device but the processor is the simulated one."""
    monkeypatch.setattr(devices, "_available", lambda name: True)
    monkeypatch.setattr(devices, "place", lambda name: CPU if name == "cpu" else DEVICE)
    # Torch has a list of devices for its fused Adam: cuda and mps are on it, this one is not.
    monkeypatch.setattr(adam, "_device_dtype_check_for_fused", lambda *args, **kwargs: None)
    with SimulatedDevice():
        yield


def both(make):
    """Return what `make` makes of the processor and of the device."""
    return make(CPU), make(DEVICE)


def assert_equal(near, far):
    """Equal to the last bit; the second one lives on the device."""
    assert near.keys() == far.keys()
    for name, tensor in far.items():
        assert isinstance(tensor, Far), f"{name} stayed on the processor"
        assert torch.equal(tensor.near, near[name]), name


def test_the_device_is_apart():
    far = torch.arange(4.0).to(DEVICE)
    assert far.device == DEVICE
    assert to_array(far * 2).tolist() == [0, 2, 4, 6]
    for mix in (lambda: far + torch.ones(4), lambda: far[torch.tensor([0])], lambda: far.numpy()):
        with pytest.raises((MixedDevices, RuntimeError)):
            mix()


@pytest.mark.parametrize("option", ["both", "deep sets", "flat", "norms", "from pixels", "motion"])
def test_a_learner_learns_and_acts_there(option):
    networks, changes = OPTIONS[option]
    where = {"centre": (0.1, 0.5), "spread": (0.5, 0.8)}

    def learn(device):
        config = SacConfig(batch_size=SIZE, **changes)
        sac = config.build(networks, LAYOUT, 2, seed=5, device=device, **where)
        rng = np.random.default_rng(0)
        rest = rng.normal(size=(4, LAYOUT.what)), rng.random(4)
        sac.inputs.know_rest(*(a.astype(np.float32) for a in rest))
        sac.inputs.know_reach(np.float32([0.3, -0.1]))
        reports = []
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            noise = torch.randn(2, SIZE, 2, generator=generator)
            batch = make_batch(generator, LAYOUT, 2, SIZE).map(lambda t: t.to(device))
            update = sac.update if device == DEVICE else sac.update_in_torch
            reports.append(update(batch, noise.to(device)))
        seen = batch.objects, batch.present, batch.goal
        acts = sac.act(*seen), sac.act(*seen, noise[0].to(device)), sac.act_best(*seen)
        reports.append(dict(zip("abcd", (*acts, sac.value(*seen)), strict=True)))
        return sac, reports

    (near, ours), (far, theirs) = both(learn)
    assert far.engine is None, "kernels are the processor's"
    tensors, more = everything(near), everything(far)
    assert_equal(tensors, more)
    for one, two in zip(ours, theirs, strict=True):
        assert_equal(one, two)


@pytest.mark.parametrize("kind", LEARNERS, ids=["sac", "td3"])
def test_agents_take_and_give_arrays(kind):
    encoder = GroundTruthObjects(3)
    settings = LearnerConfig.of_kind(kind)(kind=kind)
    objects = encoder.encode_goal(np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32))
    goal = ObjectGoal(objects.what[:, 1], objects.position[:, 1], objects.scale[:, 1])

    def play(device):
        where = {"centre": (0.0, 0.0), "spread": (1.0, 1.0), "device": device}
        learner = settings.build(NETS, encoder.layout, 2, seed=1, **where)
        agent = LearnedAgent(learner)
        noise = np.ones((4, 2), np.float32)
        found = [agent.act(objects, goal), agent.act(objects, goal, noise)]
        found += [agent.act_best(objects, goal), agent.value(objects, goal)]
        return [*found, agent.attention(objects, goal)["conditional"]]

    for one, two in zip(*both(play), strict=True):
        assert isinstance(two, np.ndarray)
        np.testing.assert_array_equal(one, two)


def test_the_model_of_objects_is_fitted_and_judged_there():
    world, config = linear_world(), DynamicsConfig(width=16, batch_size=32, moved=0.05)

    def fit(device):
        model = ObjectModel(2, 2, config.width, 0).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        rng, view = np.random.default_rng(0), WORLD_VIEW
        for _ in range(3):
            optimizer.zero_grad()
            batch = draw(world, 160, config, view, to_array(model.unit), rng)
            loss(model, batch.to(device)).backward()
            optimizer.step()
        return model, prediction_errors(model, world, np.arange(0, 160, 16), view, 3, 0.05)

    (near, ours), (far, theirs) = both(fit)
    assert_equal(dict(near.state_dict()), dict(far.state_dict()))
    assert ours == theirs


def test_plans_are_made_there():
    encoder = GroundTruthObjects(3)
    now = situation([[0, 0], [0.05, 0], [0.5, 0.5]], [[0, 0], [0.4, 0], [0.5, 0.5]])
    zero, one = np.zeros(2, np.float32), np.eye(2, dtype=np.float32)
    gentle = GentleContact(REST, zero, one, np.float32(0.1), np.float32(0.3), zero)

    def plan(device):
        learner = Sac(SacConfig(), NETS, encoder.layout, 2, seed=1, device=device)
        model = ObjectModel(2, 2, 16, 0).to(device)
        view = replace(VIEW, execute=gentle)
        config = PlanConfig(samples=8, temperature=0.5)
        parts = {"actions": 2, "discount": 0.9, "device": device}
        planner = PlanController(learner, model, view, encoder.layout, config, **parts)
        rng = np.random.default_rng(0)
        return [planner.act(now, rng), planner.tracks, planner.gains(now, rng)]

    for one, two in zip(*both(plan), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_vae_is_trained_weighed_and_asked_there():
    images, training = dots(20), VaeTraining(batch=8)

    def train(device):
        model = BetaVae(SMALL, seed=1).to(device)
        optimizer, generator = make_optimizer(model, training), torch.Generator().manual_seed(0)
        terms = train_vae(model, optimizer, images, training, 3, generator)
        density = log_importance(model, images, SkewConfig(samples=2), generator)
        encoder = VaeEncoder(model)
        latents = encoder.encode(images)
        return model, terms, [density, latents, encoder.draw(latents)]

    (near, ours, some), (far, theirs, others) = both(train)
    assert_equal(dict(near.state_dict()), dict(far.state_dict()))
    assert ours == theirs
    for one, two in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, two)


def test_scalor_climbs_its_bound_there():
    config = debug()
    config = replace(config, scalor=replace(config.scalor, forget=0.2, dare=0.1, coexist=0.7))
    rng = np.random.default_rng(0)
    size, frames = config.scalor.image_size, config.data.steps + 1
    images = rng.integers(0, 255, (3, frames, size, size, 3), np.uint8)
    data = Sequences("x", 0, images, rng.random((3, frames, 2), np.float32))
    background = np.full((size, size, 3), 0.5, np.float32)

    def climb(name):
        state = PerceptionState.create(replace(config, device=name), 0, background, 2)
        return state, [train_step(config, state, data) for _ in range(2)]

    (near, ours), (far, theirs) = climb("cpu"), climb("cuda")
    assert all(device_of(part) == DEVICE for part in [far.model, far.model.propagation])
    assert all(isinstance(buffer, Far) for buffer in far.model.buffers())
    assert ours == theirs
    assert_equal(dict(near.model.state_dict()), dict(far.model.state_dict()))


def footage(env, steps, rows=2):
    """Pictures (T, B, S, S, 3) of random actions, and these (T, B, 2)."""
    envs, rng = make_visual_envs(env, rows, 1), np.random.default_rng(1)
    images, actions = [envs.reset(seed=[3, 4])[0]["observation"]], [np.zeros((rows, 2))]
    for _ in range(steps):
        actions.append(np.clip(rng.normal(size=(rows, 2)), -1, 1))
        images.append(envs.step(actions[-1].astype(np.float32))[0]["observation"])
    envs.close()
    return np.stack(images), np.stack(actions).astype(np.float32)


def test_a_tracker_sees_the_same_there(monkeypatch):
    weights = load_perception("shipped:scalor-2")
    images, actions = footage("smorl/VisualRearrange2-v0", 5)
    images[3, :, 20:44, 10:54] = images[0, :, 20:44, :1]  # what is hidden must be remembered
    searched = []
    real = memory.search
    monkeypatch.setattr(memory, "search", lambda *args: searched.append(1) or real(*args))

    def follow(device):
        tracker = weights.tracker(device=device)
        assert device_of(tracker.model) == device
        carry, found = tracker.init(2), []
        for frame, (image, action) in enumerate(zip(images, actions, strict=True)):
            if frame == 4:  # one row begins anew
                carry = tracker.reset_rows(carry, np.array([True, False]))
            carry, objects = tracker.step(carry, image, action)
            found += [array for _, array in objects.arrays()]
        drawing = tracker.draw(carry)
        found += [*vars(drawing).values(), tracker.raw_appearance(carry), tracker.seen_now(carry)]
        return [*found, tracker.imagine(carry, np.zeros((2, 2, 2), np.float32))]

    near, far = both(follow)
    assert near[4].any(), "nothing was seen"
    assert len(searched) >= 2
    for one, two in zip(near, far, strict=True):
        assert isinstance(two, np.ndarray)
        np.testing.assert_array_equal(one, two)
    assert device_of(weights.model) == CPU, "a tracker elsewhere has a copy"


def test_hand_and_things_are_learned_and_found_there():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (20, 16, 16, 3), np.uint8)
    hands, things = (rng.uniform(-1, 1, size).astype(np.float32) for size in ((20, 2), (20, 3, 2)))
    things[0, 1] = np.nan
    seen, config = Sightings(images, hands, things), FinderConfig(iterations=3, batch=4)
    near, far = both(lambda device: learn(seen, config, 0, device))
    assert_equal(dict(near.state_dict()), dict(far.state_dict()))
    pictures = to_tensor(images[:2], CPU).permute(0, 3, 1, 2) / 255
    assert_equal(vars(near(pictures)), vars(far(pictures.to(DEVICE))))


def test_shared_colours_are_carved_there():
    boxes, model = torch.tensor([test_search.ARM, test_search.PUCK]), test_search.TwoThings

    def carve(device):
        things = model(torch.ones(32, 32))
        rows, what = torch.zeros(2, dtype=torch.int64), torch.tensor([[0.0], [1.0]])
        masks, image = things(what)[1], test_search.scene("puck")

        class Drawer:
            """Its decoder draws here, whatever it is asked about."""

            @staticmethod
            def decoder(what):
                return tuple(part.to(device) for part in things(what.cpu()))

        parts = (part.to(device) for part in (rows, what, boxes, masks, image))
        found = own_masks(Drawer, *parts)
        assert not torch.equal(found.cpu(), masks), "nothing was carved"
        return {"masks": found}

    assert_equal(*both(carve))


@pytest.mark.parametrize("preset", ["debug", "debug-rig"])
def test_everything_that_learns_is_there_and_saved_for_anywhere(preset, tmp_path):
    config = replace(get_preset(preset).build(), device="cuda")
    shown = (6,) if preset == "debug" else (config.latent.model.image_size,) * 2 + (3,)
    state = TrainState.create(config, EncoderInputs(Spaces(shown, 2)))
    tensors, arrays, saved = state.save()
    for name, tensor in tensors.items():
        assert isinstance(tensor, Far) or "generator" in name, name
    parts = {name.split("/")[0] for name in tensors}
    assert parts >= {"policy", "critic", "target", "dynamics" if preset == "debug" else "vae"}
    save_checkpoint(tmp_path, 1, tensors, arrays, saved)
    here = TrainState.create(replace(config, device="cpu"), EncoderInputs(Spaces(shown, 2)))
    with torch.no_grad():
        for tensor in here.learner.tensors().values():
            tensor.zero_()
    here.load(load_latest(tmp_path))
    assert_equal(here.learner.tensors(), state.learner.tensors())


def test_others_play_on_the_processor():
    config = make_config("debug", 0, {"device": "cuda", "collect.collectors": "1"})
    state = TrainState.create(config, EncoderInputs(Spaces((6,), 2)))

    class Sent:
        def begin(self, orders):
            self.orders = orders

        def finish(self):
            player = RoundPlayer(to_json(config), rows_of(config), None)
            assert player.state.learner.inputs.device == CPU
            return [player.play(order) for order in self.orders]

    sent = Sent()
    ahead = open_ahead(config, sent)
    ahead.next_round(state)
    assert not any(isinstance(tensor, Far) for tensor in sent.orders[0].tensors.values())


def test_a_perception_trained_there_is_a_file_for_anywhere(tmp_path):
    weights = with_known()
    weights.model.to(DEVICE)
    weights.known.finder.to(DEVICE)
    far = save_weights(tmp_path / "far.safetensors", weights)
    loaded = load_weights(far)
    assert device_of(loaded.model) == device_of(loaded.known.finder) == CPU
    images = np.random.default_rng(1).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    here, there = (loaded.tracker(device=d).encode_goal(images) for d in (CPU, DEVICE))
    for (name, one), (_, two) in zip(here.arrays(), there.arrays(), strict=True):
        np.testing.assert_array_equal(one, two, err_msg=name)
    assert device_of(loaded.known.finder) == CPU
    exact = rounded(weights.model).state_dict()
    assert_equal(dict(loaded.model.state_dict()), dict(exact))


@pytest.fixture
def fitted_by_torch(monkeypatch):
    """The processor fits the model of objects as a device does: kernels round in another order."""
    own = Foresight._gradients_in_torch
    monkeypatch.setattr(Foresight, "_gradients", lambda self, batch, replay: own(self, batch))


def run(out, preset, device, **changes):
    """Train and return what it logged; torch makes all updates."""
    result = smorl.train(
        preset, seed=3, out=out, progress=False, device=device, learner__engine="torch", **changes
    )
    assert result is not None
    rows = (out / "metrics.jsonl").read_text(), (out / "evaluations.csv").read_text()
    return {k: v for k, v in result.items() if k != "seconds"}, rows


def assert_same_runs(one, two):
    near, far = (load_latest(path / "checkpoints") for path in (one, two))
    assert near is not None
    assert far is not None
    assert near.tensors.keys() == far.tensors.keys()
    for name, tensor in far.tensors.items():
        assert torch.equal(tensor, near.tensors[name]), name


@pytest.mark.slow
@pytest.mark.usefixtures("fitted_by_torch")
def test_a_run_is_saved_there_and_acts_here(tmp_path):
    """Its files know nothing of the device; it goes on there and is evaluated anywhere."""
    short = {"collect__total_steps": 80, "evaluation__episodes": 1, "dynamics__batch_size": 16}
    one = run(tmp_path / "cpu", "debug", "cpu", **short)
    two = run(tmp_path / "far", "debug", "cuda", **short)
    assert one == two
    assert json.loads((tmp_path / "far" / "config.json").read_text())["device"] == "cuda"
    assert_same_runs(tmp_path / "cpu", tmp_path / "far")
    here = smorl.load(tmp_path / "far")
    assert here.config.device == "cpu"
    assert here.agent.learner.inputs.device == CPU
    there = smorl.load(tmp_path / "far", device="cuda")
    assert all(isinstance(tensor, Far) for tensor in there.state.learner.tensors().values())
    assert all(isinstance(tensor, Far) for tensor in there.state.foresight.tensors().values())
    assert here.evaluate(1).summary() == there.evaluate(1).summary()


@pytest.mark.slow
@pytest.mark.usefixtures("fitted_by_torch")
@pytest.mark.parametrize("preset", ["debug", "debug-rig", "debug-skewfit", "debug-visual"])
def test_whole_runs_are_the_same_there(preset, tmp_path):
    one, two = (run(tmp_path / name, preset, name) for name in ("cpu", "cuda"))
    assert one == two
    assert_same_runs(tmp_path / "cpu", tmp_path / "cuda")
    if preset == "debug-visual":
        assert_same_runs(tmp_path / "cpu" / "perception", tmp_path / "cuda" / "perception")


@pytest.mark.slow
def test_a_run_goes_on_there(tmp_path, monkeypatch):
    """A run that was stopped on the device and resumed is the one that was not."""
    run(tmp_path / "whole", "debug", "cuda")
    stops = iter([False] * 2 + [True] * 2)
    real = Trainer.round

    def stopping(self):
        self.stop_requested = next(stops, False)
        real(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "round", stopping)
        settings = {"seed": 3, "progress": False, "device": "cuda", "learner__engine": "torch"}
        assert smorl.train("debug", out=tmp_path / "cut", **settings) is None
    assert run(tmp_path / "cut", "debug", "cuda") == run(tmp_path / "whole", "debug", "cuda")
    assert_same_runs(tmp_path / "whole", tmp_path / "cut")
