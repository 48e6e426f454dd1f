"""The settings of a perception run: one frozen tree, composed from the parts' own settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from smorl.errors import InvalidInput
from smorl.perception.scalor.settings import ScalorConfig


@dataclass(frozen=True)
class SequencesConfig:
    """The random-policy data; every episode gives `steps` + 1 frames."""

    episodes: int = 101
    steps: int = 100
    first_frames: float = 0.1  # share of training windows that start at a reset frame


@dataclass(frozen=True)
class OptimiseConfig:
    """How the evidence lower bound is climbed."""

    optimizer: Literal["adam", "rmsprop"] = "adam"
    iterations: int = 5_000
    batch: int = 11  # windows per iteration
    length: int = 10  # frames per window
    lr: float = 1e-4
    lr_final: float = 1.0  # ours: share of `lr` left at the end
    decay: Literal["linear", "cosine"] = "linear"
    warmup: int = 0  # ours: iterations in which the rate rises from 0
    clip: float = 1.0  # largest norm of the gradient
    rotations: bool = False  # Release: every batch is seen in all four orientations
    precision: Literal["float32", "bfloat16"] = "float32"


@dataclass(frozen=True)
class HeldOutConfig:
    """The evaluation at the end, on episodes that training never saw."""

    episodes: int = 50
    seed: int = 1_000_000


@dataclass(frozen=True)
class PerceptionConfig:
    """Everything that determines a perception run; the same config gives the same weights."""

    env: str = "smorl/VisualRearrange2-v0"
    seed: int = 0
    threads: int = 2  # CPU threads of physics and of the learner
    restarts: int = 2  # how often training may start again when the diagnosis is bad
    checkpoint_minutes: float = 2.0
    log_every: int = 20  # iterations averaged in one row of metrics.jsonl
    data: SequencesConfig = field(default_factory=SequencesConfig)
    scalor: ScalorConfig = field(default_factory=ScalorConfig)
    optimise: OptimiseConfig = field(default_factory=OptimiseConfig)
    evaluation: HeldOutConfig = field(default_factory=HeldOutConfig)

    def __post_init__(self) -> None:
        o, data = self.optimise, self.data
        checks = {
            "seed": self.seed >= 0,
            "threads": self.threads >= 1,
            "restarts": self.restarts >= 0,
            "log_every": self.log_every >= 1,
            "data.episodes": data.episodes >= 1,
            "data.steps": data.steps >= 1,
            "data.first_frames": 0 <= data.first_frames <= 1,
            "optimise.iterations": o.iterations >= 1,
            "optimise.batch": o.batch >= 1,
            "optimise.length": 1 <= o.length <= data.steps + 1,
            "optimise.lr": o.lr > 0,
            "optimise.lr_final": 0 <= o.lr_final <= 1,
            "optimise.warmup": 0 <= o.warmup < o.iterations,
            "optimise.clip": o.clip > 0,
            "evaluation.episodes": self.evaluation.episodes >= 1,
        }
        for path, good in checks.items():
            if not good:
                value = self
                for name in path.split("."):
                    value = getattr(value, name)
                raise InvalidInput(f"{path} = {value} is out of range; choose a valid value.")


def learning_rate(config: OptimiseConfig, iteration: int) -> float:
    """Return the rate of an iteration (from 0): a linear rise, then the decay."""
    if iteration < config.warmup:
        return config.lr * (iteration + 1) / config.warmup
    span = max(1, config.iterations - 1 - config.warmup)
    share = min(1.0, (iteration - config.warmup) / span)
    if config.decay == "cosine":
        share = (1 - math.cos(math.pi * share)) / 2
    return config.lr * (1 + (config.lr_final - 1) * share)
