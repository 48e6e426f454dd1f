"""The methods as rows of one table: what each is composed of (docs/architecture.md).

A method names an encoder and whether it learns. Everything else (networks, relabelling fractions,
thresholds, sub-goal order) is settings. No method has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from smorl.devices import CPU
from smorl.errors import InvalidInput, did_you_mean
from smorl.plugins import is_plugin, load
from smorl.representations.base import Encoder, Perception
from smorl.representations.ground_truth import GroundTruthObjects, GroundTruthVector
from smorl.representations.perceptions import TrackerSettings
from smorl.representations.slices import SlicedObjects
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae
from smorl.types import Spaces


@dataclass(frozen=True)
class EncoderInputs:
    """What an encoder is made from.

    spaces: what the environment shows; identities: the length of a one-hot code, if another
    environment fixed it; slices: which numbers of the state are which object, if the environment
    is not ours; perception: the trained perception of methods that see objects in pictures, and
    how its tracker works; vae: the model of methods that see pictures as one vector; device: where
    networks compute.
    """

    spaces: Spaces
    identities: int | None = None
    perception: Perception | None = None
    vae: BetaVae | None = None
    tracker: TrackerSettings | None = None
    slices: str | None = None
    device: torch.device = CPU


@dataclass(frozen=True)
class Method:
    """One row: how observations become objects, and whether anything is learned."""

    line: str
    encoder: Callable[[EncoderInputs], Encoder]
    learns: bool = True
    visual: bool = False  # observations are pictures
    needs_perception: bool = False  # trained before the run, or taken from elsewhere
    trains_vae: bool = False  # of its own, along the run (`RunConfig.latent`)

    def check(self, spaces: Spaces) -> None:
        """Raise if the method cannot see what an environment shows."""
        if self.visual != spaces.visual:
            needs = "images, e.g. smorl/VisualRearrange2-v0"
            if not self.visual:
                needs = "state observations, e.g. smorl/Rearrange2-v0"
            raise InvalidInput(
                f"this method needs {needs}, and this environment shows observations of shape "
                f"{spaces.observation}."
            )


def _ground_truth(inputs: EncoderInputs) -> Encoder:
    if inputs.slices is not None:
        return SlicedObjects(inputs.slices, inputs.spaces)
    return GroundTruthObjects(inputs.spaces.observation[0] // 2, inputs.identities)


def _vector(inputs: EncoderInputs) -> Encoder:
    return GroundTruthVector(inputs.spaces.observation[0])


def _tracker(inputs: EncoderInputs) -> Encoder:
    if inputs.perception is None:
        raise InvalidInput("this method sees pixels and needs a trained perception.")
    return inputs.perception.tracker(inputs.tracker, inputs.device)


def _latent(inputs: EncoderInputs) -> Encoder:
    if inputs.vae is None:
        raise InvalidInput("this method sees through a VAE and needs one.")
    return VaeEncoder(inputs.vae)


METHODS: dict[str, Method] = {
    "smorl": Method(
        "SMORL from pixels: objects by SCALOR, tracked",
        _tracker,
        visual=True,
        needs_perception=True,
    ),
    "smorl-gt": Method(
        "SMORL on ground-truth objects: one-hot appearance, positions in metres", _ground_truth
    ),
    "sac-her": Method(
        "SAC with hindsight on the flat state, all objects at once (the paper's baseline)", _vector
    ),
    "rig": Method(
        "RIG: the latent of a VAE, trained before; goals from its prior",
        _latent,
        visual=True,
        trains_vae=True,
    ),
    "skewfit": Method(
        "Skew-Fit: the same, trained along; goals from rare pictures",
        _latent,
        visual=True,
        trains_vae=True,
    ),
    "passive": Method("does nothing: the dotted line", _ground_truth, learns=False),
}


def get_method(name: str) -> Method:
    """Return a row of the table by name."""
    if is_plugin(name):
        found = load(name)
        if not isinstance(found, Method):
            raise InvalidInput(f"{name} is no Method; docs/extending.md shows one.")
        return found
    if name not in METHODS:
        hint = did_you_mean(name, METHODS)
        raise InvalidInput(f"unknown method {name!r}.{hint} Known: {', '.join(METHODS)}.")
    return METHODS[name]
