"""The run's model of objects: fitted along the run, saved and restored with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from smorl.devices import CPU, to_array
from smorl.dynamics.base import View
from smorl.dynamics.fitting import (
    HELD_OUT,
    DynamicsConfig,
    Transitions,
    draw,
    loss,
    prediction_errors,
    scales,
)
from smorl.dynamics.object_model import ObjectModel
from smorl.goals.own_body import StillnessModel
from smorl.planning.gentle import GentleContact
from smorl.replay.buffer import Replay
from smorl.runs.checkpoint import (
    Checkpoint,
    generator_state,
    load_optimizer,
    optimizer_tensors,
    restore_generator,
)
from smorl.seeding import stream, torch_seed
from smorl.types import ObjectLayout, ObjectSet

if TYPE_CHECKING:
    from smorl.dynamics.compiled import CompiledFit

AHEAD = 6  # steps over which predictions are judged
_LR_END = 0.1  # share of the learning rate left at the end of the run
_OPTIMIZER = "optimizer/dynamics"  # not exported with an agent


class Foresight:
    """A model of objects with all that its fitting needs. `view` is None until data was seen."""

    def __init__(
        self,
        config: DynamicsConfig,
        layout: ObjectLayout,
        actions: int,
        seed: int,
        device: torch.device = CPU,
    ) -> None:
        self.config = config
        initial = torch_seed(seed, "dynamics")
        self.model = ObjectModel(layout.position, actions, config.width, initial).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.lr, fused=True)
        self.rng = stream(seed, "dynamics")
        self.credit, self.updates = 0.0, 0
        self.view: View | None = None
        self._fit: CompiledFit | None = None  # made when it is first needed

    def look(self, rest: StillnessModel | None, gentle: GentleContact | None) -> None:
        """Learn what the random data says about the own body; None: nothing was detected."""
        if rest is not None:
            reach = None if gentle is None else gentle.reach
            size = self.model.unit.shape[0]
            self.view = View(rest, np.zeros(size, np.float32) if reach is None else reach, gentle)

    def begin(self, objects: ObjectSet) -> None:
        """Set the model's scales from random paths (E, T, N)."""
        if self.view is not None:
            self.model.know_scales(*scales(objects, self.view))

    def learn(self, replay: Replay, steps: int, progress: float) -> dict[str, float]:
        """Make the gradient steps that `steps` environment steps have earned."""
        self.credit += steps * self.config.updates_per_step
        count, self.credit = int(self.credit), self.credit % 1
        if self.view is None or not count or replay.size < 2:
            return {}
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.lr * (1 + (_LR_END - 1) * min(progress, 1.0))
        unit, total = to_array(self.model.unit), 0.0
        for _ in range(count):
            batch = draw(replay.episodes, replay.size, self.config, self.view, unit, self.rng)
            total += self._gradients(batch, replay)
            self.optimizer.step()
        self.updates += count
        return {"dynamics/loss": total / count}

    def _gradients(self, batch: Transitions, replay: Replay) -> float:
        """Set the gradients of the model's parameters; return the loss."""
        if self.model.unit.device.type == "cpu":
            return self._compiled(replay).gradients(batch)
        return self._gradients_in_torch(batch)

    def _gradients_in_torch(self, batch: Transitions) -> float:
        wrong = loss(self.model, batch.to(self.model.unit.device))
        self.optimizer.zero_grad(set_to_none=True)
        wrong.backward()
        return float(wrong.detach())

    def _compiled(self, replay: Replay) -> CompiledFit:
        # Imported here, because whoever only acts needs no compiler.
        from smorl.dynamics.compiled import CompiledFit

        if self._fit is None:
            slots = replay.episodes.objects.present.shape[-1]
            self._fit = CompiledFit(self.model, self.config.batch_size, slots)
        return self._fit

    def errors(self, replay: Replay) -> dict[str, float]:
        """Return how far predictions are off on held-out episodes; see `prediction_errors`."""
        if self.view is None or not replay.size:
            return {}
        held_out = np.arange(0, replay.size, HELD_OUT)
        return prediction_errors(
            self.model, replay.episodes, held_out, self.view, AHEAD, self.config.moved
        )

    def save(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return what only fitting needs, as tensors and JSON for a checkpoint."""
        tensors, optimizer = optimizer_tensors(_OPTIMIZER, self.optimizer)
        state = {"optimizer": optimizer, "stream": generator_state(self.rng)}
        state |= {"credit": self.credit, "updates": self.updates}
        return tensors, state

    def load(self, checkpoint: Checkpoint) -> None:
        """Restore what only fitting needs; the model comes with the agent's tensors."""
        state = checkpoint.state["foresight"]
        load_optimizer(_OPTIMIZER, self.optimizer, checkpoint.tensors, state["optimizer"])
        self.rng = restore_generator(state["stream"])
        self.credit, self.updates = state["credit"], state["updates"]

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the model's tensors by the names they are saved under."""
        return {f"dynamics/{name}": value for name, value in self.model.state_dict().items()}
