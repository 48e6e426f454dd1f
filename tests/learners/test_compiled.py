"""The compiled update against the one in torch: the same numbers, whatever the options."""

import ast
import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import smorl.learners.compiled as compiled
from smorl import machine_code
from smorl.devices import CPU
from smorl.learners.networks import NetworkConfig
from smorl.learners.sac import Sac, SacConfig
from smorl.presets import PRESETS, get_preset
from smorl.runs.serialise import load_optimizer, optimizer_tensors
from smorl.types import Batch, ObjectLayout
from tests.learners.test_gradients import NETS, torso
from tests.learners.test_gradients import OPTIONS as COMMON

LAYOUT = ObjectLayout(slots=4, what=3, position=2, scale=2, depth=1, motion=2)
SIZE, COUNT = 24, 20
OURS = {"normalise_positions": True, "relative": True, "matched": True}
OPTIONS = COMMON | {
    "free heads": (torso(heads=0, queries=3, free_heads=3), {"policy_every": 3}),
    "both kinds": (torso(heads=3, queries=2, free_heads=2), {"pessimism": 0.0}),
    "flat with extras": (replace(torso(kind="flat"), **OURS, body=True), {"pessimism": 0.3}),
    "body alone": (replace(NETS, body=True), {}),
    "relative alone": (replace(NETS, relative=True, motion=True), {"policy_every": 2}),
    "matched alone": (replace(NETS, matched=True), {"initial_temperature": 0.1}),
    "five layers": (replace(NETS, policy_hidden=(8, 24, 16), critic_hidden=(24, 8, 16, 8, 4)), {}),
    "silu, critics' norm": (replace(NETS, activation="silu", critic_norm=True), {}),
    "elu, policy's norm": (replace(NETS, activation="elu", policy_norm=True), {"pessimism": 0.7}),
}


def make_batch(generator: torch.Generator, layout: ObjectLayout, actions: int, size: int) -> Batch:
    def random(*shape):
        return torch.randn(*shape, generator=generator)

    def objects():
        present = torch.rand(size, layout.slots, generator=generator) < 0.6
        present[0] = False  # a frame in which nothing is seen
        return random(size, layout.slots, layout.features) * present[..., None], present

    (now, present), (following, next_present) = objects(), objects()
    goal, action = random(size, layout.features), random(size, actions).tanh()
    return Batch(now, present, goal, action, -random(size).abs(), following, next_present)


def make(
    nets: NetworkConfig, engine: str, layout: ObjectLayout = LAYOUT, actions: int = 2, **changes
) -> Sac:
    config = SacConfig(batch_size=SIZE, engine=engine, **changes)
    sac = Sac(config, nets, layout, actions, seed=5, centre=(0.1, 0.5), spread=(0.5, 0.8))
    rng = np.random.default_rng(0)
    dtype = str(torch.get_default_dtype()).removeprefix("torch.")
    centres, rest = rng.normal(size=(4, layout.what)), rng.random(4)
    sac.inputs.know_rest(centres.astype(dtype), rest.astype(dtype))
    sac.inputs.know_reach(np.array([0.3, -0.1], dtype))
    return sac


def train(sac: Sac, begin: int = 0, end: int = COUNT, size: int = SIZE) -> list[dict]:
    """Make the updates from one number to another; each has its own data."""
    reports = []
    for step in range(begin, end):
        generator = torch.Generator().manual_seed(step)
        sac.set_progress(step / COUNT)
        noise = torch.randn(2, size, sac.actions, generator=generator)
        reports.append(sac.update(make_batch(generator, sac.layout, sac.actions, size), noise))
    return reports


def everything(sac: Sac) -> dict[str, torch.Tensor]:
    """All that a checkpoint holds of a learner."""
    found = {name: tensor.detach().clone() for name, tensor in sac.tensors().items()}
    for name, optimizer in sac.optimizers.items():
        tensors, _ = optimizer_tensors(name, optimizer)
        found |= {name: tensor.clone() for name, tensor in tensors.items()}
    return found


def assert_same(one: Sac, two: Sac, tolerance: float) -> None:
    ours, theirs = everything(one), everything(two)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        scale = max(float(value.abs().max()), 1e-3)
        off = float((ours[name] - value).abs().max()) / scale
        assert off <= tolerance, f"{name} is off by {off}"


def assert_same_reports(ours: list[dict], theirs: list[dict], tolerance: float) -> None:
    for one, two in zip(ours, theirs, strict=True):
        assert one.keys() == two.keys()
        for name in one:
            assert one[name].dtype == two[name].dtype
            torch.testing.assert_close(one[name], two[name], rtol=tolerance, atol=tolerance)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_twenty_updates_are_those_of_torch(option, dtype, tolerance, double):
    torch.set_default_dtype(dtype)
    nets, changes = OPTIONS[option]
    ours, theirs = make(nets, "compiled", **changes), make(nets, "torch", **changes)
    assert_same_reports(train(ours), train(theirs), tolerance)
    assert_same(ours, theirs, tolerance)
    assert ours.updates == theirs.updates == COUNT
    kind = nets.torso.kind
    assert (ours.engine is None) == kind.startswith("deepsets"), "who has made the updates?"
    assert theirs.engine is None


@pytest.mark.parametrize(("slots", "actions", "position"), [(1, 1, 3), (7, 5, 2), (2, 7, 1)])
def test_any_number_of_slots_actions_and_places(slots, actions, position):
    layout = ObjectLayout(slots=slots, what=2, position=position)
    learners = []
    for engine in ("compiled", "torch"):
        nets = replace(NETS, relative=True, matched=True)
        sac = Sac(SacConfig(batch_size=SIZE, engine=engine), nets, layout, actions, seed=5)
        learners.append((sac, train(sac)))
    (ours, our_reports), (theirs, their_reports) = learners
    assert_same_reports(our_reports, their_reports, 1e-5)
    assert_same(ours, theirs, 1e-5)


def test_two_runs_are_the_same_to_the_last_bit():
    nets, changes = OPTIONS["from pixels"]
    one, two = make(nets, "compiled", **changes), make(nets, "compiled", **changes)
    assert_same_reports(train(one), train(two), 0)
    assert_same(one, two, 0)


@pytest.mark.parametrize(("first", "second"), [("compiled", "torch"), ("torch", "compiled")])
def test_a_run_goes_on_with_the_other_engine(first, second):
    nets, changes = OPTIONS["from pixels"]
    whole, begun = make(nets, first, **changes), make(nets, first, **changes)
    train(whole)
    train(begun, 0, 9)
    resumed = make(nets, second, **changes)
    train(resumed, 0, 2)  # whatever it has learned is replaced
    restore(resumed, begun)
    train(resumed, 9, COUNT)
    assert_same(resumed, whole, 1e-5)


def test_a_resumed_run_is_the_same_to_the_last_bit():
    nets, changes = OPTIONS["motion"]
    whole, begun = make(nets, "compiled", **changes), make(nets, "compiled", **changes)
    train(whole)
    train(begun, 0, 9)
    for resumed in (make(nets, "compiled", **changes), begun):
        restore(resumed, begun)
        train(resumed, 9, COUNT)
        assert_same(resumed, whole, 0)


def restore(sac: Sac, saved: Sac) -> None:
    """What loading a checkpoint does."""
    tensors = everything(saved)
    with torch.no_grad():
        for name, value in sac.tensors().items():
            value.copy_(tensors[name])
    for name, optimizer in sac.optimizers.items():
        found, rest = optimizer_tensors(name, saved.optimizers[name])
        load_optimizer(name, optimizer, {k: v.clone() for k, v in found.items()}, rest)
    sac.updates = saved.updates


def test_parameters_stay_the_tensors_they_are():
    sac = make(NETS, "compiled")
    before, state = list(sac.policy.parameters()), sac.tensors()
    train(sac, 0, 3)
    assert all(a is b for a, b in zip(before, sac.policy.parameters(), strict=True))
    learned = sac.tensors()
    for name, value in state.items():  # who held on to them sees what is learned
        assert torch.equal(learned[name], value)
    group = sac.optimizers["networks"].param_groups[0]["params"]
    assert [p.shape for p in group] == [
        sac.optimizers["networks"].state[p]["exp_avg"].shape for p in group
    ]


def test_a_copy_of_a_learner_learns_by_itself():
    sac = make(NETS, "compiled")
    train(sac, 0, 3)
    twin, before = copy.deepcopy(sac), everything(sac)
    train(twin, 3, 6)
    assert all(torch.equal(value, before[name]) for name, value in everything(sac).items())
    train(sac, 3, 6)
    assert_same(sac, twin, 0)


def test_batches_may_change_their_size_and_come_in_any_order_of_memory():
    ours, theirs = make(NETS, "compiled"), make(NETS, "torch")
    for sac in (ours, theirs):
        train(sac, 0, 2)
        train(sac, 2, 4, size=37)
        train(sac, 4, 6)
        generator = torch.Generator().manual_seed(99)
        batch = make_batch(generator, LAYOUT, 2, 2 * SIZE)[::2]  # every other row
        sac.update(batch, torch.randn(2, SIZE, 2, generator=generator))
    assert_same(ours, theirs, 1e-5)


def test_what_is_not_a_number_is_not_hidden():
    sac = make(NETS, "compiled")
    with torch.no_grad():
        sac.critic.net.mlp.head.weight[0, 0] = torch.nan
    assert train(sac, 0, 1)[0]["critic/q"].isnan()
    sac = make(NETS, "compiled")
    with torch.no_grad():
        sac.critic.net.mlp.first.weight[:] = torch.nan
    assert train(sac, 0, 1)[0]["critic/q"].isnan()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_learn_with_kernels_unless_they_sum_deep_sets(name):
    config = get_preset(name).build()
    assert config.learner.engine == "compiled"
    assert compiled.knows(config.networks, CPU) or config.networks.torso.kind.startswith("deepsets")


def test_torch_is_not_asked_by_the_default_preset(monkeypatch):
    config = get_preset("visual-rearrange-1").build()
    sac = Sac(config.learner, config.networks, LAYOUT, 2, seed=0)
    monkeypatch.setattr(Sac, "update_in_torch", None)
    monkeypatch.setattr(torch.autograd, "backward", None)
    assert len(train(sac, 0, 2)) == 2
    assert sac.engine is not None


def test_products_of_matrices_have_the_threads_of_torch(monkeypatch):
    asked = []
    monkeypatch.setattr(machine_code, "threadpool_limits", lambda n, user_api: asked.append(n))
    before, sac = torch.get_num_threads(), make(NETS, "compiled")
    try:
        for count in (1, 1, 2, 1):
            torch.set_num_threads(count)
            train(sac, 0, 1)
    finally:
        torch.set_num_threads(before)
    assert asked == [1, 2, 1]


def double_of(x):
    return x + x


def test_a_kernel_compiles_where_nothing_can_be_written(monkeypatch):
    """No folder for the machine code, a full disk, a damaged cache: slower, not broken."""
    plain = machine_code.njit

    def njit(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return plain(**options)

    monkeypatch.setattr(machine_code, "njit", njit)
    assert machine_code.kernel(double_of)(2.0) == 4.0
    monkeypatch.undo()
    from numba.core.caching import FunctionCache

    def full(self, *args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    monkeypatch.setattr(FunctionCache, "load_overload", full)
    assert machine_code.kernel(double_of)(2.0) == 4.0


def test_kernels_call_only_parts_of_their_own_file():
    """Numba compares the age of one file: a part elsewhere would leave stale machine code."""
    folder = Path(machine_code.__file__).parent
    decorators = {"kernel", "exact_kernel", "part", "exact_part"}
    found = 0
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text())
        own = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(d, ast.Name) and d.id in decorators for d in node.decorator_list)
        ]
        if not own:
            continue
        found += len(own)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smorl"):
                assert node.module == "smorl.machine_code", path
    assert found > 20
