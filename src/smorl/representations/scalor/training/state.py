"""What a perception run is made of, and how all of it goes into a checkpoint and comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from smorl import devices
from smorl.representations.scalor.model.scalor import Scalor
from smorl.representations.scalor.training.settings import ScalorTrainingConfig
from smorl.runs.checkpoint import (
    Checkpoint,
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)
from smorl.seeding import stream, torch_seed


@dataclass
class Window:
    """Sums of the terms since the last row of metrics."""

    count: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, terms: dict[str, float]) -> None:
        self.count += 1
        for name, value in terms.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def means(self) -> dict[str, float]:
        return {name: value / self.count for name, value in self.sums.items()}


@dataclass
class PerceptionState:
    """Everything that changes while a model is trained and decides how it goes on."""

    attempt: int
    model: Scalor
    optimizer: torch.optim.Optimizer
    noise: torch.Generator
    batches: np.random.Generator
    iteration: int = 0
    frames: int = 0  # trained on in this attempt
    window: Window = field(default_factory=Window)
    recent: dict[str, float] = field(default_factory=dict)  # the last full window's means

    @classmethod
    def create(
        cls, config: ScalorTrainingConfig, attempt: int, background: np.ndarray, actions: int
    ) -> PerceptionState:
        """Return iteration 0 of an attempt; each attempt has random streams of its own.

        `background` (S, S, 3) is what shows behind all objects; `actions` the length of an action.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(config.seed, f"scalor/model/{attempt}"))
            model = Scalor(config.scalor, actions, background).to(devices.place(config.device))
        noise = torch.Generator().manual_seed(torch_seed(config.seed, f"scalor/noise/{attempt}"))
        settings = config.optimise
        if settings.optimizer == "adam":
            optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr, fused=True)
        else:
            optimizer = torch.optim.RMSprop(model.parameters(), lr=settings.lr)
        batches = stream(config.seed, f"scalor/batches/{attempt}")
        return cls(attempt, model, optimizer, noise, batches)

    def save(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return tensors and JSON for `save_checkpoint`."""
        tensors = {f"model/{name}": value for name, value in self.model.state_dict().items()}
        found, optimizer = optimizer_tensors("optimizer", self.optimizer)
        tensors |= found
        tensors["noise"] = self.noise.get_state()
        state = {
            "attempt": self.attempt,
            "iteration": self.iteration,
            "frames": self.frames,
            "window": vars(self.window),
            "recent": self.recent,
            "optimizer": optimizer,
            "batches": generator_state(self.batches),
        }
        return tensors, state

    @classmethod
    def load(
        cls,
        config: ScalorTrainingConfig,
        checkpoint: Checkpoint,
        background: np.ndarray,
        actions: int,
    ) -> PerceptionState:
        """Rebuild the state of a verified checkpoint; it continues bit for bit."""
        tensors, saved = checkpoint.tensors, checkpoint.state
        state = cls.create(config, saved["attempt"], background, actions)
        prefix = "model/"
        if saved["attempt"] > config.restarts or saved["iteration"] > config.optimise.iterations:
            raise ValueError(f"attempt {saved['attempt']}, iteration {saved['iteration']}")
        state.model.load_state_dict(
            {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        )
        load_optimizer("optimizer", state.optimizer, tensors, saved["optimizer"])
        state.noise.set_state(tensors["noise"])
        state.batches = restore_generator(saved["batches"])
        state.iteration, state.frames = saved["iteration"], saved["frames"]
        state.window, state.recent = Window(**saved["window"]), saved["recent"]
        return state
