"""The methods as rows of one table: what each is composed of (docs/architecture.md).

A method names an encoder and whether it learns. Everything else (networks, relabelling fractions,
thresholds, sub-goal order) is settings. No method has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from smorl.errors import InvalidInput, did_you_mean
from smorl.representations.base import Encoder
from smorl.representations.ground_truth import GroundTruthObjects, GroundTruthVector
from smorl.representations.scalor.tracking.tracker import TrackerConfig
from smorl.representations.scalor.weights import PerceptionWeights
from smorl.representations.vae.encoder import VaeEncoder
from smorl.representations.vae.model import BetaVae


@dataclass(frozen=True)
class EncoderInputs:
    """What an encoder is made from.

    items: arm and pucks of the environment; identities: the length of a one-hot code, if another
    environment fixed it; perception: the trained perception of methods that see objects in
    pictures, and how its tracker works; vae: the model of methods that see pictures as one vector.
    """

    items: int
    identities: int | None = None
    perception: PerceptionWeights | None = None
    vae: BetaVae | None = None
    tracker: TrackerConfig | None = None


@dataclass(frozen=True)
class View:
    """The camera of a method that does not see through the environment's own."""

    camera: str
    image_size: int


@dataclass(frozen=True)
class Method:
    """One row: how observations become objects, and whether anything is learned."""

    line: str
    encoder: Callable[[EncoderInputs], Encoder]
    learns: bool = True
    pixels: bool = False  # sees objects in pictures, through a perception trained before
    latents: bool = False  # sees pictures as one vector, through a VAE of the run's own

    @property
    def visual(self) -> bool:
        """Are its observations pictures?"""
        return self.pixels or self.latents


def _ground_truth(inputs: EncoderInputs) -> Encoder:
    return GroundTruthObjects(inputs.items, inputs.identities)


def _vector(inputs: EncoderInputs) -> Encoder:
    return GroundTruthVector(2 * inputs.items)


def _tracker(inputs: EncoderInputs) -> Encoder:
    if inputs.perception is None:
        raise InvalidInput("this method sees pixels and needs a trained perception.")
    return inputs.perception.tracker(inputs.tracker)


def _latent(inputs: EncoderInputs) -> Encoder:
    if inputs.vae is None:
        raise InvalidInput("this method sees through a VAE and needs one.")
    return VaeEncoder(inputs.vae)


METHODS: dict[str, Method] = {
    "smorl": Method("SMORL from pixels: objects by SCALOR, tracked", _tracker, pixels=True),
    "smorl-gt": Method(
        "SMORL on ground-truth objects: one-hot appearance, positions in metres", _ground_truth
    ),
    "sac-her": Method(
        "SAC with hindsight on the flat state, all objects at once (the paper's baseline)", _vector
    ),
    "rig": Method(
        "RIG: the latent of a VAE, trained before; goals from its prior", _latent, latents=True
    ),
    "skewfit": Method(
        "Skew-Fit: the same, trained along; goals from rare pictures", _latent, latents=True
    ),
    "passive": Method("does nothing: the dotted line", _ground_truth, learns=False),
}


def get_method(name: str) -> Method:
    """Return a row of the table by name."""
    if name not in METHODS:
        hint = did_you_mean(name, METHODS)
        raise InvalidInput(f"unknown method {name!r}.{hint} Known: {', '.join(METHODS)}.")
    return METHODS[name]


def make_envs(
    env: str,
    num_envs: int,
    threads: int,
    *,
    goal_images: bool = True,
    view: View | None = None,
) -> gym.vector.VectorEnv:
    """Return a vector environment without a step limit: whoever runs it decides when to stop.

    Without `goal_images` a visual environment does not draw its goals: training has no use for
    them, because the agent sets its own. `view` replaces a visual environment's camera.
    """
    import smorl  # noqa: F401  registers the environments

    if env not in gym.registry:
        hint = did_you_mean(env, [name for name in gym.registry if name.startswith("smorl/")])
        raise InvalidInput(f"unknown environment {env!r}.{hint} `smorl envs` lists them.")
    visual = (gym.spec(env).kwargs or {}).get("observation") == "image"
    extra: dict[str, Any] = {"goal_images": goal_images} if visual else {}
    if visual and view is not None:
        extra |= {"camera": view.camera, "image_size": view.image_size}
    return gym.make_vec(
        env,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        threads=threads,
        max_episode_steps=None,
        **extra,
    )
