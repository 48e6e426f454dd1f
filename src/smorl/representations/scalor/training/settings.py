"""The settings of a perception run: one frozen tree, composed from the parts' own settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from smorl.config import require
from smorl.representations.scalor.model.settings import ScalorConfig


@dataclass(frozen=True)
class SequencesConfig:
    """The random-policy data; every episode gives `steps` + 1 frames."""

    episodes: int = 101  # how many
    steps: int = 100  # actions per episode; there is one frame more
    first_frames: float = 0.1  # share of training windows that start at a reset frame


@dataclass(frozen=True)
class OptimiseConfig:
    """How the evidence lower bound is climbed."""

    optimizer: Literal["adam", "rmsprop"] = "adam"  # Paper: adam; Release: rmsprop
    iterations: int = 5_000  # gradient steps
    batch: int = 11  # windows per iteration
    lengths: tuple[int, ...] = (10,)  # frames per window; ours: one for each part of training
    lr: float = 1e-4  # learning rate
    lr_final: float = 1.0  # ours: share of `lr` left at the end
    decay: Literal["linear", "cosine"] = "linear"  # how the rate falls
    decay_from: float = 0.0  # share of training after which the rate falls
    warmup: int = 0  # ours: iterations in which the rate rises from 0
    clip: float = 1.0  # largest norm of the gradient
    rotations: bool = False  # Release: every batch is seen in all four orientations


@dataclass(frozen=True)
class HeldOutConfig:
    """The evaluation at the end, on episodes that training never saw."""

    episodes: int = 50  # how many
    seed: int = 1_000_000  # of the first episode


@dataclass(frozen=True)
class PerceptionConfig:
    """Everything that determines a perception run; the same config gives the same weights."""

    env: str = "smorl/VisualRearrange2-v0"  # whose pictures it learns from
    seed: int = 0  # decides everything random
    threads: int = 2  # CPU threads of physics and of the learner
    restarts: int = 2  # how often training may start again when the diagnosis is bad
    checkpoint_minutes: float = 2.0  # minutes between checkpoints
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
            "optimise.lengths": bool(o.lengths) and _within(o.lengths, 1, data.steps + 1),
            "optimise.lr": o.lr > 0,
            "optimise.lr_final": 0 <= o.lr_final <= 1,
            "optimise.decay_from": 0 <= o.decay_from <= 1,
            "optimise.warmup": 0 <= o.warmup < o.iterations,
            "optimise.clip": o.clip > 0,
            "evaluation.episodes": self.evaluation.episodes >= 1,
        }
        require(self, checks)


def window_length(config: OptimiseConfig, iteration: int) -> int:
    """Return the frames per window of an iteration; each length has an equal part of training."""
    part = iteration * len(config.lengths) // config.iterations
    return config.lengths[min(part, len(config.lengths) - 1)]


def total_frames(config: OptimiseConfig) -> int:
    """Return how many frames training goes through: windows grow, so iterations do not tell."""
    turns = 4 if config.rotations else 1
    lengths = (window_length(config, i) for i in range(config.iterations))
    return sum(lengths) * config.batch * turns


def learning_rate(config: OptimiseConfig, iteration: int) -> float:
    """Return the rate of an iteration (from 0): a linear rise, constant, then the decay."""
    if iteration < config.warmup:
        return config.lr * (iteration + 1) / config.warmup
    start = max(config.warmup, config.decay_from * config.iterations)
    share = (iteration - start) / max(1.0, config.iterations - 1 - start)
    share = min(1.0, max(0.0, share))
    if config.decay == "cosine":
        share = (1 - math.cos(math.pi * share)) / 2
    return config.lr * (1 + (config.lr_final - 1) * share)


def _within(values: tuple[int, ...], low: int, high: int) -> bool:
    return all(low <= value <= high for value in values)
