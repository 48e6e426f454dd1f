"""Sizes, likelihood and training of the beta-VAE; the numbers of RIG and Skew-Fit.

The paper says only that the baselines started from standard settings; all numbers of the `paper_*`
functions are the release's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from smorl.ranges import LARGEST_LAYER, require, within


@dataclass(frozen=True)
class VaeConfig:
    """One model. Pixels are in [0, 1]; the decoder is Normal(decode(z), variance) per pixel."""

    image_size: int = 48  # Release: 48, the camera `multiobject_push`
    latent: int = 4  # Release: 4 for one puck, 16 for two
    # Release: the loss is the sum of squared errors plus 0.2 KL. The sum of squared errors is
    # minus the log-likelihood of variance 1/2, so this is a decoder of that variance. The same
    # variance enters p(x) of Skew-Fit, so that the density belongs to the model that was trained.
    # Only beta * variance decides what is learned; variance alone scales log p(x).
    beta: float = 0.2
    variance: float = 0.5  # of a pixel around the decoder's mean
    min_variance: float = 1e-3  # Release: of the posterior
    channels: int = 16  # Release: of all three convolutions
    hidden: int = 512  # Release: after the convolutions, without activation
    decoder_hidden: int = 256  # width of the decoder's first layer
    decoder_channels: tuple[int, int] = (32, 128)  # of the decoder's pictures
    # "clamp": Release, to [0, 1], where the gradient is dead outside. "linear": ours, as it is.
    output: Literal["clamp", "linear"] = "linear"
    # "release": orthogonal convolutions with zero bias, linear layers uniform in +-1e-3.
    # "torch": ours, the library's default, which gets off the ground sooner.
    init: Literal["release", "torch"] = "torch"

    def __post_init__(self) -> None:
        within(self, {
            "image_size": (8, 512), "latent": (1, 1024), "beta": (0, 1e6), "variance": (1e-9, 1e9),
            "min_variance": (1e-12, 1), "channels": (1, 1024), "hidden": (1, 65_536),
            "decoder_hidden": (1, 65_536), "decoder_channels": (1, 1024),
        })  # fmt: skip
        small, quarter = self.image_size // 8, self.image_size // 4
        ends = {
            "hidden": self.hidden * self.channels * small**2,
            "decoder_hidden": self.decoder_hidden * self.decoder_channels[0] * quarter**2,
        }
        require(self, {
            # Three halvings on the way in, two doublings on the way out.
            "image_size": (self.image_size % 8 == 0, "a multiple of 8"),
            **{name: (size <= LARGEST_LAYER, "smaller: the layer has gigabytes")
               for name, size in ends.items()},
        })  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """Train `batches` batches every `every` env steps, up to `until` (None: to the end)."""

    every: int
    batches: int
    until: int | None = None

    def __post_init__(self) -> None:
        within(self, {"every": (1, 10**12), "batches": (0, 10**9), "until": (1, 10**12)})


@dataclass(frozen=True)
class VaeTraining:
    """How the model is trained: once on the initial random data, then along with the agent."""

    lr: float = 1e-3  # Release: Adam
    batch: int = 128  # Release
    initial: int = 0  # batches when the random data is complete
    phases: tuple[Phase, ...] = ()  # none: the model is frozen from then on (RIG)

    def __post_init__(self) -> None:
        within(self, {"lr": (1e-9, 10), "batch": (1, 1_000_000), "initial": (0, 10**9)})
        ends = [phase.until for phase in self.phases]
        last = [end is not None for end in ends[:-1]]
        known = [end for end in ends if end is not None]
        ordered = all(last) and known == sorted(set(known)) and len(ends) <= 100
        require(self, {"phases": (ordered, "at most 100 phases, each until later than the last")})


def batches_due(phases: tuple[Phase, ...], before: int, after: int) -> int:
    """Return the batches to train once env steps went from `before` to `after`.

    Steps count from the end of the initial random data. A phase trains at its start + every,
    + 2 every, and so on, its end included; rounds of any length add up to the same total.
    """
    total, start = 0, 0
    for phase in phases:
        end = after if phase.until is None else min(after, phase.until)
        done = max(0, min(before, end) - start) // phase.every
        total += (max(0, end - start) // phase.every - done) * phase.batches
        if phase.until is None:
            break
        start = phase.until
    return total


def paper_vae(pucks: int) -> VaeConfig:
    """The model of the release's RIG and Skew-Fit; beyond two pucks it had none."""
    return VaeConfig(latent=_latent(pucks), output="clamp", init="release")


def paper_rig(pucks: int) -> VaeTraining:
    """Release: 20k (one puck) or 40k batches on the first 10k steps, then frozen."""
    return VaeTraining(initial=20_000 if pucks == 1 else 40_000)


def paper_skewfit() -> VaeTraining:
    """Release: epochs of 500 env steps; 2000 batches each for 10 epochs, 200 each to epoch 99,
    then 200 every other epoch."""
    return VaeTraining(
        phases=(Phase(500, 2_000, 5_000), Phase(500, 200, 50_000), Phase(1_000, 200))
    )


def fast_vae(pucks: int) -> VaeConfig:
    """Ours: a quarter of the decoder, an output and a start that train in fewer batches.

    Hand and pucks have two numbers each; two more leave room for the way there. Dimensions that
    stay unused would put goals of RIG, drawn from the prior, out of reach.
    """
    return VaeConfig(latent=2 * (pucks + 1) + 2, decoder_channels=(16, 32))


def fast_rig(pucks: int) -> VaeTraining:
    """Ours: two and a half or three and a half minutes of one core (25 ms a batch)."""
    return _fast(6_000 if pucks == 1 else 8_000)


def fast_skewfit(pucks: int) -> VaeTraining:
    """Ours: a shorter start, then the release's late 200 batches, ten times rarer."""
    return _fast(4_000 if pucks == 1 else 5_000, Phase(5_000, 200))


def _fast(initial: int, *phases: Phase) -> VaeTraining:
    # Small batches at a large rate find the pucks soonest: many steps count more than smooth ones.
    return VaeTraining(lr=2e-3, batch=32, initial=initial, phases=phases)


def _latent(pucks: int) -> int:
    return 4 if pucks == 1 else 16
