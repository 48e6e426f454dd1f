"""The settings of a perception run: one frozen tree, composed from the parts' own settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from smorl.ranges import require, within
from smorl.representations.base import Perception
from smorl.representations.pretraining import (
    HELD_OUT_SEED,
    PerceptionConfig,
    PerceptionTrainer,
    Source,
)
from smorl.representations.scalor.model.settings import ScalorConfig

if TYPE_CHECKING:
    from smorl.runs.folder import RunDir
    from smorl.runs.reporter import Reporter

# Seconds of one core.
_FRAME = {"fast": 1 / 350, "paper": 1 / 20}  # to learn from one frame
_COLLECTED_FRAME = 1.0e-3
_JUDGED_EPISODE = 0.8  # the result is evaluated, its prior and threshold fitted
_FOUND_PICTURE = 6e-4  # to learn from one picture where hand and things are


@dataclass(frozen=True)
class SequencesConfig:
    """The random-policy data; every episode gives `steps` + 1 frames."""

    episodes: int = 101  # how many
    steps: int = 100  # actions per episode; there is one frame more
    first_frames: float = 0.1  # share of training windows that start at a reset frame
    contact: float = 0.0  # ours: share of the episodes in which the model so far pushes its objects
    contact_from: float = 0.4  # share of training after which these are collected

    def __post_init__(self) -> None:
        within(self, {
            "episodes": (1, 10**6), "steps": (1, 10**6), "first_frames": (0, 1),
            "contact": (0, 0.9), "contact_from": (0.01, 0.99),
        })  # fmt: skip

    @property
    def pushed(self) -> int:
        """Episodes of the second round, in which things are pushed."""
        return min(self.episodes - 1, round(self.contact * self.episodes))


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

    def __post_init__(self) -> None:
        within(self, {
            "iterations": (1, 10**9), "batch": (1, 10**5), "lengths": (1, 10**6), "lr": (1e-9, 10),
            "lr_final": (0, 1), "decay_from": (0, 1), "warmup": (0, 10**9), "clip": (1e-6, 1e9),
        })  # fmt: skip
        require(self, {"warmup": (self.warmup < self.iterations, "less than iterations")})


@dataclass(frozen=True)
class FinderConfig:
    """How a perception learns to tell from the whole picture where hand and things are. Ours."""

    iterations: int = 0  # gradient steps; 0: hand and things are where the tracker says
    batch: int = 64  # pictures per step
    lr: float = 4e-3  # largest learning rate; it rises and falls

    def __post_init__(self) -> None:
        within(self, {"iterations": (0, 10**7), "batch": (1, 10**5), "lr": (1e-9, 10)})


@dataclass(frozen=True)
class HeldOutConfig:
    """The evaluation at the end, on episodes that training never saw."""

    episodes: int = 50  # how many
    seed: int = HELD_OUT_SEED  # of the first episode

    def __post_init__(self) -> None:
        within(self, {"episodes": (1, 10**6), "seed": (0, 2**31)})


@dataclass(frozen=True)
class ScalorTrainingConfig(PerceptionConfig):
    """Everything that determines a run that trains SCALOR.

    What it builds is imported when it is built: it knows these settings.
    """

    restarts: int = 2  # how often training may start again when the diagnosis is bad
    log_every: int = 20  # iterations averaged in one row of metrics.jsonl
    data: SequencesConfig = field(default_factory=SequencesConfig)
    scalor: ScalorConfig = field(default_factory=ScalorConfig)
    optimise: OptimiseConfig = field(default_factory=OptimiseConfig)
    finder: FinderConfig = field(default_factory=FinderConfig)
    evaluation: HeldOutConfig = field(default_factory=HeldOutConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        within(self, {"restarts": (0, 100), "log_every": (1, 10**9)})
        frames, lengths = self.data.steps + 1, self.optimise.lengths
        good = 1 <= len(lengths) <= 1000 and max(lengths) <= frames
        require(self, {
            "optimise.lengths": (good, f"1 to {frames} frames each, as the data has"),
        })  # fmt: skip

    @property
    def frames(self) -> int:
        """How many frames training goes through: windows grow, so iterations do not tell."""
        settings = self.optimise
        lengths = (window_length(settings, i) for i in range(settings.iterations))
        return sum(lengths) * settings.batch * (4 if settings.rotations else 1)

    @property
    def seconds(self) -> float:
        """How long it takes, by what was measured (`smorl bench perception`, and runs)."""
        data = self.data.episodes * (self.data.steps + 1) * _COLLECTED_FRAME
        learning = self.frames * _FRAME[self.scalor.networks]
        finder = self.finder.iterations * self.finder.batch * _FOUND_PICTURE
        return data + learning + finder + self.evaluation.episodes * _JUDGED_EPISODE

    def fitted(self, source: Source) -> ScalorTrainingConfig:
        """Return settings that say what the data is, where it exists."""
        from smorl.representations.scalor.training.data import fitted

        return fitted(self, source)

    def trainer(
        self, run: RunDir, reporter: Reporter, source: Source, command: str
    ) -> PerceptionTrainer:
        """Return who trains it."""
        from smorl.representations.scalor.training.loop import ScalorTrainer

        return ScalorTrainer(self, run, reporter, source, command)

    def untrained(self, actions: int) -> Perception:
        """Return a model with random weights; shapes are static, so it costs what others do."""
        from smorl.representations.scalor.weights import untrained

        return untrained(self.scalor, actions, self.env)


def window_length(config: OptimiseConfig, iteration: int) -> int:
    """Return the frames per window of an iteration; each length has an equal part of training."""
    part = iteration * len(config.lengths) // config.iterations
    return config.lengths[min(part, len(config.lengths) - 1)]


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
