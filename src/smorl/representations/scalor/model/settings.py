"""Sizes, priors and schedules of SCALOR. Defaults are the fast model's; see presets/."""

from dataclasses import dataclass

from smorl.errors import InvalidInput


@dataclass(frozen=True)
class ScalorConfig:
    """One model. Lengths are in image coordinates: the picture spans [-1, 1], 64 pixels wide."""

    # Sizes
    image_size: int = 64  # pixels per side of a picture
    cells: int = 4  # per side of the discovery grid
    glimpse: int = 16  # pixels per side of an object's crop
    what: int = 8  # dimensions of appearance
    slots: int = 6  # the most objects tracked at once
    proposals: int = 4  # cells considered per frame after the first; cells**2 considers all
    networks: str = "fast"  # "fast": patches and MLP glimpses; "paper": the convolutions of SCALOR
    channels: int = 64  # of the image encoding
    hidden: int = 128  # of the per-object networks
    tracker: int = 64  # recurrent state per object
    lstm_layers: int = 1  # of the recurrent image encoding
    background: str = "static"  # "static": the median of the data; "decoded": a network

    # Geometry
    size: float = 0.28  # half extent of a box: size +- size_range
    size_range: float = 0.20  # how much a box may differ from that
    ratio: float = 1.0  # height over width
    ratio_range: float = 0.5  # how much it may differ from that
    where_std: float = -2.0  # added to the raw deviation of places: starts them nearly noiseless
    step_range: float = 0.5  # the furthest an object is followed in one frame
    window: float = 0.5  # half extent of what a tracked object attends to; 0: the paper's 2x2 crop

    # Likelihood, presence, lifetime
    sigma: float = 0.07
    paint: float = 1.0  # nats that covering one pixel costs, so that masks end where objects end
    presence_logit: float = 8.8  # presence logits lie in +- this
    presence_bias: float = -0.3  # where discovery's logit starts, before the tanh
    mask_bias: float = -1.5  # where mask logits start: what need not be painted stays unpainted
    prior_start: float = 0.1  # presence prior, annealed geometrically
    prior_end: float = 1e-16  # what it falls to
    prior_steps: int = 500  # iterations until then
    temperature_start: float = 1.0  # of the relaxed presence
    temperature_end: float = 0.3  # what it falls to
    temperature_steps: int = 1000  # iterations until then
    explained: float = 0.5  # a proposal overlapping tracked objects by more is rejected
    overlap: float = 1.0  # one overlapping a surer proposal by more is rejected too; 1: never
    coexist: float = 0.7  # a tracked object covered more than this by nearer ones goes; 1: never
    born: float = 0.7  # presence above which a proposal is tracked
    forget: float = 0.1  # chance per frame that training loses an object, to be found again
    dies: float = 0.6  # accumulated absence at which a tracked object is dropped

    def __post_init__(self) -> None:
        _one_of("networks", self.networks, ("fast", "paper"))
        _one_of("background", self.background, ("static", "decoded"))
        side = self.image_size // max(1, self.cells)
        paper = self.networks == "paper"
        checks = {
            "cells": self.cells >= 1,
            "image_size": side * self.cells == self.image_size and side in (8, 16, 32),
            "glimpse": self.glimpse >= 4 and not (paper and self.glimpse % 8),
            "channels": self.channels >= 16 and self.channels % 16 == 0,
            "what": self.what >= 1,
            "slots": self.slots >= 1,
            "proposals": 1 <= self.proposals <= self.cells**2,
            "sigma": self.sigma > 0,
            "size_range": 0 < self.size_range < self.size,
            "ratio_range": 0 <= self.ratio_range < self.ratio,
            "forget": 0 <= self.forget < 1,
            "prior_end": 0 < self.prior_end <= self.prior_start < 1,
            "temperature_end": 0 < self.temperature_end <= self.temperature_start,
        }
        for name, good in checks.items():
            if not good:
                raise InvalidInput(f"scalor.{name} = {getattr(self, name)} is out of range.")


@dataclass(frozen=True)
class Schedule:
    """What is annealed, at one moment of training."""

    temperature: float
    presence_prior: float


def schedule(config: ScalorConfig, step: int) -> Schedule:
    """Return the annealed values at an iteration: both fall geometrically, then stay."""

    def fall(start: float, end: float, steps: int) -> float:
        return start * (end / start) ** min(1.0, step / max(1, steps))

    return Schedule(
        temperature=fall(
            config.temperature_start, config.temperature_end, config.temperature_steps
        ),
        presence_prior=fall(config.prior_start, config.prior_end, config.prior_steps),
    )


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(f"scalor.{name} = {value!r}; choose one of {', '.join(known)}.")
