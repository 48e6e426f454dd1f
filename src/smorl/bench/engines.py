"""SAC's two engines beside each other, on made-up batches of the shapes of fast presets."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from smorl.bench import command
from smorl.bench.clock import columns, take_turns
from smorl.bench.synthetic import ACTIONS, random_batch
from smorl.learners.sac import Sac, SacConfig
from smorl.presets import get_preset
from smorl.types import Batch, ObjectLayout

# What encoders give the networks of these presets.
SHAPES = {
    "visual-rearrange-1": ObjectLayout(slots=4, what=8, scale=2, depth=2, motion=2),
    "visual-rearrange-2": ObjectLayout(slots=5, what=8, scale=2, depth=2, motion=2),
    "gt-rearrange-2": ObjectLayout(slots=3, what=3, motion=2),
}


def measure_engines(repeats: int, batch: int | None = None) -> Iterator[dict]:
    """As many updates as it takes for one of the policy; the preset's batch, or another."""
    for name, layout in SHAPES.items():
        config = get_preset(name).build()
        learner = config.learner
        assert isinstance(learner, SacConfig)
        size = batch or learner.batch_size
        command.say(f"engines, {name}, batch {size}")
        data = random_batch(size, layout, seed=0)
        noise = torch.randn(2, size, ACTIONS, generator=torch.Generator().manual_seed(0))
        every, cases = learner.policy_every, {}
        for engine in ("compiled", "torch"):
            settings = replace(learner, engine=engine)
            sac = Sac(settings, config.networks, layout, ACTIONS, seed=0)
            centres = np.eye(4, layout.what, dtype=np.float32)
            sac.inputs.know_rest(centres, np.linspace(0, 1, 4, dtype=np.float32))
            cases[engine] = partial(_updates, sac, data, noise, every)
        cost = take_turns(cases, repeats)
        yield {
            "preset": name,
            "batch": size,
            **columns("compiled", "ms", cost["compiled"] / every),
            **columns("torch", "ms", cost["torch"] / every),
            **columns("", "ratio", cost["torch"] / cost["compiled"]),
        }


def _updates(sac: Sac, batch: Batch, noise: torch.Tensor, count: int) -> None:
    for _ in range(count):
        sac.update(batch, noise)
