"""Sizes, priors and schedules of SCALOR. Defaults are the fast model's; see presets/."""

from dataclasses import dataclass
from typing import Literal

from smorl.ranges import require, within

_SHARE, _STEPS = (0, 1), (0, 10**9)
_RANGES = {
    "image_size": (8, 512), "cells": (1, 32), "glimpse": (4, 128), "what": (1, 256),
    "slots": (1, 64), "proposals": (1, 1024), "channels": (16, 1024), "hidden": (1, 4096),
    "tracker": (1, 4096), "lstm_layers": (1, 8), "size": (1e-3, 2), "size_range": (1e-6, 2),
    "ratio": (1e-3, 100), "ratio_range": (0, 100), "where_std": (-20, 20), "step_range": (1e-3, 2),
    "window": (0, 2), "sigma": (1e-4, 10), "paint": (-100, 100), "presence_logit": (0.1, 100),
    "presence_bias": (-20, 20), "mask_bias": (-20, 20), "prior_start": (1e-30, 1 - 1e-6),
    "prior_end": (1e-30, 1 - 1e-6), "prior_steps": _STEPS, "temperature_start": (1e-3, 100),
    "temperature_end": (1e-3, 100), "temperature_steps": _STEPS, "explained": _SHARE,
    "overlap": _SHARE, "coexist": _SHARE, "born": _SHARE, "forget": (0, 0.999),
    "dare": (0, 1), "dies": (0, 100),
}  # fmt: skip


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
    # "fast": patches and MLP glimpses; "paper": the convolutions of SCALOR
    networks: Literal["fast", "paper"] = "fast"
    channels: int = 64  # of the image encoding
    hidden: int = 128  # of the per-object networks
    tracker: int = 64  # recurrent state per object
    lstm_layers: int = 1  # of the recurrent image encoding
    # "static": the median of the data; "decoded": a network
    background: Literal["static", "decoded"] = "static"

    # Geometry
    size: float = 0.28  # half extent of a box: size +- size_range
    size_range: float = 0.20  # how much a box may differ from that
    ratio: float = 1.0  # height over width
    ratio_range: float = 0.5  # how much it may differ from that
    where_std: float = -2.0  # added to the raw deviation of places: starts them nearly noiseless
    step_range: float = 0.5  # the furthest an object is followed in one frame
    window: float = 0.5  # half extent of what a tracked object attends to; 0: the paper's 2x2 crop

    # Likelihood, presence, lifetime
    sigma: float = 0.07  # standard deviation of a pixel, colours in [0, 1]
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
    dare: float = 0.02  # chance per cell that training tries an object where none is expected
    forget: float = 0.1  # chance per frame that training loses an object, to be found again
    dies: float = 0.6  # accumulated absence at which a tracked object is dropped

    def __post_init__(self) -> None:
        within(self, _RANGES)
        side = self.image_size // self.cells
        paper = self.networks == "paper"
        require(self, {
            "networks": (self.networks in ("fast", "paper"), "fast or paper"),
            "background": (self.background in ("static", "decoded"), "static or decoded"),
            "image_size": (side * self.cells == self.image_size and side in (8, 16, 32),
                           "8, 16 or 32 times cells"),
            "glimpse": (not (paper and self.glimpse % 8), "a multiple of 8 with these networks"),
            "channels": (self.channels % 16 == 0, "a multiple of 16"),
            "proposals": (self.proposals <= self.cells**2, f"at most cells ** 2, {self.cells**2}"),
            "size_range": (self.size_range < self.size, f"below size, {self.size}"),
            "ratio_range": (self.ratio_range < self.ratio, f"below ratio, {self.ratio}"),
            "prior_end": (self.prior_end <= self.prior_start, "at most prior_start"),
            "temperature_end": (self.temperature_end <= self.temperature_start,
                                "at most temperature_start"),
        })  # fmt: skip


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
