"""The learner contract: who improves from batches, acts, and says what a goal is worth.

A learner of one's own is one file: settings, a `LearnerConfig` with fields of its own, and what
they build. A run names it as `--learner.kind module:Settings`; examples/own_learner.py is one.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from smorl.devices import CPU
from smorl.errors import InvalidInput, did_you_mean
from smorl.learners.networks import Inputs, NetworkConfig
from smorl.plugins import is_plugin, load
from smorl.ranges import within
from smorl.types import Batch, ObjectLayout

# Loaded when they are named, so that this module knows none of them.
KNOWN = {"sac": "smorl.learners.sac:SacConfig"}


class Learner(Protocol):
    """B rows, N slots of F features, actions of length A in [-1, 1]."""

    # Objects and goals as the networks see them; told about the own body, and knows the device.
    inputs: Inputs
    optimizers: dict[str, torch.optim.Optimizer]  # saved with a run
    updates: int  # made so far; saved with a run

    def update(self, batch: Batch, noise: Tensor) -> dict[str, Tensor]:
        """Make one gradient step; `noise` (2, B, A) ~ N(0, 1) is all that is random in it.

        Returns named numbers for the log, `critic/q` among them, which is watched for divergence.
        """
        ...

    def act(
        self, objects: Tensor, present: Tensor, goal: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Return actions (B, A) for (B, N, F), (B, N), (B, F): exploring with `noise`, else not."""
        ...

    def value(self, objects: Tensor, present: Tensor, goal: Tensor) -> Tensor:
        """Return how well the goal can be reached from here, (B,)."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Return everything learned, by names that stay; loading copies into these very tensors.

        What acting does not need has a name that starts with `target/`.
        """
        ...

    def set_progress(self, share: float) -> None:
        """The `share` (0 to 1) of the run is behind us: adapt the learning rate, or do not."""
        ...


@dataclass(frozen=True)
class LearnerConfig:
    """Settings that every learner has; those of one's own are added by a subclass."""

    kind: str  # which learner, e.g. sac, or module:Settings
    batch_size: int = 2048  # transitions per gradient step
    lr: float = 1e-3  # learning rate of Adam
    discount: float = 0.95  # of a step into the future

    def __post_init__(self) -> None:
        within(self, {"batch_size": (1, 10**6), "lr": (1e-9, 10), "discount": (0, 0.999999)})

    def build(
        self,
        networks: NetworkConfig,
        layout: ObjectLayout,
        actions: int,
        *,
        seed: int,
        centre: tuple[float, ...],
        spread: tuple[float, ...],
        device: torch.device = CPU,
    ) -> Learner:
        """Return the learner at its start.

        `seed` decides its weights; `centre` and `spread` describe usual positions, so that the
        networks see numbers around 1. `device` is where it computes: its tensors, its `inputs`, and
        whatever it is handed.
        """
        raise NotImplementedError

    @classmethod
    def of_kind(cls, kind: str | None) -> type[LearnerConfig]:
        """Return the settings that a `kind` stands for."""
        if kind is None or (kind not in KNOWN and not is_plugin(kind)):
            hint = did_you_mean(str(kind), KNOWN)
            raise InvalidInput(
                f"learner.kind {kind!r} is unknown.{hint} Known: {', '.join(KNOWN)}; one of your "
                "own is named module:Settings."
            )
        found: Any = load(KNOWN.get(kind, kind))
        if not (
            isinstance(found, type) and issubclass(found, LearnerConfig) and is_dataclass(found)
        ):
            raise InvalidInput(f"{kind} is no dataclass of learner settings (LearnerConfig).")
        return found
