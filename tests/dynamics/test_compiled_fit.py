"""The compiled gradient of the model of objects against torch's, whatever is seen."""

import copy

import numpy as np
import pytest
import torch

from smorl import machine_code
from smorl.dynamics.base import Bodies
from smorl.dynamics.compiled import CompiledFit
from smorl.dynamics.fitting import Transitions, loss
from smorl.dynamics.object_model import ObjectModel
from tests.dynamics.test_object_model import trained_like

CASES = {
    "as usual": (0.6, 0.8),
    "everything is there": (1.0, 1.0),
    "nothing but the hand": (0.0, 1.0),
    "nothing is seen again": (0.6, 0.0),
}
ROWS, SLOTS = 40, 5


def some_transitions(seed: int, there: float, known: float, places: int, actions: int):
    rng = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=rng)

    hand = torch.randint(0, SLOTS, (ROWS,), generator=rng)
    things = torch.rand(ROWS, SLOTS, generator=rng) < there
    things[torch.arange(ROWS), hand] = False
    bodies = Bodies(random(ROWS, SLOTS, places), random(ROWS, SLOTS, places), hand, things)
    seen = torch.rand(ROWS, SLOTS, generator=rng) < known
    return Transitions(bodies, random(ROWS, actions), random(ROWS, SLOTS, places) / 2, seen)


def fitted(model: ObjectModel, gradients, case, places, actions, steps=20):
    """Train on data of its own for each step; return the losses.

    Adam would make whole steps of gradients that are next to nothing, and so of how a machine
    rounds; `eps` keeps it from that. Gradients are compared by themselves as well.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-6, fused=True)
    losses = []
    for step in range(steps):
        batch = some_transitions(step, *case, places, actions)
        losses.append(gradients(batch))
        optimizer.step()
    return losses


def by_torch(model: ObjectModel):
    def gradients(batch: Transitions) -> float:
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        wrong = loss(model, batch)
        wrong.backward()
        return float(wrong.detach())

    return gradients


@pytest.fixture(params=[(torch.float64, 1e-10), (torch.float32, 1e-5)], ids=["double", "single"])
def precision(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param[0])
    yield request.param[1]
    torch.set_default_dtype(before)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4)], ids=["table", "space"])
@pytest.mark.parametrize("case", CASES)
def test_twenty_steps_are_those_of_torch(case, sizes, precision):
    model = trained_like(sizes=sizes)
    scale = torch.linspace(0.5, 1.5, sizes[0])
    model.know_scales(scale - 1, scale * 2, scale)
    other = copy.deepcopy(model)
    compiled = CompiledFit(model, ROWS, SLOTS)
    losses = fitted(model, compiled.gradients, CASES[case], *sizes)
    expected = fitted(other, by_torch(other), CASES[case], *sizes)
    np.testing.assert_allclose(losses, expected, rtol=precision, atol=precision)
    for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=precision, atol=precision, msg=name)
    if CASES[case][1]:
        assert losses[-1] != losses[0]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4)], ids=["table", "space"])
@pytest.mark.parametrize("case", CASES)
def test_every_gradient_is_that_of_torch(case, sizes, precision):
    """Of the same weights, at every step: off by so little of the largest of its tensor."""
    model = trained_like(sizes=sizes)
    other = copy.deepcopy(model)
    compiled, torchs = CompiledFit(model, ROWS, SLOTS).gradients, by_torch(other)
    for step in range(5):
        batch = some_transitions(step, *CASES[case], *sizes)
        found = compiled(batch), [p.grad.clone() for p in model.parameters()]
        expected = torchs(batch), [p.grad.clone() for p in other.parameters()]
        assert found[0] == pytest.approx(expected[0], rel=precision, abs=precision)
        for (name, _), one, two in zip(
            model.named_parameters(), found[1], expected[1], strict=True
        ):
            largest = two.abs().max()
            torch.testing.assert_close(one, two, rtol=0, atol=float(precision * largest), msg=name)


def test_fits_repeat_themselves_to_the_last_bit():
    models = [trained_like(), trained_like()]
    for model in models:
        fitted(model, CompiledFit(model, ROWS, SLOTS).gradients, CASES["as usual"], 2, 2)
    for one, two in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one, two)


def test_products_have_the_threads_of_torch(monkeypatch):
    asked, model = [], trained_like()
    monkeypatch.setattr(machine_code, "threadpool_limits", lambda n, user_api: asked.append(n))
    compiled = CompiledFit(model, ROWS, SLOTS)
    for _ in range(2):
        compiled.gradients(some_transitions(0, 0.6, 0.8, 2, 2))
    assert asked == [torch.get_num_threads()]
